package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/config"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// guards are the policies about what people write of gates, releases and their histories.
var guards = []string{"releases", "gates", "revisions", "requests"}

// guard has the guards hold in the shop's namespace, and in no other.
func (s *shop) guard() {
	s.Helper()
	roles.Lock()
	defer roles.Unlock()
	for _, name := range guards {
		if err := controlplane.Apply(s.Context(), cptest.Config(s.T), s.shipped("config/policy/"+name+".yaml")); err != nil {
			s.Fatalf("apply policy: %v", err)
		}
		s.bind("config/policy/" + name + "_binding.yaml")
	}
	s.awaitPolicies()
}

// bind has a policy hold in the shop's namespace alone.
func (s *shop) bind(file string) {
	s.Helper()
	text, err := os.ReadFile(s.shipped(file))
	if err != nil {
		s.Fatal(err)
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{}
	if err := yaml.UnmarshalStrict(text, binding); err != nil {
		s.Fatalf("decode binding: %v", err)
	}
	binding.Name = s.namespace + "." + binding.Name
	binding.Spec.MatchResources = &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{corev1.LabelMetadataName: s.namespace},
	}}
	s.create(binding)
	s.Cleanup(func() {
		if err := s.client.Delete(context.Background(), binding); err != nil {
			s.Errorf("unbind policy: %v", err)
		}
	})
}

func (s *shop) shipped(file string) string {
	s.Helper()
	path, err := controlplane.InCheckout(file)
	if err != nil {
		s.Fatal(err)
	}
	return path
}

// awaitPolicies waits until the API server goes by the policies, as what is made for that shows.
func (s *shop) awaitPolicies() {
	s.Helper()
	release := &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "probe"},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "probe"},
			Strategy:    v1alpha1.ReleaseStrategy{Steps: []v1alpha1.Step{{Replicas: intstr.FromString("100%")}}},
		},
	}
	manual := v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}}
	gate := &v1alpha1.Gate{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "probe"},
		Spec:       v1alpha1.GateSpec{ReleaseRef: v1alpha1.ReleaseReference{Name: "none"}, Type: v1alpha1.GateManual, Policy: manual},
	}
	for object, patch := range map[client.Object]string{
		release: `{"status":{"answers":[{"gate":"probe","verdict":"Approve","by":"nobody"}]}}`,
		gate:    `{"status":{"decision":"Passed"}}`,
	} {
		s.create(object)
		s.awaitRefusal(fmt.Sprintf("a status of %T", object), func() error {
			return s.client.Status().Patch(s.Context(), object.DeepCopyObject().(client.Object), merge(patch), dryRunAll)
		})
		if err := s.client.Delete(s.Context(), object); err != nil {
			s.Fatalf("delete probe: %v", err)
		}
	}
	named := release.DeepCopy()
	named.ResourceVersion, named.UID, named.Annotations = "", "", map[string]string{v1alpha1.RequestedByAnnotation: "nobody"}
	s.awaitRefusal("a request in another's name", func() error { return s.client.Create(s.Context(), named.DeepCopy(), client.DryRunAll) })
	ofRelease := metav1.NewControllerRef(release, v1alpha1.GroupVersion.WithKind("BatchRelease"))
	s.awaitRefusal("a ControllerRevision", func() error {
		return s.client.Create(s.Context(), s.revision("probe", *ofRelease), client.DryRunAll)
	})
}

// awaitRefusal waits until a policy refuses what is tried.
func (s *shop) awaitRefusal(what string, try func() error) {
	s.Helper()
	cptest.Eventually(s.T, soon, func() error {
		err := try()
		if err != nil && strings.Contains(err.Error(), "rollouts.sluice.dev' with binding") {
			return nil
		}
		return errors.Join(fmt.Errorf("want %s refused by policy", what), err)
	})
}

