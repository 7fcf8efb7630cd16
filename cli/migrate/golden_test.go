package migrate

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/internal/testbed/crdcheck"
)

var update = flag.Bool("update", false, "write the golden outputs anew")

// example is a folder of testdata.
type example struct {
	name    string
	files   []File
	options Options
}

// examples reads the folders of testdata.
func examples(t *testing.T) []example {
	t.Helper()
	folders, err := filepath.Glob("testdata/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("find examples: %v", err)
	}
	var all []example
	for _, folder := range folders {
		one := example{name: filepath.Base(folder)}
		names, err := filepath.Glob(folder + "/*.yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			switch base := filepath.Base(name); base {
			case "want.yaml":
			case "options.yaml":
				if err := yaml.UnmarshalStrict(data, &one.options); err != nil {
					t.Fatal(err)
				}
			default:
				one.files = append(one.files, File{base, data})
			}
		}
		all = append(all, one)
	}
	return all
}

// TestExamplesOfTheDocs: examples of the docs of Argo Rollouts and Flagger are translated, and the
// output is valid.
func TestExamplesOfTheDocs(t *testing.T) {
	t.Parallel()
	for _, one := range examples(t) {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			result, unread := Analyses(one.files, one.options)
			if unread != nil {
				t.Fatalf("want the example read, got %v", unread)
			}
			output := wantValid(t, result)
			wantFile(t, filepath.Join("testdata", one.name, "want.yaml"), output)
			wantFile(t, filepath.Join("testdata", one.name, "want.txt"), list(result))
		})
	}
}

// list returns the findings with the summary.
func list(result *Result) string {
	var lines strings.Builder
	for _, finding := range result.Findings {
		lines.WriteString(finding.String() + "\n")
	}
	return lines.String() + result.Summary() + "\n"
}

func wantFile(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// wantValid wants the output of a result to have comments, and MetricProviders and gates that are
// valid by the CRD and the rules of gates. It returns the output.
func wantValid(t *testing.T, result *Result) string {
	t.Helper()
	var out strings.Builder
	if err := result.Write(&out, All); err != nil {
		t.Fatalf("write: %v", err)
	}
	wantVisible(t, out.String())
	for _, finding := range result.Findings {
		wantVisible(t, finding.String()+"\n")
		if strings.Contains(finding.String(), "\n") {
			t.Errorf("want a finding on a line, got %q", finding.String())
		}
	}
	providers, policies := decoded(t, out.String())
	if len(providers) != len(result.providers) {
		t.Errorf("want %d providers, got %d", len(result.providers), len(providers))
	}
	for i, provider := range providers {
		if diff := cmp.Diff(result.providers[i].MetricProvider, provider); diff != "" {
			t.Errorf("the provider is read as another one:\n%s", diff)
		}
		wantProvider(t, &provider)
	}
	lacks := strings.Contains(list(result), "has no value: give --arg") || strings.Contains(list(result), "lacks a variable")
	for _, policy := range policies {
		wantGate(t, policy, providers, lacks)
	}
	return out.String()
}

func wantVisible(t *testing.T, text string) {
	t.Helper()
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }) {
		t.Errorf("want no characters that are not visible, got %q", text)
	}
}

// decoded reads an output strictly.
func decoded(t *testing.T, output string) (providers []v1alpha1.MetricProvider, policies []v1alpha1.GatePolicy) {
	t.Helper()
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(output))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return providers, policies
		}
		if err != nil {
			t.Fatalf("read output: %v", err)
		}
		if bytes.Contains(document, []byte("\nkind: MetricProvider\n")) {
			var provider v1alpha1.MetricProvider
			if err := yaml.UnmarshalStrict(document, &provider); err != nil {
				t.Fatalf("decode provider: %v\n%s", err, document)
			}
			providers = append(providers, provider)
			continue
		}
		var step struct {
			Gates  []v1alpha1.GatePolicy `json:"gates"`
			Guards []v1alpha1.GatePolicy `json:"guards"`
		}
		if err := yaml.UnmarshalStrict(document, &step); err != nil {
			t.Fatalf("decode gates: %v\n%s", err, document)
		}
		policies = append(append(policies, step.Gates...), step.Guards...)
	}
}

func wantProvider(t *testing.T, provider *v1alpha1.MetricProvider) {
	t.Helper()
	if err := crdcheck.Object("metricproviders", provider); err != nil {
		t.Errorf("provider %s: %v", provider.Name, err)
	}
	for _, metric := range provider.Spec.Metrics {
		if problem := checkShared(metric); problem != "" {
			t.Errorf("provider %s: metric %s: %s", provider.Name, metric.Name, problem)
		}
	}
}

// wantGate wants a gate valid, and its metrics found on one of the providers.
func wantGate(t *testing.T, policy v1alpha1.GatePolicy, providers []v1alpha1.MetricProvider, lacks bool) {
	t.Helper()
	if problems := gate.Validate(&policy, field.NewPath("gate")); len(problems) > 0 {
		t.Errorf("want a valid gate, got %v", problems.ToAggregate())
	}
	release := v1alpha1.BatchRelease{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BatchRelease"},
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			Strategy:    v1alpha1.ReleaseStrategy{Steps: []v1alpha1.Step{{Replicas: intstr.FromInt32(1), Gates: []v1alpha1.GatePolicy{policy}}}, Guards: []v1alpha1.GatePolicy{policy}},
		},
	}
	if err := crdcheck.Object("batchreleases", release); err != nil {
		t.Errorf("want a gate that a release takes, got %v", err)
	}
	variables := gate.Variables{"namespace": "shop", "release": "web", "workload": "web", "revision": "1", "stableRevision": "0"}
	var failed error
	for i := range providers {
		if providers[i].Name != policy.Metrics.Provider {
			continue
		}
		_, err := gate.MetricChecks(policy.Metrics, &providers[i], variables, field.NewPath("gate", "metrics"))
		if err == nil {
			return
		}
		failed = errors.Join(failed, err)
	}
	if !lacks || failed == nil || !strings.Contains(failed.Error(), "Required value: give ") {
		t.Errorf("want checks of the gate's metrics on provider %s, got %v", policy.Metrics.Provider, failed)
	}
}
