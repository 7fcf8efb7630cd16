package journeys

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// fluxBinary builds Flux's kustomize-controller.
var fluxBinary = pinned("flux", "kustomize-controller")

// flux is a kustomize-controller of Flux, with a source that the test plays.
type flux struct {
	tool

	server *httptest.Server
	// artifacts has the archives that the source serves, by path.
	artifacts *sync.Map
	revision  *string
	pushes    *int
	asked     *int
}

// startFlux runs Flux for the namespace of a journey: it applies web each two seconds. change has
// fields of its Kustomization.
func (h tool) startFlux(change map[string]any) flux {
	h.Helper()
	f := flux{tool: h, artifacts: &sync.Map{}, revision: new(string), pushes: new(int), asked: new(int)}
	f.server = httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		archive, found := f.artifacts.Load(request.URL.Path)
		if !found {
			http.NotFound(answer, request)
			return
		}
		_, _ = answer.Write(archive.([]byte))
	}))
	h.Cleanup(f.server.Close)
	source := fluxObject("source.toolkit.fluxcd.io/v1", "GitRepository", map[string]any{"interval": "1h", "url": "https://127.0.0.1/shop.git"})
	spec := map[string]any{
		"interval": "2s", "retryInterval": "2s", "timeout": "30s", "prune": true, "path": "./",
		"sourceRef": map[string]any{"kind": "GitRepository", "name": "web"},
	}
	maps.Copy(spec, change)
	kustomization := fluxObject("kustomize.toolkit.fluxcd.io/v1", "Kustomization", spec)
	h.create(source, kustomization)
	binary, err := fluxBinary()
	if err != nil {
		h.Fatal(err)
	}
	args := []string{"--watch-all-namespaces=false", "--metrics-addr=0", "--health-addr=0", "--log-level=error"}
	folder := h.TempDir()
	program, err := controlplane.StartProgram(binary, args, []string{
		"KUBECONFIG=" + h.access.Kubeconfig, "RUNTIME_NAMESPACE=" + h.namespace, "TMPDIR=" + folder,
	}, folder)
	if err != nil {
		h.Fatalf("start Flux: %v", err)
	}
	h.Cleanup(func() {
		program.Kill()
		if log, err := os.ReadFile(program.Log()); h.Failed() {
			h.Logf("Flux: %v\n%s", err, log)
		}
	})
	return f
}

// fluxPlane starts a control plane with Flux's kinds, as its modules define them: on that of other
// tests these are simpler.
func fluxPlane(t *testing.T) *controlplane.ControlPlane {
	t.Helper()
	const controller, source, folder = "github.com/fluxcd/kustomize-controller", "github.com/fluxcd/source-controller", "config/crd/bases"
	root, err := controlplane.GoOutput(t.Context(), "flux", "list", "-m", "-f", "{{.Dir}}", controller)
	if err != nil {
		t.Fatal(err)
	}
	version, err := controlplane.GoOutput(t.Context(), "flux", "list", "-m", "-f", "{{.Version}}", source+"/api")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", source+"@"+version).Output()
	var downloaded struct{ Dir string }
	if err = errors.Join(err, json.Unmarshal(out, &downloaded)); err != nil {
		t.Fatalf("download %s: %v", source, err)
	}
	options, err := cptest.Options()
	if err != nil {
		t.Fatal(err)
	}
	options.Manifests = append(options.Manifests, filepath.Join(root, folder), filepath.Join(downloaded.Dir, folder))
	cp, err := controlplane.Start(context.Background(), options) // Stop ends it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cp.Stop(); err != nil {
			t.Error(err)
		}
	})
	return cp
}

// fluxObject returns an object "web" of a kind of Flux's.
func fluxObject(apiVersion, kind string, spec map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "spec": spec}}
	object.SetName("web")
	return object
}

