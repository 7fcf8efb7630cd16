package main

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// TestHostileHolds: an author with write access to a StatefulSet or DaemonSet can put anything
// into the annotation of a held one: names to steer a terminal, another object's path, an invalid
// strategy. It is shown as text, and the workload is handed back with the default strategy and its
// present template.
func TestHostileHolds(t *testing.T) {
	t.Parallel()
	s := &shop{T: t, namespace: cptest.Namespace(t), kubeconfig: cptest.Access(t).Kubeconfig, client: cptest.Client(t)}
	for _, w := range []workload.Workload{s.statefulSet("db", 2), s.daemonSet("log")} {
		for name, held := range map[string]plan.Hold{
			"escapes": {
				Release: evilWords, UID: evilWords, Stable: evilWords, Window: evilWords,
				Change:       plan.ExternalChange{Kind: evilWords, Message: evilWords},
				HeldWorkload: v1alpha1.HeldWorkload{Strategy: evilWords},
			},
			"paths": {
				Release: "../../secrets", Stable: "../../../secrets/x", Window: "-9223372036854775808",
				HeldWorkload: v1alpha1.HeldWorkload{Strategy: `{"type":"` + strings.Repeat("x", 1000) + `","rollingUpdate":{"partition":99999999999999999999}}`},
			},
			"numbers": {
				Release: "db", Stable: strings.Repeat("9", 300), Window: "99999999999999999999",
				HeldWorkload: v1alpha1.HeldWorkload{Strategy: `{"rollingUpdate":{"partition":-1,"maxUnavailable":"101%"}}`},
			},
		} {
			patch := s.encode(map[string]any{"metadata": map[string]any{"annotations": map[string]string{v1alpha1.HoldAnnotation: string(s.encode(held))}}})
			if err := s.client.Patch(t.Context(), w.Object().DeepCopyObject().(client.Object), merge(string(patch))); err != nil {
				t.Fatalf("annotate: %v", err)
			}
			template := w.PodTemplate().DeepCopy()
			args := []string{"handback", strings.ToLower(w.Kind()) + "/" + w.GetName(), "--force", "--yes"}
			said := s.as("", args...)
			wantHarmless(t, args, said.stdout+said.stderr, false)
			if len(said.stdout)+len(said.stderr) > 2000 {
				t.Errorf("%s %s: want to be told in short, got %d bytes", w.Kind(), name, len(said.stdout)+len(said.stderr))
			}
			now := workload.New(w.Kind())
			if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(w.Object()), now.Object()); err != nil {
				t.Fatalf("read %s: %v", w.Kind(), err)
			}
			if said.code != exitOK || hold.Text(now) != nil || now.Own().Strategy != w.Own().Strategy || fmt.Sprint(now.PodTemplate()) != fmt.Sprint(template) {
				t.Errorf("%s %s: want it handed back with its template, got %+v and %v", w.Kind(), name, said, now.GetAnnotations())
			}
		}
	}
}

