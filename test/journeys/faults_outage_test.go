package journeys

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// deep has etcd and the API server stand still for a whole minute, and not only until leaders have
// lost their leases.
var deep = flag.Bool("deep", false, "stop the API server for a whole minute")

// outage is how etcd and the API server stop, and how they come back.
type outage struct {
	begin func(*controlplane.ControlPlane) error
	end   func(*testing.T, *controlplane.ControlPlane) error
}

var outages = map[string]outage{
	"Frozen": {
		(*controlplane.ControlPlane).Freeze,
		func(_ *testing.T, cp *controlplane.ControlPlane) error { return cp.Thaw() },
	},
	"Killed": {
		(*controlplane.ControlPlane).Crash,
		func(t *testing.T, cp *controlplane.ControlPlane) error { return cp.Restart(t.Context()) },
	},
}

// TestAPIServerIsAway: F08 and F31, etcd and the API server stop in the middle of releases, each
// with a write on its way, for longer than leaders keep their leases, so that the controllers end.
// When they are back, the next controllers bring each release to the same end as without.
func TestAPIServerIsAway(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	t.Parallel()
	cp := ownControlPlane(t)
	for name, o := range outages { // one after the other: it is the same control plane
		t.Run(name, func(t *testing.T) { o.strike(t, cp) })
	}
}

// ownControlPlane starts one that may be killed, with more arguments of kube-controller-manager.
func ownControlPlane(t *testing.T, manager ...string) *controlplane.ControlPlane {
	t.Helper()
	options, err := cptest.Options()
	if err != nil {
		t.Fatal(err)
	}
	options.ExtraArgs = map[string][]string{
		// Watches come from etcd, so that the journal misses nothing: an API server that was started
		// again has no events from before.
		"kube-apiserver": {"--watch-cache=false"},
		// This one elects no leader. One that does ends with its lease, and the next gives nodes
		// their whole time before it takes them for lost: they are heard before that.
		"kube-controller-manager": append(manager, "--node-monitor-grace-period=5m"),
	}
	return cptest.Own(t, options)
}

func (o outage) strike(t *testing.T, cp *controlplane.ControlPlane) {
	t.Helper()
	calm := releaseOn(t, cp, releaseWrites+afterTheEnd)
	calm.finish()
	calm.leader.kill()
	var struck []*interrupted
	for _, write := range []int64{2, 5, 9, 14} {
		struck = append(struck, releaseOn(t, cp, write))
	}
	for _, i := range struck {
		i.reach()
	}
	if err := o.begin(cp); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for _, i := range struck {
		i.leader.halt.goOn()
	}
	for _, i := range struck {
		i.leader.wantLost()
	}
	if *deep {
		<-time.After(time.Until(began.Add(time.Minute)))
	}
	t.Logf("the API server was away for %v", time.Since(began).Round(time.Second))
	if err := o.end(t, cp); err != nil {
		t.Fatal(err)
	}
	for _, i := range struck {
		i.leader = i.startController()
	}
	for _, i := range struck {
		i.finish()
		if diff := cmp.Diff(calm.ending, i.ending); diff != "" {
			t.Errorf("I7: the end of the release with %q on its way is another one (-want +got):\n%s", i.onItsWay, diff)
		}
	}
}

// interrupted is a release on a control plane that stops.
type interrupted struct {
	*world
	leader *controller
	// onItsWay is the write that is sent when the control plane has stopped.
	onItsWay string
	ending   ending
}

// newWorldOn returns a journey in a new namespace of a control plane of its own.
func newWorldOn(t *testing.T, cp *controlplane.ControlPlane, namespace string) *world {
	t.Helper()
	cfg, err := cp.Config()
	if err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w := worldOn(t, cp.Access, cfg, namespace)
	object := &corev1.Namespace{}
	object.Name = namespace
	if err := w.Create(t.Context(), object); err != nil {
		t.Fatalf("create namespace: %v", err)
	}
	cptest.Eventually(t, soon, func() error { return controlplane.ServiceAccountExists(t.Context(), clients, namespace) })
	return w
}

// releaseOn begins a release with a controller that halts before a write.
func releaseOn(t *testing.T, cp *controlplane.ControlPlane, write int64) *interrupted {
	t.Helper()
	w := newWorldOn(t, cp, fmt.Sprintf("write-%d-of-%d", write, time.Now().UnixNano()))
	w.electLeaders()
	w.deployed(sixPods())
	w.create(threeBatches())
	return &interrupted{world: w, leader: w.startControllerHalting(write)}
}

// reach waits until the controller is halted.
func (i *interrupted) reach() {
	i.Helper()
	i.awaitConfirming(i.leader.halt.reached)
	i.onItsWay = i.leader.halt.at()
}

// finish brings the release to its end.
func (i *interrupted) finish() {
	i.Helper()
	i.awaitConfirming(all(web.completed, web.serves("web:2", 6)))
	i.leader.rest()
	i.ending = endingOf(i.now())
}