// push has the source show a revision in which the workload has an image.
func (f flux) push(image string) {
	f.Helper()
	workload := f.chart(image)
	workload.GetObjectKind().SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(f.kind))
	workload.SetNamespace(f.namespace)
	archive := archiveOf(f.T, "web.yaml", encode(withoutStatus(workload)))
	*f.pushes++
	commit := fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "%d %s", *f.pushes, image)))
	*f.revision = "main@sha1:" + commit
	path := "/" + commit + ".tar.gz"
	f.artifacts.Store(path, archive)
	now := time.Now().UTC().Format(time.RFC3339)
	status := encode(map[string]any{"status": map[string]any{
		"observedGeneration": 1,
		"artifact": map[string]any{
			"path": path[1:], "url": f.server.URL + path, "revision": *f.revision, "digest": fmt.Sprintf("sha256:%x", sha256.Sum256(archive)),
			"size": len(archive), "lastUpdateTime": now,
		},
		"conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": "Succeeded", "message": "stored artifact", "lastTransitionTime": now, "observedGeneration": 1,
		}},
	}})
	source := fluxObject("source.toolkit.fluxcd.io/v1", "GitRepository", nil)
	if err := f.Status().Patch(f.Context(), f.mine(source), mergePatch(string(status))); err != nil {
		f.Fatalf("show a new revision: %v", err)
	}
}

// archiveOf returns an artifact with one file.
func archiveOf(t *testing.T, name string, content []byte) []byte {
	t.Helper()
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	files := tar.NewWriter(zipped)
	err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg})
	if err == nil {
		_, err = files.Write(content)
	}
	if err := errors.Join(err, files.Close(), zipped.Close()); err != nil {
		t.Fatalf("pack %s: %v", name, err)
	}
	return archive.Bytes()
}

// kustomization returns the Kustomization as it is.
func (f flux) kustomization(ctx context.Context) (*unstructured.Unstructured, error) {
	live := fluxObject("kustomize.toolkit.fluxcd.io/v1", "Kustomization", nil)
	err := f.Get(ctx, client.ObjectKeyFromObject(f.mine(live)), live)
	return live, err
}

// reconciles asks Flux to apply once more, and waits until it has, with success.
func (f flux) reconciles() {
	f.Helper()
	*f.asked++
	token := fmt.Sprint(*f.asked)
	f.edit(fluxObject("kustomize.toolkit.fluxcd.io/v1", "Kustomization", nil),
		mergePatch(fmt.Sprintf(`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":%q}}}`, token)), "flux")
	cptest.Eventually(f, soon, func() error {
		live, err := f.kustomization(f.Context())
		if err != nil {
			return err
		}
		handled, _, _ := unstructured.NestedString(live.Object, "status", "lastHandledReconcileAt")
		applied, _, _ := unstructured.NestedString(live.Object, "status", "lastAppliedRevision")
		if handled != token || applied != *f.revision || readyOf(live) != "True" {
			return fmt.Errorf("want %s applied, for the request %s: %v", *f.revision, token, live.Object["status"])
		}
		return nil
	})
}

// readyOf returns the status of an object's condition Ready, with its message if it is False.
func readyOf(live *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	for _, c := range conditions {
		if condition, _ := c.(map[string]any); condition["type"] == "Ready" {
			if condition["status"] == "False" {
				return fmt.Sprintf("False: %v: %v", condition["reason"], condition["message"])
			}
			return fmt.Sprint(condition["status"])
		}
	}
	return ""
}

