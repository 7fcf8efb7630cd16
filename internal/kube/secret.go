package kube

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// CheckCredentials refuses Secrets whose content is for the API server alone: anyone who may name a
// Secret for a Git server or a forge also says where that server is, and must not get hold of an
// account of the cluster so.
func CheckCredentials(secret *corev1.Secret) error {
	switch secret.Type {
	case corev1.SecretTypeServiceAccountToken, corev1.SecretTypeBootstrapToken:
		return fmt.Errorf("the Secret %s is of type %s, which is for the API server and is sent to no other: name one of type Opaque", secret.Name, secret.Type)
	}
	return nil
}
