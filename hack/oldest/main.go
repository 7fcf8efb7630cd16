// Command oldest holds CRDs against the validation of the oldest Kubernetes that Sluice supports:
// it reckons with higher costs of CEL rules than later ones do, and refuses a CRD whose rules might
// cost too much.
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: oldest CRD...")
		os.Exit(2)
	}
	for _, file := range os.Args[1:] {
		if err := check(file); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", file, err)
			os.Exit(1)
		}
	}
}

// check returns what the API server has against the CRD in a file.
func check(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var given v1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(data, &given); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	scheme.Default(&given)
	var crd apiextensions.CustomResourceDefinition
	if err := scheme.Convert(&given, &crd, nil); err != nil {
		return err
	}
	return validation.ValidateCustomResourceDefinition(context.Background(), &crd).ToAggregate()
}