// TestHostileKinds: with a release and its workload at a gate, somebody writes what they like into
// the annotations of the workload and of its history. The controller tells it as text, and so do
// the commands.
func TestHostileKinds(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	viewer := s.viewer()
	db, log := s.statefulSet("db", 3), s.daemonSet("log")
	for _, w := range []workload.Workload{db, log} {
		s.releaseOf(w.GetName(), w)
		s.pushImage(w.GetName(), w)
		held := plan.Hold{
			Release: w.GetName(), Stable: evilWords, Window: evilWords, Change: plan.ExternalChange{Kind: evilWords, Message: evilWords},
			HeldWorkload: v1alpha1.HeldWorkload{Strategy: evilWords},
		}
		patch := s.encode(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
			v1alpha1.HoldAnnotation: string(s.encode(held)), "kubernetes.io/change-cause": evilWords,
		}}})
		if err := s.client.Patch(t.Context(), w.Object().DeepCopyObject().(client.Object), merge(string(patch))); err != nil {
			t.Fatalf("annotate: %v", err)
		}
		release := s.await(w.GetName(), "stopped", func(status *v1alpha1.BatchReleaseStatus) bool {
			return strings.Contains(status.Message, "hear")
		})
		texts := []string{release.Status.Message, release.Status.Reason}
		for _, condition := range release.Status.Conditions {
			texts = append(texts, condition.Message)
		}
		for _, text := range texts {
			if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) || anyCommand.MatchString(text) {
				t.Errorf("the status of %s has %q", w.GetName(), text)
			}
		}
	}
	s.hostileHistory()
	for _, w := range []workload.Workload{db, log} {
		s.hostileRevisions(w, s.release(w.GetName()))
	}
	for _, args := range [][]string{
		{"get", "db"}, {"get", "log"}, {"list"}, {"list", "-o", "wide"}, {"status", "db", "--watch=false"}, {"status", "log", "--watch=false"},
		{"history", "db"}, {"history", "log"}, {"events", "db", "--pods"}, {"trace", "statefulset/db"},
		{"trace", "daemonset/log"}, {"trace", "pod/db-0"}, {"history", "db", "--revision", "999"}, {"history", "log", "--revision", "999"},
	} {
		got := s.as(viewer, args...)
		wantHarmless(t, args, got.stdout+got.stderr, false)
	}
}

// hostileRevisions makes ControllerRevisions that claim to be of a workload, and one that claims to
// be kept for its release: newer than all others, of images that say it, or of no template at all.
func (s *shop) hostileRevisions(w workload.Workload, release *v1alpha1.BatchRelease) {
	s.Helper()
	template := w.PodTemplate().DeepCopy()
	template.Spec.Containers[0].Image, template.Spec.Containers[0].Name = evilWords, evilWords
	hostile := map[string]any{"template": template}
	none := map[string]any{"spec": map[string]any{"template": 5}}
	for i, data := range []any{map[string]any{"spec": hostile}, map[string]any{"spec": []int{1}}, map[string]any{"spec": nil}, none} {
		s.create(&appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: s.namespace, Name: fmt.Sprintf("%s-evil%d", w.GetName(), i), Labels: w.PodTemplate().Labels,
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(w, appsv1.SchemeGroupVersion.WithKind(w.Kind()))},
			},
			Data: runtime.RawExtension{Raw: s.encode(data)}, Revision: int64(900 + i),
		})
	}
	s.create(&appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: w.GetName() + "-evil.sluice",
			Labels:          map[string]string{v1alpha1.ReleaseLabel: release.Name, v1alpha1.RevisionLabel: "evil"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(release, v1alpha1.GroupVersion.WithKind("BatchRelease"))},
			Annotations:     map[string]string{v1alpha1.NumberAnnotation: "999", v1alpha1.OutcomeAnnotation: evilWords, v1alpha1.CommitAnnotation: evilWords},
		},
		Data: runtime.RawExtension{Raw: s.encode(hostile)}, Revision: 999,
	})
}

// hostileHistory has every ControllerRevision say it.
func (s *shop) hostileHistory() {
	s.Helper()
	var all appsv1.ControllerRevisionList
	if err := s.client.List(s.Context(), &all, client.InNamespace(s.namespace)); err != nil {
		s.Fatalf("list ControllerRevisions: %v", err)
	}
	annotations := map[string]string{}
	for _, key := range []string{
		v1alpha1.OutcomeAnnotation, v1alpha1.CommitAnnotation, v1alpha1.AuthorAnnotation, v1alpha1.SubjectAnnotation, v1alpha1.StartedAtAnnotation,
		v1alpha1.ReleasedAtAnnotation, v1alpha1.ApprovedByAnnotation, v1alpha1.ForcedAnnotation, "kubernetes.io/change-cause",
	} {
		annotations[key] = evilWords
	}
	patch := s.encode(metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}})
	for i := range all.Items {
		if err := s.client.Patch(s.Context(), &all.Items[i], merge(string(patch))); err != nil {
			s.Fatalf("patch ControllerRevision: %v", err)
		}
	}
}
