package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "rollouts.sluice.dev", Version: "v1alpha1"}

// AddToScheme registers the types of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	builder := runtime.NewSchemeBuilder(addKnownTypes)
	return builder.AddToScheme(scheme)
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&ReleaseSource{}, &ReleaseSourceList{},
		&BatchRelease{}, &BatchReleaseList{},
		&Gate{}, &GateList{},
		&MetricProvider{}, &MetricProviderList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
