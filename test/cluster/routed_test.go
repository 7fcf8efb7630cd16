package cluster

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/test/cluster/clients"
	"github.com/sluice-dev/sluice/test/dataplane"
)

// routed is a service whose requests come through a data plane, and are shared by its releases. It
// is under load from outside of the cluster, and people release it with git.
type routed struct {
	*service

	sluice   string // path of the program
	plane    *dataplane.DataPlane
	instance *dataplane.Instance // which takes the requests
	route    *gatewayv1.HTTPRoute
	load     *clients.Load
	work     string // folder of a clone of the repository
	commit   string // the last one
	proof    *proof
}

// The load on it, from so many clients: about a thousand requests a second.
const (
	routedSenders  = 64
	routedInterval = 64 * time.Millisecond
	// stand is how many requests are counted while a step stands. Traefik takes turns, so that it
	// has the share of the step but for a few requests; one that chose at random would be less than
	// a point off in four of five cases, at the worst share.
	stand = 4000
	// point is by how much a share may differ, in percent of all requests.
	point = 1.0
)

// web has the HPA's number of pods from the start.
var web = workload{
	kind: "Deployment", name: "web", size: 4, head: strings.Replace(deploymentHead, "replicas: 6", "replicas: 4", 1), strategy: canarySteps,
}

// autoscaler is an HPA. There are no metrics here, but it holds the number of pods within its
// bounds.
const autoscaler = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: web
  namespace: web
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 4
  maxReplicas: 4
