// Package install turns options into the manifests that install Sluice.
//
//	config (embedded) ──► Options ──► objects ──► YAML, for kubectl apply
//
// It is pure: the same options give the same bytes. Without options to the contrary, the objects
// are those of kubectl kustomize config.
package install

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// Namespace is the default namespace of Sluice.
	Namespace = "sluice-system"
	// Image is the name of the images, without a tag.
	Image = "ghcr.io/sluice-dev/sluice"
	// Replicas is how many controllers there are by default.
	Replicas = 2
)

// Options are the choices of an installation.
type Options struct {
	// Namespace of the controller.
	Namespace string
	// Image of the controller, with tag or digest.
	Image string
	// Replicas is how many controllers there are.
	Replicas int32
	// Namespaced limits what the controller sees, and its rights, to its own namespace. Nothing is
	// installed outside of it, the CRDs and the dashboard's roles for logins aside, and it has to be
	// there.
	Namespaced bool
	// CRDs installs the CRDs too, of which a cluster has one set.
	CRDs bool
	// Policy installs the admission policy too, of which a cluster has one.
	Policy bool
	// Follow installs the policies for releases that follow their workload, of which a cluster has one
	// set.
	Follow bool
	// Traffic lets releases share requests by routes, with the rights that it takes.
	Traffic bool
	// Job lets gates run Jobs, with the rights that it takes.
	Job bool
	// ConfigMaps and Secrets let releases have them in spec.config, with the rights that it takes.
	ConfigMaps, Secrets bool
	// Notices has the controller send those that the Secret sluice-notices configures.
	Notices bool
	// Dashboard installs the dashboard too, which people log in to.
	Dashboard bool
	// DashboardUnconstrained gives the dashboard the rights that it needs before Kubernetes 1.36.
	DashboardUnconstrained bool
	// DashboardSecrets are Secrets in the namespace that the dashboard reads, each as files in
	// SecretsFolder/NAME.
	DashboardSecrets []string
	// Args are further flags of the controller, DashboardArgs of the dashboard.
	Args, DashboardArgs []string
}

// Default installs everything for the whole cluster, with an image of that tag.
func Default(tag string) Options {
	return Options{Namespace: Namespace, Image: Image + ":" + tag, Replicas: Replicas, CRDs: true, Policy: true}
}

// Check says what is wrong with the options.
func (o Options) Check() error {
	if problems := validation.ValidateNamespaceName(o.Namespace, false); len(problems) > 0 {
		return fmt.Errorf("namespace %q: %s", o.Namespace, problems[0])
	}
	switch {
	case o.Image == "":
		return fmt.Errorf("an image is needed, such as %s:v1.0.0", Image)
	case o.Replicas < 0:
		return fmt.Errorf("%d replicas: there can't be fewer than none", o.Replicas)
	case o.Namespaced && (o.Policy || o.Follow):
		return fmt.Errorf("the admission policy is the whole cluster's: it can't be installed in namespace %s alone", o.Namespace)
	case !o.Dashboard && (o.DashboardUnconstrained || len(o.DashboardArgs)+len(o.DashboardSecrets) > 0):
		return errors.New("rights, flags or Secrets of a dashboard are given, but no dashboard is installed: add --dashboard")
	}
	for _, name := range o.DashboardSecrets {
		if problems := validation.NameIsDNSSubdomain(name, false); len(problems) > 0 {
			return fmt.Errorf("secret %q: %s", name, problems[0])
		}
	}
	return nil
}

// Objects returns what to apply, in an order in which each finds what it needs.
func Objects(o Options) ([]*unstructured.Unstructured, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	objects, err := manifests(o.Namespace, o.chosen()...)
	if err != nil {
		return nil, err
	}
	objects = slices.DeleteFunc(objects, o.leavesOut)
	if o.Namespaced {
		if objects, err = confine(objects, o.Namespace); err != nil {
			return nil, err
		}
	}
	for _, object := range objects {
		if object.GetKind() != "Deployment" {
			continue
		}
		if err := o.fill(object); err != nil {
			return nil, fmt.Errorf("fill in Deployment: %w", err)
		}
	}
	return objects, nil
}

func (o Options) leavesOut(object *unstructured.Unstructured) bool {
	switch object.GetKind() {
	case "CustomResourceDefinition":
		return !o.CRDs
	case "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
		return !o.Policy
	case "Namespace":
		return o.Namespaced
	default:
		return false
	}
}
