package docs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestFeaturesNameTheirTests: each feature of the list names tests that show it.
func TestFeaturesNameTheirTests(t *testing.T) {
	t.Parallel()
	var sections []struct {
		Section  string
		Features []struct {
			Does  string
			Tests []string
		}
	}
	if err := yaml.UnmarshalStrict([]byte(read(t, "features.yaml")), &sections); err != nil {
		t.Fatal(err)
	}
	known, listed := testsBelow(t, root), 0
	for _, section := range sections {
		for _, feature := range section.Features {
			if err := known.have(feature.Tests); err != nil {
				t.Errorf("features.yaml: %q: %v", feature.Does, err)
			}
			listed++
		}
	}
	if listed == 0 {
		t.Error("features.yaml has no feature")
	}
}

// TestFaultsNameTheirTests: each fault of the list names tests that show the guarantee, by package,
// as hack/reliability runs them.
func TestFaultsNameTheirTests(t *testing.T) {
	t.Parallel()
	var sections []struct {
		Section string
		Faults  []struct {
			Fault, Guarantee string
			Tests            []string
		}
	}
	if err := yaml.UnmarshalStrict([]byte(read(t, "develop/reliability.yaml")), &sections); err != nil {
		t.Fatal(err)
	}
	listed := 0
	for _, section := range sections {
		for _, fault := range section.Faults {
			if len(fault.Tests) == 0 || fault.Guarantee == "" {
				t.Errorf("reliability.yaml: %q: no guarantee, or no test shows it", fault.Fault)
			}
			for _, test := range fault.Tests {
				if name := oneTest.FindStringSubmatch(test); name == nil || !hasTest(t, name[1], name[2]) {
					t.Errorf("reliability.yaml: %q: there is no test %s: name one as package.TestName", fault.Fault, test)
				}
			}
			listed++
		}
	}
	if listed == 0 {
		t.Error("reliability.yaml has no fault")
	}
}

var (
	oneTest  = regexp.MustCompile(`^([a-z0-9/]+)\.((?:Test|Fuzz)\w+)$`)
	function = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
)

// tests are the folders that have a test of a name.
type tests map[string][]string

func testsBelow(t *testing.T, root string) tests {
	t.Helper()
	found := tests{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		for _, match := range function.FindAllSubmatch(data, -1) {
			if test, folder := string(match[1]), filepath.ToSlash(folder); !slices.Contains(found[test], folder) {
				found[test] = append(found[test], folder)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("list tests: %v", err)
	}
	return found
}

// have returns an error if there is no test, or if a name means none or several.
func (t tests) have(names []string) error {
	if len(names) == 0 {
		return errors.New("no test shows it")
	}
	for _, name := range names {
		within, test, ok := strings.Cut(name, ".")
		if !ok {
			within, test = "", name
		}
		var folders []string
		for _, folder := range t[test] {
			if within == "" || folder == within || strings.HasSuffix(folder, "/"+within) {
				folders = append(folders, folder)
			}
		}
		switch len(folders) {
		case 0:
			return fmt.Errorf("there is no test %s", name)
		case 1:
		default:
			return fmt.Errorf("%s is in %s: name one as FOLDER.%s", name, strings.Join(folders, " and in "), test)
		}
	}
	return nil
}

// TestTraceOfThePageIsReal: each trace that change.md shows is in the golden one.
func TestTraceOfThePageIsReal(t *testing.T) {
	t.Parallel()
	trace, shown := read(t, "../rollout/sim/testdata/five-steps.txt"), 0
	for _, match := range regexp.MustCompile("(?ms)^```text\n(replicas=.*?)^```$").FindAllStringSubmatch(read(t, "develop/change.md"), -1) {
		shown++
		if !strings.Contains(trace, match[1]) {
			t.Errorf("change.md: five-steps.txt does not have:\n%s", match[1])
		}
	}
	if shown == 0 {
		t.Error("change.md shows no trace")
	}
}

func TestTestsAreFoundByTheirNames(t *testing.T) {
	t.Parallel()
	known := tests{"TestIt": {"a", "b/c"}}
	for name, want := range map[string]string{
		"TestGone": "there is no test TestGone",
		"TestIt":   "TestIt is in a and in b/c: name one as FOLDER.TestIt",
		"d.TestIt": "there is no test d.TestIt",
		"c.TestIt": "",
	} {
		got := ""
		if err := known.have([]string{name}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: want %q, got %q", name, want, got)
		}
	}
	if known.have(nil) == nil {
		t.Error("want an error for a feature without tests, got none")
	}
}