`

// startRouted starts a data plane and the service behind it, and puts it under load.
func (c *cluster) startRouted(sluice string) *routed {
	c.Helper()
	r := &routed{sluice: sluice, proof: &proof{}}
	r.plane, r.instance = c.openDataPlane(web.name + "-gateway")
	r.service = c.create(web)
	r.checkOut()
	r.apply(autoscaler)
	r.makeRoute()
	r.load = r.clients(routedSenders, nil)
	return r
}

// makeRoute makes the route that releases share.
func (r *routed) makeRoute() {
	r.Helper()
	r.route = &gatewayv1.HTTPRoute{
		ObjectMeta: metav1.ObjectMeta{Name: r.name, Namespace: r.name},
		Spec: gatewayv1.HTTPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{r.plane.ParentRef()}},
			Rules:           []gatewayv1.HTTPRouteRule{rule(backend(r.name, 1))},
		},
	}
	if err := r.Create(r.Context(), r.route); err != nil {
		r.Fatalf("make HTTPRoute: %v", err)
	}
	r.await("the route serves", func() error { return wantStatuses(r.instance.URL, map[int]int{200: 10}) })
}

// clients starts clients that send requests until the test ends. Half of them keep their
// connection.
func (r *routed) clients(number int, header map[string][]string) *clients.Load {
	load := clients.Start(context.WithoutCancel(r.Context()), clients.Options{
		URL: r.instance.URL, Clients: number, Interval: routedInterval, Header: header,
	})
	r.Cleanup(load.Stop)
	return load
}

// checkOut clones the repository, as ada does.
func (r *routed) checkOut() {
	r.Helper()
	r.work = r.TempDir()
	r.git("clone", "--quiet", r.clone, ".")
}

// git runs git as ada does, without the settings of whoever runs the test.
func (r *routed) git(args ...string) string {
	r.Helper()
	cmd := exec.CommandContext(r.Context(), "git", args...)
	cmd.Dir = r.work
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=ada", "GIT_AUTHOR_EMAIL=ada@localhost", "GIT_COMMITTER_NAME=ada", "GIT_COMMITTER_EMAIL=ada@localhost")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("git %s: %v\n%s", args[0], err, out)
	}
	return strings.TrimSpace(string(out))
}

// push commits a version, and how it is to be released, and pushes that.
func (r *routed) push(version, strategy string) {
	r.Helper()
	r.strategy = strategy
	for name, content := range map[string][]byte{"workload.yaml": r.manifest(version), "release.yaml": r.release()} {
		if err := os.WriteFile(filepath.Join(r.work, name), content, 0o600); err != nil {
			r.Fatal(err)
		}
	}
	r.git("commit", "--quiet", "--all", "--message", version)
	r.pushed()
}

// revert takes the last commit back, and pushes that.
func (r *routed) revert() {
	r.Helper()
	r.git("revert", "--no-edit", "HEAD")
	r.pushed()
}

func (r *routed) pushed() {
	r.Helper()
	r.git("push", "--quiet")
	r.commit = r.git("rev-parse", "HEAD")
}

// standsAt waits until the step stands: its pods are there, the route gives the new version that
// percentage, and its gate is open.
func (r *routed) standsAt(step, weight int32) {
	r.Helper()
	r.await(fmt.Sprintf("step %d stands, at %d%%", step, weight), func() error {
		release, err := r.batchRelease()
		if err != nil {
			return err
		}
		status := &release.Status
		at := status.Commit == r.commit && status.CurrentStepState == v1alpha1.StepBlocking && status.CurrentStepIndex == step
		if !at || status.Traffic == nil || status.Traffic.Weight != weight || status.Traffic.Problem != nil {
			return fmt.Errorf("want it to stand: %s of %s, traffic %+v", r.standing(), status.Commit, status.Traffic)
		}
		return nil
	})
}

// approve passes the gate of the step.
func (r *routed) approve() { r.run("", r.sluice, "approve", r.name, "--namespace", r.name) }

// jump goes to another step.
func (r *routed) jump(step int32) {
	r.Helper()
	patch := fmt.Sprintf(`{"status":{"nextStepIndex":%d}}`, step)
	r.run("", "kubectl", "patch", "batchrelease", r.name, "--namespace", r.name, "--type=merge", "--subresource=status", "--patch", patch)
}

// gives waits until the route gives the new version a percentage, and returns when that was seen.
func (r *routed) gives(weight int32) time.Time {
	r.Helper()
	r.await(fmt.Sprintf("the route gives it %d%%", weight), func() error {
		release, err := r.batchRelease()
		if err == nil && (release.Status.Traffic == nil || release.Status.Traffic.Weight != weight) {
			return fmt.Errorf("it gives %+v", release.Status.Traffic)
		}
		return err
	})
	return time.Now()
}

// scale has the HPA scale the service.
func (r *routed) scale(pods int32) {
	r.Helper()
	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: r.name, Namespace: r.name}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"minReplicas":%d,"maxReplicas":%[1]d}}`, pods))
	if err := r.Patch(r.Context(), hpa, patch); err != nil {
		r.Fatalf("write HPA: %v", err)
	}
	r.size = int(pods)
}

// has waits until a version has so many pods that are ready.
func (r *routed) has(version string, pods int) {
	r.Helper()
	r.await(fmt.Sprintf("%s has %d pods", version, pods), func() error {
		have, err := r.running(version)
		if err == nil && have != pods {
			return fmt.Errorf("it has %d: %s", have, r.standing())
		}
		return err
	})
}

// ends waits until a version serves alone, and nothing is left of its release: the route is as it
// was, and so are the Services.
func (r *routed) ends(version string) {
	r.Helper()
	r.await(version+" serves", r.serves(version))
	r.await("nothing is left", func() error {
		now := &gatewayv1.HTTPRoute{}
		if err := r.Get(r.Context(), client.ObjectKeyFromObject(r.route), now); err != nil {
			return err
		}
		if diff := cmp.Diff(r.route.Spec, now.Spec); diff != "" || len(now.Annotations) > 0 {
			return fmt.Errorf("want the route as it was, it has the annotations %v and -want +got:\n%s", now.Annotations, diff)
		}
		services, err := r.core.CoreV1().Services(r.name).List(r.Context(), metav1.ListOptions{})
		if err == nil && len(services.Items) != 1 {
			return fmt.Errorf("%d Services are left", len(services.Items))
		}
		return err
	})
}

