package kube

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestCheckCredentials(t *testing.T) {
	t.Parallel()
	for kind, good := range map[corev1.SecretType]bool{
		"": true, corev1.SecretTypeOpaque: true, corev1.SecretTypeBasicAuth: true, corev1.SecretTypeSSHAuth: true, corev1.SecretTypeTLS: true,
		corev1.SecretTypeServiceAccountToken: false, corev1.SecretTypeBootstrapToken: false,
	} {
		err := CheckCredentials(&corev1.Secret{Type: kind, Data: map[string][]byte{"token": []byte("t")}})
		if (err == nil) != good {
			t.Errorf("a Secret of type %q: want it taken: %t, got %v", kind, good, err)
		}
	}
}
