package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestHistoryIsTheControllers: a user with write access to the whole group apps in a namespace
// can't add, change or delete revisions that a release may roll back to.
func TestHistoryIsTheControllers(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.guard()
	owner := s.clientAs(s.ownerOfApps())
	s.deploy("web")
	release := s.await("web", "there", func(*v1alpha1.BatchReleaseStatus) bool { return true })
	records := s.awaitRevisions(release.UID, "one", func(kept []appsv1.ControllerRevision) bool { return len(kept) == 1 })
	s.wantRecordKept(owner, &records[0])

	ofRelease := *metav1.NewControllerRef(release, v1alpha1.GroupVersion.WithKind("BatchRelease"))
	s.wantForbidden("forge one", "adds to the history", owner.Create(t.Context(), s.revision("forged", ofRelease)))
	later := ofRelease
	later.APIVersion = v1alpha1.GroupVersion.Group + "/v9"
	s.wantForbidden("forge one of a version to come", "adds to the history", owner.Create(t.Context(), s.revision("forged", later)))

	// Owners that the policy does not know are none to Sluice either.
	stranger := ofRelease
	stranger.APIVersion, stranger.Kind = "example.com/v1", "Release"
	for name, owners := range map[string][]metav1.OwnerReference{"nobodys": nil, "strangers": {stranger}} {
		other := s.revision(name, owners...)
		if err := owner.Create(t.Context(), other); err != nil {
			t.Fatalf("create ControllerRevision %s: %v", name, err)
		}
		if got := s.ok("admin", "history", "web", "--as-group=system:masters"); strings.Contains(got, forgedCommit[:7]) {
			t.Errorf("%s: want it to be nothing of the release, got:\n%s", name, got)
		}
		adopted := s.encode(map[string]any{"metadata": map[string]any{"ownerReferences": []metav1.OwnerReference{ofRelease}}})
		s.wantForbidden("give it "+name, "changes the history", owner.Patch(t.Context(), other, merge(string(adopted))))
		if err := owner.Delete(t.Context(), other); err != nil {
			t.Errorf("delete ControllerRevision %s: %v", name, err)
		}
	}
	if err := s.client.Delete(t.Context(), release); err != nil {
		t.Fatalf("delete release: %v", err)
	}
	s.awaitRevisions(release.UID, "none after its release", func(left []appsv1.ControllerRevision) bool { return len(left) == 0 })
}

// wantRecordKept checks that users can't change the kept revisions of a release.
func (s *shop) wantRecordKept(owner client.Client, record *appsv1.ControllerRevision) {
	s.Helper()
	for name, patch := range map[string]string{
		"say that it was rolled back": `{"metadata":{"annotations":{"` + v1alpha1.OutcomeAnnotation + `":"RolledBack"}}}`,
		"say who approved it":         `{"metadata":{"annotations":{"` + v1alpha1.ApprovedByAnnotation + `":"grace"}}}`,
		"hide it":                     `{"metadata":{"labels":{"` + v1alpha1.ReleaseLabel + `":null}}}`,
		"give it another revision":    `{"metadata":{"labels":{"` + v1alpha1.RevisionLabel + `":"abc"}}}`,
		"take it from the release":    `{"metadata":{"ownerReferences":null}}`,
		"give it another number":      `{"revision":99}`,
	} {
		s.wantForbidden(name, "changes the history", owner.Patch(s.Context(), record.DeepCopy(), merge(patch)))
	}
	err := owner.Patch(s.Context(), record.DeepCopy(), merge(`{"data":{"spec":null}}`))
	if err == nil || !strings.Contains(err.Error(), "field is immutable") {
		s.Errorf("want the API server to let nobody change the template, got %v", err)
	}
	if err := owner.Update(s.Context(), record.DeepCopy()); err != nil {
		s.Errorf("want a write that changes nothing let through, got %v", err)
	}
	s.wantForbidden("delete it", "deletes the history", owner.Delete(s.Context(), record.DeepCopy()))
	all := owner.DeleteAllOf(s.Context(), &appsv1.ControllerRevision{}, client.InNamespace(s.namespace))
	s.wantForbidden("delete all", "deletes the history", all)
}

