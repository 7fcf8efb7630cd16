package charts_test

import (
	"encoding/json"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestAttestationKeyOfChart: the controller reads the key of the Secret that the values name; by
// default it has none.
func TestAttestationKeyOfChart(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"", "sluice-attestation"} {
		spec := controllerOf(t, "--set=attestation.secretName="+secret).Spec.Template.Spec
		mounted := slices.ContainsFunc(spec.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool {
			return m.Name == "attestation" && m.MountPath == "/etc/sluice/attestation" && m.ReadOnly
		})
		from := slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Secret != nil && v.Secret.SecretName == secret })
		named := slices.Contains(spec.Containers[0].Args, "--attestation-key=/etc/sluice/attestation/key")
		if want := secret != ""; mounted != want || from != want || named != want {
			t.Errorf("secret %q: want flag, volume and mount %t, got %t, %t, %t", secret, want, named, from, mounted)
		}
	}
}

// controllerOf returns the Deployment of the controller that the chart renders.
func controllerOf(t *testing.T, args ...string) *appsv1.Deployment {
	t.Helper()
	for _, object := range cptest.Decode(t, template(t, "sluice-system", args...)) {
		if object.GetKind() != "Deployment" || object.GetName() != "sluice-controller" {
			continue
		}
		encoded, err := object.MarshalJSON()
		d := &appsv1.Deployment{}
		if err == nil {
			err = json.Unmarshal(encoded, d)
		}
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	t.Fatal("the chart has no Deployment of the controller")
	return nil
}