// reconciliations returns how often Flux has reconciled, as its history says, and each that failed.
func (f flux) reconciliations() (total int64, failed []any) {
	f.Helper()
	live, err := f.kustomization(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	history, _, _ := unstructured.NestedSlice(live.Object, "status", "history")
	for _, entry := range history {
		snapshot, _ := entry.(map[string]any)
		n, _, _ := unstructured.NestedInt64(snapshot, "totalReconciliations")
		total += n
		if snapshot["lastReconciledStatus"] != "ReconciliationSucceeded" {
			failed = append(failed, snapshot)
		}
	}
	return total, failed
}

// wantNeverFailed wants each reconciliation of Flux to have succeeded.
func (f flux) wantNeverFailed() {
	f.Helper()
	total, failed := f.reconciliations()
	f.Logf("%s: Flux has reconciled %d times", f.kind, total)
	if total == 0 || len(failed) > 0 {
		f.Errorf("want no reconciliation that failed, have %v of %d", failed, total)
	}
}

// atRest wants n reconciliations of Flux to leave the workload as it is: neither Flux nor Sluice
// writes it.
func (f flux) atRest(n int) {
	f.Helper()
	before := f.live(f.kind)
	for range n {
		f.reconciles()
	}
	f.lookedAgain()
	if diff := cmp.Diff(writable(before), writable(f.live(f.kind))); diff != "" {
		f.Errorf("want nobody to write the workload, -before +after:\n%s", diff)
	}
}

// writable returns what of a workload the native controller does not write.
func writable(live *unstructured.Unstructured) map[string]any {
	annotations := live.GetAnnotations()
	delete(annotations, "deployment.kubernetes.io/revision")
	return map[string]any{"generation": live.GetGeneration(), "annotations": annotations, "labels": live.GetLabels()}
}

// putBack wants Sluice to answer what Flux applies with one write, in n reconciliations: a
// DaemonSet would make lost pods of the template that was rolled back.
func (f flux) putBack(n int) {
	f.Helper()
	before, pods := f.live(f.kind).GetGeneration(), f.now().uids()
	reconciled, _ := f.reconciliations()
	for range n {
		f.reconciles()
	}
	f.lookedAgain()
	writes := f.live(f.kind).GetGeneration() - before
	again, _ := f.reconciliations()
	f.Logf("%s: %d writes in %d reconciliations", f.kind, writes, again-reconciled)
	if most := 2 * (again - reconciled + 1); writes > most {
		f.Errorf("want at most %d writes of the workload, have %d", most, writes)
	}
	f.wantSamePods(pods)
}

// onFlux runs a journey for each kind. It begins with four pods of web:1 that Flux has applied,
// and a release of two steps.
func onFlux(t *testing.T, change map[string]any, journey func(f flux)) {
	t.Helper()
	forNight(t)
	t.Parallel()
	cp := fluxPlane(t)
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWorldOn(t, cp, "flux-"+strings.ToLower(kind))
			w.guardWorkloads()
			w.holdTemplates()
			w.applyShipped("follow/appliers.yaml")
			w.applyShipped("follow/appliers_binding.yaml")
			if kind == "DaemonSet" {
				w.ownNodes(4)
			}
			w.startController()
			f := tool{w, kind, w.charts()[kind]}.startFlux(change)
			f.push("web:1")
			w.await(web.serves("web:1", 4))
			r := releaseTo(kind, corev1.PodTemplateSpec{}, step(1), step("100%", none()))
			w.create(following(r))
			w.await(all(web.completed, labelled))
			journey(f)
		})
	}
}

// TestFollowFlux: real Flux applies new revisions of a workload, unchanged, and applies them again
// each two seconds. Each is held until its release moves the pods. No reconciliation fails, and at
// a gate, after the release and after its rollback nobody writes the workload.
func TestFollowFlux(t *testing.T) {
	onFlux(t, nil, func(f flux) {
		f.push("web:2")
		atGate := all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1}))
		f.await(all(atGate, web.status("the commit that Flux applies", func(s *v1alpha1.BatchReleaseStatus) bool {
			return s.Commit != "" && strings.HasSuffix(*f.revision, s.Commit)
		})))
		f.reconciles()
		f.atRest(3)
		f.await(atGate)
		f.push("web:3")
		f.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:3": 1})))
		f.reconciles()
		f.atRest(3)
		f.confirm("web")
		f.await(all(web.completed, web.serves("web:3", 4), f.asInChart("web:3")))
		f.reconciles()
		f.atRest(3)
		f.goesBack(f.push)
		f.reconciles()
		if f.kind == "DaemonSet" {
			f.putBack(3)
		} else {
			f.atRest(3)
		}
		f.await(all(web.quarantined, web.serves("web:3", 4)))
		f.wantNeverFailed()
	})
}

// TestFollowFluxWaits: with wait: true a Kustomization fails its health check, after its timeout,
// while a Deployment or a DaemonSet is at a gate, and succeeds when the release is done. A
// StatefulSet that is held counts as healthy.
func TestFollowFluxWaits(t *testing.T) {
	onFlux(t, map[string]any{"wait": true}, func(f flux) {
		f.push("web:2")
		f.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
		want := "False: HealthCheckFailed"
		if f.kind == "StatefulSet" {
			want = "True"
		}
		cptest.Eventually(f, soon, func() error {
			live, err := f.kustomization(f.Context())
			if err != nil {
				return err
			}
			attempted, _, _ := unstructured.NestedString(live.Object, "status", "lastAttemptedRevision")
			if ready := readyOf(live); attempted != *f.revision || !strings.HasPrefix(ready, want) {
				return fmt.Errorf("want Ready %s for %s, have %s for %s", want, *f.revision, ready, attempted)
			}
			return nil
		})
		f.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
		f.confirm("web")
		f.await(all(web.completed, web.serves("web:2", 4)))
		f.reconciles()
	})
}