// TestStatusIsTheControllers: anyone who may approve writes nothing else into the status of a
// release.
func TestStatusIsTheControllers(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.guard()
	approver := s.person("approver", "sluice-approver")
	s.deploy("web")
	s.push("web", 2, secondCommit)
	release := s.awaitGate("web")
	const now = "2026-11-21T12:00:00Z"
	for patch, changed := range map[string]string{
		`{"stableRevision":"abc"}`:                                   "status.stableRevision",
		`{"attempt":7,"phase":"Completed"}`:                          "status.phase, status.attempt",
		`{"quarantined":["abc"]}`:                                    "status.quarantined",
		`{"conditions":null}`:                                        "status.conditions",
		`{"currentStepState":"Initial"}`:                             "status.currentStepState",
		`{"held":{"strategy":"{}"}}`:                                 "status.held",
		`{"lastUpdateTime":"` + now + `"}`:                           "status.lastUpdateTime",
		`{"pausePoint":{"pod":"a","uid":"b","since":"` + now + `"}}`: "status.pausePoint.pod, status.pausePoint.uid, status.pausePoint.since",
	} {
		s.wantRefused(approver, release, `{"status":`+patch+`}`, "only the controller writes "+changed+"; people write")
	}
	for _, patch := range []string{`{"nextStepIndex":1}`, `{"currentStepState":"Completed"}`} {
		if err := s.tryStatus(approver, release, `{"status":`+patch+`}`); err != nil {
			t.Errorf("%s: %v", patch, err)
		}
	}
	s.wantAnswersKept(approver, release)
	s.wantWellTyped()
}

// TestForgedResolvedTemplate: only the controller writes status.resolved. Approvers and operators
// can't forge it in a patch of the status, a patch of the release, or a new release.
func TestForgedResolvedTemplate(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.guard()
	s.deploy("web")
	s.push("web", 2, secondCommit)
	release := s.awaitGate("web")
	resolved := *release.Status.Resolved
	approver, operator := s.person("approver", "sluice-approver"), s.person("operator", "sluice-operator")
	for _, person := range []string{approver, operator} {
		for _, forged := range []string{
			fmt.Sprintf(`{"given":"other","digest":%q,"revision":%q}`, resolved.Digest, resolved.Revision),
			fmt.Sprintf(`{"given":%q,"digest":"other","revision":%q}`, resolved.Given, resolved.Revision),
			fmt.Sprintf(`{"given":%q,"digest":%q,"revision":%q}`, resolved.Given, resolved.Digest, release.Status.StableRevision),
			`null`,
		} {
			for _, patch := range []string{forged, forged + `,"nextStepIndex":1`} {
				s.wantRefused(person, release, `{"status":{"resolved":`+patch+`}}`, "only the controller writes status.resolved; people write")
			}
		}
	}

	forged := release.DeepCopy()
	steered := merge(`{"metadata":{"labels":{"seen":"yes"}},"status":{"resolved":{"given":"other","digest":"other","revision":"other"}}}`)
	if err := s.clientAs(operator).Patch(t.Context(), forged, steered); err != nil {
		t.Fatalf("patch the release: %v", err)
	}
	if !equality.Semantic.DeepEqual(forged.Status.Resolved, &resolved) {
		t.Errorf("a patch of the release has changed status.resolved to %+v", forged.Status.Resolved)
	}
	other := release.DeepCopy()
	other.ObjectMeta = metav1.ObjectMeta{Namespace: s.namespace, Name: "other"}
	other.Spec.WorkloadRef.Name = "other"
	if err := s.client.Create(t.Context(), other); err != nil {
		t.Fatalf("create a release: %v", err)
	}
	if other.Status.Resolved != nil || other.Status.Phase != "" {
		t.Errorf("a release that is created has the status %+v, want none", other.Status)
	}
}

// wantAnswersKept checks that an approver can't take back or replace an unread answer of another
// person.
func (s *shop) wantAnswersKept(approver string, release *v1alpha1.BatchRelease) {
	s.Helper()
	const hers = `{"gate":"another","verdict":"Reject","by":"grace"}`
	if err := s.asController().Status().Patch(s.Context(), release.DeepCopy(), merge(`{"status":{"answers":[`+hers+`]}}`)); err != nil {
		s.Fatalf("answer as grace: %v", err)
	}
	own := fmt.Sprintf(`{"gate":"another","verdict":"Approve","by":%q}`, approver)
	for _, answers := range []string{`[]`, `null`, `[` + own + `]`} {
		s.wantRefused(approver, release, `{"status":{"answers":`+answers+`}}`, "people may remove only their own answers")
	}
	beside := fmt.Sprintf(`{"gate":"one more","verdict":"Approve","by":%q}`, approver)
	if err := s.tryStatus(approver, release, `{"status":{"answers":[`+hers+`,`+beside+`]}}`); err != nil {
		s.Errorf("want an answer beside hers let in, got %v", err)
	}
}

