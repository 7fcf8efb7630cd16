package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// evilWords steers a terminal, forges lines, commands a workflow, and calls people or images in. A
// policy, a webhook, a pod or an event may contain it. Its first and last words show that the
// output has it.
const evilWords = "hear \x1b]0;owned\x07\x1b[2J\u202e\u009b2J ##vso[task.setvariable variable=PATH]x ##[set-env name=PATH]y @everyone ![x](https://evil.test/x.png) me"

// TestHostileCluster: text of admission, pods and events is a line of text in statuses, events and
// on the screen.
func TestHostileCluster(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	viewer := s.viewer()
	s.deploy("web")
	s.hostilePod()
	s.hostileEvent(s.release("web"))
	s.denySets()
	s.push("web", 2, secondCommit)
	release := s.await("web", "refused", func(status *v1alpha1.BatchReleaseStatus) bool { return status.RefusedWrite != nil })
	texts := []string{release.Status.Message, release.Status.RefusedWrite.Message}
	for _, condition := range release.Status.Conditions {
		texts = append(texts, condition.Message)
	}
	for _, text := range texts {
		if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) || anyCommand.MatchString(text) {
			t.Errorf("a status has %q", text)
		}
	}
	s.want(texts[1], "hear", "@everyone", " me")
	s.awaitPlainEvent()
	for _, args := range [][]string{{"get", "web"}, {"list"}, {"list", "-o", "wide"}, {"status", "web", "--watch=false"}, {"events", "web", "--pods"}, {"history", "web"}} {
		got := s.as(viewer, args...)
		printed := got.stdout + got.stderr
		wantHarmless(t, args, printed, false)
		if !strings.Contains(printed, "hear") && args[0] != "history" && len(args) != 1 {
			t.Errorf("sluice %v: want to be told what was said, got:\n%s", args, printed)
		}
	}
}

// hostilePod has a pod say it, in each of the ways that a kubelet has for it.
func (s *shop) hostilePod() {
	s.Helper()
	var pods corev1.PodList
	if err := s.client.List(s.Context(), &pods, client.InNamespace(s.namespace)); err != nil || len(pods.Items) == 0 {
		s.Fatalf("want pods, got %d: %v", len(pods.Items), err)
	}
	pod := &pods.Items[0]
	before := client.MergeFrom(pod.DeepCopy())
	pod.Status.Message, pod.Status.Reason = evilWords, evilWords
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "x", Message: evilWords}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: evilWords, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: evilWords, Message: evilWords}},
	}}
	if err := s.client.Status().Patch(s.Context(), pod, before); err != nil {
		s.Fatalf("write status of pod: %v", err)
	}
}

// hostileEvent has somebody else tell it of the release.
func (s *shop) hostileEvent(release *v1alpha1.BatchRelease) {
	s.Helper()
	s.create(&corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "evil"},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "BatchRelease", Namespace: s.namespace, Name: release.Name, UID: release.UID,
		},
		Type: "Normal", Reason: evilWords, Message: evilWords,
	})
}

// denySets has a policy let nobody make a ReplicaSet in the namespace, and say it.
func (s *shop) denySets() {
	s.Helper()
	name := s.namespace + "-evil"
	create := admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule:       admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"replicasets"}},
	}
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: create}}},
			Validations:      []admissionv1.Validation{{Expression: "false", Message: evilWords}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.namespace}}},
		},
	}
	for _, object := range []client.Object{policy, binding} {
		s.create(object)
		s.Cleanup(func() {
			if err := s.client.Delete(context.Background(), object); err != nil {
				s.Errorf("delete %T: %v", object, err)
			}
		})
	}
	probe := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "probe"},
		Spec:       appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: podTemplate("web", 1)},
	}
	cptest.Eventually(s.T, soon, func() error {
		if err := s.client.Create(s.Context(), probe.DeepCopy(), client.DryRunAll); err == nil || !strings.Contains(err.Error(), "everyone") {
			return errors.Join(errors.New("want a ReplicaSet refused"), err)
		}
		return nil
	})
}

// awaitPlainEvent waits for the event of the refusal, which says it as a line of text.
func (s *shop) awaitPlainEvent() {
	s.Helper()
	cptest.Eventually(s.T, soon, func() error {
		var events corev1.EventList
		if err := s.client.List(s.Context(), &events, client.InNamespace(s.namespace)); err != nil {
			return fmt.Errorf("list events: %w", err)
		}
		for i := range events.Items {
			if e := &events.Items[i]; e.Reason == v1alpha1.ReasonWriteRefused && strings.Contains(e.Message, "@everyone") {
				if strings.ContainsFunc(e.Message, func(r rune) bool { return !unicode.IsPrint(r) }) || anyCommand.MatchString(e.Message) {
					s.Errorf("an event says %q", e.Message)
				}
				return nil
			}
		}
		return errors.New("want an event that says what is refused")
	})
}
