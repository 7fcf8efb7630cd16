package gitsync_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// hostileRepository has files, and what an error in the status of its source says of them. One that
// is only large is read in turns: it has the error until the last of them.
type hostileRepository struct {
	files map[string]string
	want  string
	turns bool
}

func hostile() map[string]hostileRepository {
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
	bomb := object + "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for name := 'b'; name < 'j'; name++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", name, name, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", name-1), 10), ","))
	}
	many := func(n int) string {
		var all strings.Builder
		for i := range n {
			fmt.Fprintf(&all, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\n", i)
		}
		return all.String()
	}
	quadratic := map[string]string{"base/kustomization.yaml": "resources: [all.yaml]\n", "base/all.yaml": many(1000)}
	for i := range 8 {
		quadratic[fmt.Sprintf("o%d/kustomization.yaml", i)] = fmt.Sprintf("namePrefix: o%d-\nresources: [../base]\n", i)
	}
	quadratic["kustomization.yaml"] = "resources: [o0, o1, o2, o3, o4, o5, o6, o7]\n"
	slow, memory, dense := map[string]string{}, map[string]string{"kustomization.yaml": "resources: [a, b, c, d, e]\n"}, map[string]string{}
	for i := range 12 {
		slow[fmt.Sprintf("%d/all.yaml", i)] = many(1900)
		slow[fmt.Sprintf("%d/kustomization.yaml", i)] = fmt.Sprintf("resources: [all.yaml]\nnameSuffix: '-%d'\n", i) +
			"replacements:\n" + strings.Repeat("- source: {kind: ConfigMap, name: c1, fieldPath: metadata.name}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.x], options: {create: true}}]\n", 40)
	}
	for i, name := range strings.Split("abcde", "") {
		memory[name] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\nlist: [%s{}]\n", i, strings.Repeat("{},", 60_000))
	}
	for i := range 50 {
		dense[fmt.Sprintf("%d.yaml", i)] = fmt.Sprintf("a%d: [%s{}]\n", i, strings.Repeat("{},", 80_000))
	}
	problems := "apiVersion: rollouts.sluice.dev/v1alpha1\nkind: BatchRelease\nmetadata: {name: w}\nspec:\n"
	for i := range 50_000 {
		problems += fmt.Sprintf("  x%d: 1\n", i)
	}
	return map[string]hostileRepository{
		"aliases":   {map[string]string{"kustomization.yaml": "resources: [bomb.txt]\n", "bomb.txt": bomb}, "the aliases of the document make more than", false},
		"quadratic": {quadratic, "the kustomization makes more than 2000 objects", false},
		"slow":      {slow, "kustomizations are not built yet", true}, // the limits of time are those of a processor
		"memory":    {memory, "building the kustomization takes more than", false},
		"dense":     {dense, "files are not read yet", true},
		"problems":  {map[string]string{"w.yaml": problems}, "more problems in this document", false},
		"deep":      {map[string]string{strings.Repeat("a/", 5_000) + "x.yaml": object}, "more than 64 folders deep", false},
		"fetches":   {map[string]string{"kustomization.yaml": "resources: [\"http://127.0.0.1:1/x.yaml\"]\n"}, "nothing is fetched from elsewhere", false},
	}
}

// TestGoodSourcesBesideHostileOnes: fifty sources in five namespaces are applied while the sources
// of another one try to take all there is. The status of each hostile source says why it is not
// read, unless it is read after all others. The controller and its processes stay below half of the
// memory that config/controller gives it.
func TestGoodSourcesBesideHostileOnes(t *testing.T) {
	if raced {
		t.Skip("it measures time and memory: make test-measured runs it")
	}
	w := newWorld(t)
	namespaces := []string{w.namespace}
	for range 5 {
		namespaces = append(namespaces, cptest.Namespace(t))
	}
	add := func(namespace, name string, files map[string]string) {
		w.commit(gittest.Commit{Branch: name, Orphan: true, Files: files})
		w.source(func(s *v1alpha1.ReleaseSource) {
			s.Namespace, s.Name, s.Spec.Ref.Branch = namespace, name, name
		})
	}
	wanted := hostile()
	for name, tt := range wanted {
		add(w.namespace, name, tt.files)
	}
	for i := range 50 {
		name := fmt.Sprintf("good-%d", i)
		files := app(name, "web:1")
		files["kustomization.yaml"] = fmt.Sprintf("resources: [%[1]s/deploy.yaml, %[1]s/release.yaml]\nimages: [{name: web, newTag: '2'}]\n", name)
		add(namespaces[1+i%5], name, files)
	}
	peak := watchMemory(t, startProcess(t, namespaces))
	began := time.Now()
	for i := range 50 {
		key := client.ObjectKey{Namespace: namespaces[1+i%5], Name: fmt.Sprintf("good-%d", i)}
		cptest.Eventually(t, soon, func() error {
			release := &v1alpha1.BatchRelease{}
			return w.Get(t.Context(), key, release)
		})
	}
	t.Logf("all 50 are applied after %s", time.Since(began).Round(time.Millisecond))
	for name, tt := range wanted {
		w.await(name, func(s *v1alpha1.ReleaseSource) error {
			if tt.turns && s.Status.ObservedCommit != "" && len(s.Status.Errors) == 0 {
				return nil
			}
			for _, err := range s.Status.Errors {
				if strings.Contains(err.Message, tt.want) {
					return nil
				}
			}
			return fmt.Errorf("source %s is not told %q: %+v", name, tt.want, s.Status)
		})
	}
	t.Logf("all %d hostile ones are told after %s; the controller held %d MiB at most", len(wanted), time.Since(began).Round(time.Millisecond), peak()>>20)
	const half = 512 << 20
	if peak() >= half {
		t.Errorf("the controller and its processes held %d MiB", peak()>>20)
	}
}

// watchMemory follows what a process and its children hold, and returns what that was at most.
func watchMemory(t *testing.T, pid int) (peak func() int64) {
	t.Helper()
	var highest atomic.Int64
	tick, ended := time.NewTicker(10*time.Millisecond), make(chan struct{})
	go func() {
		for {
			select {
			case <-tick.C:
				sum := resident(pid)
				children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
				for _, file := range children {
					text, _ := os.ReadFile(file) // one that has ended has no memory
					for child := range bytes.FieldsSeq(text) {
						number, _ := strconv.Atoi(string(child))
						sum += resident(number)
					}
				}
				highest.Store(max(highest.Load(), sum))
			case <-ended:
				return
			}
		}
	}()
	t.Cleanup(func() { tick.Stop(); close(ended) })
	return highest.Load
}

// resident returns the resident memory of a process, 0 if it has ended.
func resident(pid int) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kilobytes, _ := strconv.ParseInt(strings.Fields(rest + " 0")[0], 10, 64)
	return kilobytes << 10
}