// wantShare counts requests while a step stands, and wants the version to answer that percentage of
// them: within a point, and exactly if it is to be none, or all.
func (r *routed) wantShare(version string, want float64) {
	r.Helper()
	exactly := want == 0 || want == 100
	if exactly {
		r.follows(version, want == 0)
	}
	got := r.answered(r.load, stand)
	share := got.Share(version)
	r.proof.share(want, share)
	r.Logf("%s has answered %.2f%% of %d requests, wanted %.0f%%", version, share, got.Sent, want)
	if off := math.Abs(share - want); off > point || exactly && off > 0 {
		r.Errorf("%s has answered %.2f%%, want %.0f%% within %.0f: %v", version, share, want, point, got.Versions)
	}
}

// follows returns once the Gateway, which may be late by a moment, sends no more requests to a
// version, or to all others.
func (r *routed) follows(version string, itself bool) {
	r.Helper()
	stood := time.Now()
	var last time.Time
	then := r.load.Counts()
	r.await("the Gateway follows", func() error {
		now := r.load.Counts()
		for other, at := range now.Last {
			if (other == version) == itself && at.After(last) {
				last, then = at, now
			}
		}
		if since := now.Sent - then.Sent; since < quiet {
			return fmt.Errorf("%d requests were answered since the last that went elsewhere, want %d", since, quiet)
		}
		return nil
	})
	if late := last.Sub(stood); late > slow {
		r.Errorf("a request has gone elsewhere %v after the step stood, want at most %v", late, slow)
	}
}

// quiet counts requests in a row that show that the Gateway follows: 200 ms of them, or more on a
// busy machine.
const quiet = 200

// wantNoneOf wants no request to have reached a version since then.
func (r *routed) wantNoneOf(version string, since clients.Counts) {
	r.Helper()
	if got := r.load.Counts().Since(since).Versions[version]; got > 0 {
		r.Errorf("%d requests have reached %s, whose weight was 0", got, version)
	}
}

// wantLeft wants a version to get no request from a moment on after its weight was seen to be 0.
func (r *routed) wantLeft(version string, weightless time.Time) {
	r.Helper()
	last := r.load.Counts().Last[version]
	r.Logf("%s has got its last request %v after its weight was seen to be 0", version, last.Sub(weightless).Round(time.Millisecond))
	if late := last.Sub(weightless); late > slow {
		r.Errorf("%s has got a request %v after its weight was seen to be 0, want at most %v", version, late, slow)
	}
}

// proof holds the measurements as a table.
type proof struct{ scenarios []scenario }

// A scenario holds the results of the requests in a part of the test.
type scenario struct {
	name         string
	sent, failed int
	shares       []string
}

// share notes the share of a version.
func (p *proof) share(want, got float64) {
	last := &p.scenarios[len(p.scenarios)-1]
	last.shares = append(last.shares, fmt.Sprintf("%g: %.2f", want, got))
}

// add notes what came of requests.
func (p *proof) add(c clients.Counts) {
	last := &p.scenarios[len(p.scenarios)-1]
	last.sent += c.Sent
	last.failed += c.Failed
}

// sent returns the number of requests.
func (p *proof) sent() (sent int) {
	for _, s := range p.scenarios {
		sent += s.sent
	}
	return sent
}

func (p *proof) String() string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "scenario\trequests\tfailed\tpercent for the new version, wanted: measured")
	all := scenario{name: "all"}
	for _, s := range p.scenarios {
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\n", s.name, s.sent, s.failed, strings.Join(s.shares, ", "))
		all.sent += s.sent
		all.failed += s.failed
	}
	fmt.Fprintf(table, "%s\t%d\t%d\t\n", all.name, all.sent, all.failed)
	_ = table.Flush() // to a string
	return text.String()
}
