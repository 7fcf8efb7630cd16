package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// helmFlags say what spec.helm of a ReleaseSource will say.
type helmFlags struct {
	given v1alpha1.HelmChart
}

func (f *helmFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.given.ReleaseName, "helm-release-name", "", "render the Helm chart in the folder, with this `name`")
	set.StringArrayVar(&f.given.ValuesFiles, "helm-values-file", nil, "`file` of values, relative to the chart; can be repeated")
	set.Func("helm-values", "`values` over those of files, as YAML", f.setValues)
	set.StringVar(&f.given.KubeVersion, "helm-kube-version", v1alpha1.DefaultKubeVersion, "`version` of Kubernetes that the chart sees")
}

func (f *helmFlags) setValues(text string) error {
	var values map[string]any
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		return fmt.Errorf("must be a map of values: %w", err)
	}
	data, err := json.Marshal(values)
	f.given.Values = &runtime.RawExtension{Raw: data}
	return err
}

// check refuses values of a chart that is not rendered.
func (f *helmFlags) check() error {
	if f.given.ReleaseName == "" && (len(f.given.ValuesFiles) > 0 || f.given.Values != nil) {
		return usageError{errors.New("--helm-values-file and --helm-values need --helm-release-name, without which charts are left out")}
	}
	return nil
}

// chart returns the release to render a chart for; nil if charts are left out.
func (f *helmFlags) chart() *v1alpha1.HelmChart {
	if f.given.ReleaseName == "" {
		return nil
	}
	return &f.given
}
