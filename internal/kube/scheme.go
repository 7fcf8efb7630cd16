package kube

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// NewScheme knows the types of Kubernetes and of Sluice.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil { // the types are constants
			panic(fmt.Sprintf("build scheme: %v", err))
		}
	}
	return scheme
}
