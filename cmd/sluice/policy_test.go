package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/controlplane"
	"github.com/sluice-dev/sluice/internal/controlplane/cptest"
)

// guard has the policies for gates hold in the shop's namespace, and in no other.
func (s *shop) guard() {
	s.Helper()
	roles.Lock()
	defer roles.Unlock()
	for _, name := range []string{"answers", "gates"} {
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

// awaitPolicies waits until the API server goes by the policies, as a release and a gate made for that show.
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
		cptest.Eventually(s.T, soon, func() error {
			err := s.client.Status().Patch(s.Context(), object.DeepCopyObject().(client.Object), merge(patch), dryRunAll)
			if err != nil && strings.Contains(err.Error(), "rollouts.sluice.dev' with binding") {
				return nil
			}
			return errors.Join(fmt.Errorf("want a status of %T refused by policy", object), err)
		})
		if err := s.client.Delete(s.Context(), object); err != nil {
			s.Fatalf("delete probe: %v", err)
		}
	}
}

var dryRunAll = &client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}}

func merge(patch string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(patch)) }

// wantRefused wants a patch of a status by a user refused in these words.
func (s *shop) wantRefused(user string, object client.Object, patch, says string) {
	s.Helper()
	cfg := cptest.Config(s.T)
	cfg.Impersonate.UserName = user
	c, err := client.New(cfg, client.Options{Scheme: s.client.Scheme()})
	if err != nil {
		s.Fatalf("make client: %v", err)
	}
	err = c.Status().Patch(s.Context(), object.DeepCopyObject().(client.Object), merge(patch), dryRunAll)
	if err == nil || !strings.Contains(err.Error(), says) {
		s.Errorf("want %s by %s refused with %q, got %v", patch, user, says, err)
	}
}
