package journeys

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// soon is how long a journey waits for what takes moments on a quiet machine: long enough for a
// busy one.
const soon = 2 * time.Minute

// world is a namespace with a journal, in which the test plays the users.
type world struct {
	*testing.T
	client.Client
	access    controlplane.Access
	namespace string
	journal   *journal
	// proxy, if set, is between controllers and the API server.
	proxy *proxy
	// moment is the write of a release before which something happens.
	moment int64
	// controllers has each controller that was started, logs what each logs.
	controllers []*controller
	logs        []*logbook
	// options, if set, changes what controllers are started with.
	options func(*app.Options)
	// excuse is for the laws that the journey breaks itself; nil if there is none. Its test judges
	// it if other journeys share it.
	excuse *excuse
	shares bool
	// judged are the workloads that are checked against the laws.
	judged []subject
}

// newWorld starts a journey. In the end the workload "web" is checked against the laws.
func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	return makeWorld(t)
}

// makeWorld returns newWorld for a journey that others wait for.
func makeWorld(t *testing.T) *world {
	t.Helper()
	return worldOn(t, cptest.Access(t), cptest.Config(t), cptest.Namespace(t))
}

// worldOn returns a journey in a namespace of a control plane. The journal is about more kinds
// besides, if there are any.
func worldOn(t *testing.T, access controlplane.Access, cfg *rest.Config, namespace string, more ...client.ObjectList) *world {
	t.Helper()
	c, err := client.NewWithWatch(cfg, cptest.ClientOptions(t, cfg))
	if err != nil {
		t.Fatalf("make client: %v", err)
	}
	w := &world{T: t, Client: c, access: access, namespace: namespace, judged: []subject{web}}
	t.Cleanup(w.showLogs)
	w.journal = startJournal(t, c, w.namespace, more...)
	t.Cleanup(w.judge)
	return w
}

// judge holds the laws against all that happened.
func (w *world) judge() {
	w.Helper()
	for _, workload := range w.judged {
		found := w.findings(workload)
		for _, broken := range found.broken {
			if w.excuse.covers(broken) {
				w.Logf("%s: excused: %s", workload, broken)
			} else {
				w.Errorf("%s: %s", workload, broken)
			}
		}
		if w.Failed() {
			w.Logf("%s:\n%s", workload, strings.Join(found.scaled, "\n"))
		}
	}
	if w.excuse != nil && !w.shares {
		w.excuse.judge(w.T)
	}
}

func (w *world) findings(workload subject) findings {
	w.Helper()
	entries, err := w.journal.all()
	if err != nil {
		w.Errorf("the journal has a gap: %v", err)
	}
	return examine(entries, w.journal.lostSight(), string(workload))
}

// await waits until done returns nil for the scene, and returns that scene. The error of done
// names the missing part.
func (w *world) await(done func(*scene) error) *scene {
	w.Helper()
	deadline := time.After(soon)
	for {
		scene, changed := w.journal.now()
		err := done(scene)
		if err == nil {
			return scene
		}
		select {
		case <-changed:
		case <-deadline:
			w.Fatalf("not within %v: %v\n%s", soon, err, standing(scene))
		}
	}
}

// fromNow has what it returns await, like await, a scene from now on. It misses none, however short
// it lasts.
func (w *world) fromNow() func(done check) *scene {
	s, at := w.journal.begin()
	return func(done check) *scene {
		w.Helper()
		deadline := time.After(soon)
		for err := done(s); err != nil; {
			entries, changed := w.journal.since(at)
			for _, e := range entries {
				at++
				s.apply(e)
				if err = done(s); err == nil {
					return s
				}
			}
			if len(entries) > 0 {
				continue
			}
			select {
			case <-changed:
			case <-deadline:
				w.Fatalf("not within %v: %v\n%s", soon, err, standing(s))
			}
		}
		return s
	}
}

// now returns the current content of the namespace, as far as the journal knows.
func (w *world) now() *scene {
	scene, _ := w.journal.now()
	return scene
}

// standing tells where all releases stand.
func standing(s *scene) string {
	var text strings.Builder
	for _, release := range s.releases {
		status := &release.Status
		fmt.Fprintf(&text, "%s: %s %d %s %s: %s\n", release.Name, status.Phase, status.CurrentStepIndex,
			status.CurrentStepState, status.Reason, status.Message)
	}
	return text.String()
}