// clientAs returns a client that writes as a user.
func (s *shop) clientAs(user string) client.Client {
	s.Helper()
	cfg := cptest.Config(s.T)
	cfg.Impersonate.UserName = user
	c, err := client.New(cfg, client.Options{Scheme: s.client.Scheme()})
	if err != nil {
		s.Fatalf("make client: %v", err)
	}
	return c
}

// asController returns a client that writes as the controller does.
func (s *shop) asController() client.Client {
	s.Helper()
	cfg := cptest.Config(s.T)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: controllerAccount, Groups: []string{"system:masters"}}
	controller, err := client.New(cfg, client.Options{Scheme: s.client.Scheme()})
	if err != nil {
		s.Fatalf("make client: %v", err)
	}
	return controller
}

// wantWellTyped wants the expressions of the guards to fit the types that they are about.
func (s *shop) wantWellTyped() {
	s.Helper()
	for _, name := range guards {
		var policy admissionv1.ValidatingAdmissionPolicy
		cptest.Eventually(s.T, soon, func() error {
			if err := s.client.Get(s.Context(), client.ObjectKey{Name: name + ".rollouts.sluice.dev"}, &policy); err != nil {
				return err
			}
			if policy.Status.TypeChecking == nil || policy.Status.ObservedGeneration != policy.Generation {
				return errors.New("want the policy checked")
			}
			return nil
		})
		for _, warning := range policy.Status.TypeChecking.ExpressionWarnings {
			s.Errorf("%s: %s: %s", policy.Name, warning.FieldRef, warning.Warning)
		}
	}
}

// TestPolicyKnowsTheWholeStatus: a field that the policy does not compare would be anybody's.
func TestPolicyKnowsTheWholeStatus(t *testing.T) {
	t.Parallel()
	text, err := config.Manifests.ReadFile("policy/releases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	peoples := map[string]bool{"answers": true, "nextStepIndex": true, "currentStepState": true, "pausePoint": true}
	compared := func(path string) string {
		return fmt.Sprintf("object.?status%[1]s == oldObject.?status%[1]s ? [] : [", path)
	}
	for _, field := range jsonFields(v1alpha1.BatchReleaseStatus{}) {
		if got := strings.Contains(string(text), "("+compared(".?"+field)); got == peoples[field] {
			t.Errorf("status.%s: compared is %t", field, got)
		}
	}
	for _, field := range jsonFields(v1alpha1.PausePoint{}) {
		if got := strings.Contains(string(text), compared(".?pausePoint.?"+field)); got == (field == "confirmed") {
			t.Errorf("status.pausePoint.%s: compared is %t", field, got)
		}
	}
}

// jsonFields returns the names of a struct's fields in JSON.
func jsonFields(value any) []string {
	var names []string
	for _, field := range reflect.VisibleFields(reflect.TypeOf(value)) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

var dryRunAll = &client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}}

func merge(patch string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(patch)) }

// tryStatus returns the error of a user's patch of a status.
func (s *shop) tryStatus(user string, object client.Object, patch string) error {
	s.Helper()
	return s.clientAs(user).Status().Patch(s.Context(), object.DeepCopyObject().(client.Object), merge(patch), dryRunAll)
}

// wantRefused wants a patch of a status by a user refused in these words.
func (s *shop) wantRefused(user string, object client.Object, patch, says string) {
	s.Helper()
	err := s.tryStatus(user, object, patch)
	if err == nil || !strings.Contains(err.Error(), says) {
		s.Errorf("want %s by %s refused with %q, got %v", patch, user, says, err)
	}
}
