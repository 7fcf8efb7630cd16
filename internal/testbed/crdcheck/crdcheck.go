// Package crdcheck holds objects against the schemas of our CRDs, as the API server does, for tests.
package crdcheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
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
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("decode status: %w", err)
	}
	return schema.Validate(value)
}

// statuses is the schema of a BatchRelease's status. The OpenAPI schema of a CRD is one of JSON Schema, but for
// extensions that only narrow what is taken over time, or what is merged.
var statuses = sync.OnceValues(func() (*jsonschema.Schema, error) {
	manifest, err := config.Manifests.ReadFile("crd/rollouts.sluice.dev_batchreleases.yaml")
	if err != nil {
		return nil, fmt.Errorf("read CRD: %w", err)
	}
	data, err := yaml.YAMLToJSON(manifest)
	if err != nil {
		return nil, fmt.Errorf("decode CRD: %w", err)
	}
	crd, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("decode CRD: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("crd.json", crd); err != nil {
		return nil, fmt.Errorf("add CRD: %w", err)
	}
	return compiler.Compile("crd.json#/spec/versions/0/schema/openAPIV3Schema/properties/status")
})