// TestHistoriesOfOthers: the policy about the histories of releases stops neither StatefulSets and
// DaemonSets, even if their pods have the labels of a release, nor the deletion of a namespace.
func TestHistoriesOfOthers(t *testing.T) {
	t.Parallel()
	s := &shop{T: t, namespace: cptest.Namespace(t), client: cptest.Client(t), kubeconfig: cptest.Access(t).Kubeconfig}
	s.guard()
	labels := map[string]string{"app": "db", v1alpha1.ReleaseLabel: "web", v1alpha1.RevisionLabel: "abc"}
	template := podTemplate("db", 1)
	template.Labels = labels
	meta := metav1.ObjectMeta{Namespace: s.namespace, Name: "db"}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	for _, native := range []client.Object{
		&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(0)), Selector: selector, Template: template, RevisionHistoryLimit: new(int32(0)),
		}},
		&appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template, RevisionHistoryLimit: new(int32(0))}},
	} {
		s.create(native)
		one := func(kept []appsv1.ControllerRevision) bool { return len(kept) == 1 }
		first := s.awaitRevisions(native.GetUID(), "one", one)[0].Name
		second := s.encode(map[string]any{"spec": map[string]any{"template": map[string]any{"spec": podTemplate("db", 2).Spec}}})
		if err := s.client.Patch(t.Context(), native, merge(string(second))); err != nil {
			t.Fatalf("patch %T: %v", native, err)
		}
		s.awaitRevisions(native.GetUID(), "another one alone", func(kept []appsv1.ControllerRevision) bool {
			return one(kept) && kept[0].Name != first
		})
	}
	s.wantNamespaceToGo()
}

// wantNamespaceToGo checks that deleting the namespace removes the history while the release still
// exists.
func (s *shop) wantNamespaceToGo() {
	s.Helper()
	release := &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web", Finalizers: []string{"example.com/stays"}},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			Strategy:    v1alpha1.ReleaseStrategy{Steps: []v1alpha1.Step{{Replicas: intstr.FromString("100%")}}},
		},
	}
	s.create(release)
	kept := s.revision("kept", *metav1.NewControllerRef(release, v1alpha1.GroupVersion.WithKind("BatchRelease")))
	if err := s.asController().Create(s.Context(), kept); err != nil {
		s.Fatalf("keep template: %v", err)
	}
	if err := s.client.Delete(s.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}); err != nil {
		s.Fatalf("delete namespace: %v", err)
	}
	s.awaitRevisions(release.UID, "none", func(left []appsv1.ControllerRevision) bool { return len(left) == 0 })
	if err := s.client.Get(s.Context(), client.ObjectKeyFromObject(release), release); err != nil {
		s.Errorf("want the release still there, got %v", err)
	}
}

const forgedCommit = "f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0"

// revision returns one that says that it belongs to the release web.
func (s *shop) revision(name string, owners ...metav1.OwnerReference) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: name, OwnerReferences: owners,
			Labels: map[string]string{v1alpha1.ReleaseLabel: "web", v1alpha1.RevisionLabel: name},
			Annotations: map[string]string{
				v1alpha1.NumberAnnotation: "99", v1alpha1.OutcomeAnnotation: string(v1alpha1.OutcomeReleased), v1alpha1.CommitAnnotation: forgedCommit,
			},
		},
		Data: runtime.RawExtension{Raw: s.encode(podTemplate("evil", 1))}, Revision: 99,
	}
}

// ownerOfApps returns a person with a role of their own, to write everything of the group apps.
func (s *shop) ownerOfApps() string {
	s.Helper()
	s.create(&rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "apps"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"*"}, Verbs: []string{"*"}}},
	})
	user := s.namespace + ":owner"
	s.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "owner"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "apps"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})
	cptest.AwaitRights(s.T, cptest.Config(s.T), user)
	return user
}

// wantForbidden wants the policy about histories to refuse what was tried, in these words.
func (s *shop) wantForbidden(tried, says string, err error) {
	s.Helper()
	if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "revisions.rollouts.sluice.dev") {
		s.Errorf("%s: want the policy to refuse it with %q, got %v", tried, says, err)
	}
}

// revisionsOf returns the ControllerRevisions of an owner.
func (s *shop) revisionsOf(owner types.UID) []appsv1.ControllerRevision {
	s.Helper()
	var all appsv1.ControllerRevisionList
	if err := s.client.List(s.Context(), &all, client.InNamespace(s.namespace)); err != nil {
		s.Fatalf("list ControllerRevisions: %v", err)
	}
	return slices.DeleteFunc(all.Items, func(r appsv1.ControllerRevision) bool {
		controller := metav1.GetControllerOf(&r)
		return controller == nil || controller.UID != owner
	})
}

// awaitRevisions waits for the ControllerRevisions of an owner to be as the condition asks, and
// returns them.
func (s *shop) awaitRevisions(owner types.UID, what string, condition func([]appsv1.ControllerRevision) bool) []appsv1.ControllerRevision {
	s.Helper()
	var found []appsv1.ControllerRevision
	cptest.Eventually(s.T, soon, func() error {
		if found = s.revisionsOf(owner); !condition(found) {
			return fmt.Errorf("want %s of the ControllerRevisions of %s, got %d", what, owner, len(found))
		}
		return nil
	})
	return found
}
