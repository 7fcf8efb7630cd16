// Package crdcheck validates objects against the CRDs, with the API server's library, for tests.
package crdcheck

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/config"
)

// Status returns what the API server has against a status of a BatchRelease; nil if it takes it.
func Status(status *v1alpha1.BatchReleaseStatus) error {
	schema, err := statuses()
	if err != nil {
		return err
	}
	data, err := json.Marshal(status)
	if err != nil {
		return fmt.Errorf("encode status: %w", err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return fmt.Errorf("decode status: %w", err)
	}
	var failed []error
	for name, value := range fields {
		property, known := schema.Properties[name]
		if !known {
			failed = append(failed, fmt.Errorf("the schema of a status has no field %s", name))
			continue
		}
		failed = append(failed, field(name, &property, value))
	}
	return errors.Join(failed...)
}

// field validates a field of a status, once for each of its values: random walks repeat most of
// them, and validation took half of their time.
func field(name string, schema *spec.Schema, data []byte) error {
	sum := sha256.Sum256(append([]byte(name), data...))
	if _, known := valid.Load(sum); known {
		return nil
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return fmt.Errorf("decode status: %w", err)
	}
	if err := validate.NewSchemaValidator(schema, nil, name, strfmt.Default).Validate(value).AsError(); err != nil {
		return err
	}
	valid.Store(sum, struct{}{})
	return nil
}

// valid holds the sums of the fields that are valid.
var valid sync.Map

// Object returns what the schema of a CRD, such as metricproviders, has against an object; nil if
// nothing. It does not evaluate the rules in CEL.
func Object(crd string, object any) error {
	schema, err := schemaOf(crd)
	if err != nil {
		return err
	}
	data, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encode object: %w", err)
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return fmt.Errorf("decode object: %w", err)
	}
	return validate.NewSchemaValidator(schema, nil, crd, strfmt.Default).Validate(value).AsError()
}

// statuses is the schema of a BatchRelease's status. What it says in extensions of Kubernetes only
// narrows what is taken over time, or what is merged.
var statuses = sync.OnceValues(func() (*spec.Schema, error) {
	schema, err := schemaOf("batchreleases")
	if err != nil {
		return nil, err
	}
	status, ok := schema.Properties["status"]
	if !ok {
		return nil, fmt.Errorf("decode CRD: its objects have no status")
	}
	return &status, nil
})

// schemas holds the schemas that were read, by CRD.
var schemas sync.Map

// schemaOf returns the schema of a CRD.
func schemaOf(crd string) (*spec.Schema, error) {
	if schema, known := schemas.Load(crd); known {
		return schema.(*spec.Schema), nil
	}
	schema, err := readSchema(crd)
	if err == nil {
		schemas.Store(crd, schema)
	}
	return schema, err
}

func readSchema(crd string) (*spec.Schema, error) {
	manifest, err := config.Manifests.ReadFile("crd/rollouts.sluice.dev_" + crd + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("read CRD: %w", err)
	}
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema spec.Schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(manifest, &definition); err != nil {
		return nil, fmt.Errorf("decode CRD: %w", err)
	}
	if len(definition.Spec.Versions) != 1 {
		return nil, fmt.Errorf("decode CRD: want one version, got %d", len(definition.Spec.Versions))
	}
	return &definition.Spec.Versions[0].Schema.OpenAPIV3Schema, nil
}