// kubectl runs kubectl in the namespace of the journey and returns what it printed.
func (w *world) kubectl(args ...string) string {
	w.Helper()
	out, err := w.tryKubectl("", args...)
	if err != nil {
		w.Fatalf("%v", err)
	}
	return out
}

// apply applies manifests with kubectl.
func (w *world) apply(manifests string) {
	w.Helper()
	if _, err := w.tryKubectl(manifests, "apply", "-f", "-"); err != nil {
		w.Fatalf("%v", err)
	}
}

func (w *world) tryKubectl(stdin string, args ...string) (string, error) {
	cmd := w.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

func (w *world) command(args ...string) *exec.Cmd {
	return w.access.Kubectl(w.Context(), append([]string{"--namespace", w.namespace}, args...)...)
}

// create creates objects in the namespace of the journey.
func (w *world) create(objects ...client.Object) {
	w.Helper()
	for _, object := range objects {
		object.SetNamespace(w.namespace)
		if err := w.Create(w.Context(), object); err != nil {
			w.Fatalf("create %T %s: %v", object, object.GetName(), err)
		}
	}
}

// deployed creates a Deployment and waits until all its pods serve.
func (w *world) deployed(d *appsv1.Deployment) {
	w.Helper()
	w.create(d)
	w.await(subject(d.Name).serves(imageOf(d), *d.Spec.Replicas))
}

func mergePatch(text string) client.Patch {
	return client.RawPatch("application/merge-patch+json", []byte(text))
}

func strategicPatch(text string) client.Patch {
	return client.RawPatch(types.StrategicMergePatchType, []byte(text))
}

// release brings the release "web" a new template.
func (w *world) release(template corev1.PodTemplateSpec) {
	w.Helper()
	patch := fmt.Sprintf(`[{"op":"replace","path":"/spec/template","value":%s}]`, encode(template))
	w.edit(named[v1alpha1.BatchRelease]("web"), client.RawPatch(types.JSONPatchType, []byte(patch)), "kubectl-patch")
}

// releaseImage brings the release "web" a new image.
func (w *world) releaseImage(image string) {
	w.Helper()
	w.release(podTemplate(image, nil))
}

// patchRelease changes the release "web" by a merge patch. Once it returns the journal has the
// change, so that what is then awaited is not found in what was before.
func (w *world) patchRelease(patch string) {
	w.Helper()
	w.edit(named[v1alpha1.BatchRelease]("web"), mergePatch(patch), "kubectl-patch")
	w.catchUp()
}

// edit changes an object as kubectl does, by the name of a field manager of its. To start kubectl
// takes more CPU time than many a journey's controller: journeys that run often, and are not about
// a command, do without.
func (w *world) edit(object client.Object, patch client.Patch, manager string) {
	w.Helper()
	if err := w.Patch(w.Context(), w.mine(object), patch, client.FieldOwner(manager)); err != nil {
		w.Fatalf("change %T %s: %v", object, object.GetName(), err)
	}
}

// annotateRelease gives the release "web" an annotation, as kubectl annotate does.
func (w *world) annotateRelease(key, value string) {
	w.Helper()
	w.edit(named[v1alpha1.BatchRelease]("web"), mergePatch(fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)), "kubectl-annotate")
}

// rollBack asks for a rollback of the release "web".
func (w *world) rollBack() {
	w.Helper()
	w.annotateRelease(v1alpha1.RollbackAnnotation, "true")
}

// confirm lets a release go on from its manual gate, as kubectl patch does.
func (w *world) confirm(name string) {
	w.Helper()
	release := named[v1alpha1.BatchRelease](name)
	release.Namespace = w.namespace
	patch := mergePatch(`{"status":{"currentStepState":"Completed"}}`)
	if err := w.Status().Patch(w.Context(), release, patch); err != nil {
		w.Fatalf("confirm %s: %v", name, err)
	}
}

// awaitConfirming returns await with each manual gate of the release "web" confirmed as it opens,
// and each change that was put back acknowledged.
func (w *world) awaitConfirming(done check) *scene {
	w.Helper()
	confirmed := map[string]bool{}
	return w.await(func(s *scene) error {
		w.acknowledge(s)
		if release := s.releases["web"]; release != nil && release.Status.CurrentStepState == v1alpha1.StepBlocking {
			for _, gate := range release.Status.Gates {
				if !confirmed[gate.Name] {
					confirmed[gate.Name] = true
					w.confirm("web")
				}
			}
		}
		return done(s)
	})
}
