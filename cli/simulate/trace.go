package simulate

import (
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/rollout/preflight"
)

// Trace is a list of events of a release: a file for people to write.
type Trace struct {
	// Start is when the new template is given. Default 2026-01-05T09:00:00Z, a Monday.
	Start *metav1.Time `json:"start,omitempty"`
	// Replicas is the size of the Deployment or StatefulSet; by default that of its manifest.
	Replicas *int32 `json:"replicas,omitempty"`
	// Nodes that a DaemonSet has a pod on. Default 10 without labels.
	Nodes []Nodes `json:"nodes,omitempty"`
	// ReadyAfter is how long a pod takes to be ready. Default 10s.
	ReadyAfter *metav1.Duration `json:"readyAfter,omitempty"`
	// ApproveAfter is how long people and CI take to let each step pass. Left out, only events do.
	ApproveAfter *metav1.Duration `json:"approveAfter,omitempty"`
	// Traffic lets gates that compare errors pass after the time that they take at such traffic.
	Traffic *Traffic `json:"traffic,omitempty"`
	// Until is when to stop looking. Default 24h.
	Until *metav1.Duration `json:"until,omitempty"`
	// Events in the order of their time.
	Events []Event `json:"events,omitempty"`
}

// Traffic is the requests to a workload.
type Traffic struct {
	// RequestsPerSecond to all pods, more than 0.
	RequestsPerSecond float64 `json:"requestsPerSecond"`
	// Errors is the percentage of them that fail in the old version, such as 1 or 0.05.
	Errors float64 `json:"errors"`
}

// Nodes are alike. They are called n01, n02 and so on.
type Nodes struct {
	Count  int32             `json:"count"`
	Labels map[string]string `json:"labels,omitempty"`
}

// Event is one thing that happens, or what is expected as the result of the others.
type Event struct {
	// At is how long after the start.
	At metav1.Duration `json:"at"`
	// Member names the member of a train that the event is about; by default all members, and the train
	// for what people ask for and expect.
	Member string `json:"member,omitempty"`
	// Scale sets spec.replicas, or lets nodes come and go until a DaemonSet is to have so many pods.
	Scale *int32 `json:"scale,omitempty"`
	// Approve passes the gates that wait for people or CI, Reject decides against one.
	Approve bool `json:"approve,omitempty"`
	Reject  bool `json:"reject,omitempty"`
	// Template gives another template, by any name; the release begins with v2, and v1 ran before.
	Template string `json:"template,omitempty"`
	// Rollback and Retry are requested.
	Rollback bool `json:"rollback,omitempty"`
	Retry    bool `json:"retry,omitempty"`
	// Suspend stops the release, or lets it go on.
	Suspend *bool `json:"suspend,omitempty"`
	// Crash is how many available pods of the newest template fail, Heal how many become available
	// again.
	Crash int32 `json:"crash,omitempty"`
	Heal  int32 `json:"heal,omitempty"`
	// Broken says that pods of this template never become ready from now on; empty that all do.
	Broken *string `json:"broken,omitempty"`
	// ReadyAfter is how long pods that are made from now on take.
	ReadyAfter *metav1.Duration `json:"readyAfter,omitempty"`
	// Expect is the expected situation after all events of this time.
	Expect *Expectation `json:"expect,omitempty"`
}

// Expectation describes a row of the timeline. A field that is left out may have any value.
type Expectation struct {
	Phase     *string `json:"phase,omitempty"`
	Batch     *string `json:"batch,omitempty"`
	State     *string `json:"state,omitempty"`
	Old       *int32  `json:"old,omitempty"`
	New       *int32  `json:"new,omitempty"`
	Available *int32  `json:"available,omitempty"`
	Requests  *string `json:"requests,omitempty"`
}

// The defaults of a trace.
const (
	defaultReadyAfter = 10 * time.Second
	defaultUntil      = 24 * time.Hour
	defaultReplicas   = 1
	defaultNodes      = 10
)

const wholePercent = 100

// MaxPods is how many pods, or nodes, are simulated at most.
const MaxPods = 10_000

var defaultStart = time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC)

// Parse reads a trace strictly.
func Parse(data []byte) (*Trace, error) {
	trace := &Trace{}
	if err := yaml.UnmarshalStrict(data, trace); err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	if err := trace.validate(); err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	return trace, nil
}

func (t *Trace) validate() error {
	problems := []error{
		positive("readyAfter", t.ReadyAfter), positive("approveAfter", t.ApproveAfter), positive("until", t.Until), countable("replicas", t.Replicas),
	}
	if of := t.Traffic; of != nil && !(of.RequestsPerSecond > 0 && of.Errors >= 0 && of.Errors <= wholePercent) {
		problems = append(problems, errors.New("traffic: requestsPerSecond must be more than 0, and errors a percentage from 0 to 100"))
	}
	for i := range t.Nodes {
		problems = append(problems, countable(fmt.Sprintf("nodes[%d].count", i), &t.Nodes[i].Count))
	}
	problems = append(problems, countable("nodes", new(t.nodes())))
	for i := range t.Events {
		event := &t.Events[i]
		at := fmt.Sprintf("events[%d]", i)
		problems = append(problems, positive(at+".at", &event.At), positive(at+".readyAfter", event.ReadyAfter), countable(at+".scale", event.Scale),
			countable(at+".crash", &event.Crash), countable(at+".heal", &event.Heal))
		if i > 0 && event.At.Duration < t.Events[i-1].At.Duration {
			problems = append(problems, fmt.Errorf("%s.at: %s is before the event above it", at, event.At.Duration))
		}
		if event.Expect != nil && *event != (Event{At: event.At, Member: event.Member, Expect: event.Expect}) {
			problems = append(problems, fmt.Errorf("%s.expect: must be an event of its own, after those that it is about", at))
		}
		if *event == (Event{At: event.At, Member: event.Member}) {
			problems = append(problems, fmt.Errorf("%s: says nothing that happens", at))
		}
	}
	return errors.Join(slices.DeleteFunc(problems, func(err error) bool { return err == nil })...)
}

func positive(field string, d *metav1.Duration) error {
	if d != nil && d.Duration < 0 {
		return fmt.Errorf("%s: must not be negative", field)
	}
	return nil
}

func countable(field string, n *int32) error {
	if n != nil && (*n < 0 || *n > MaxPods) {
		return fmt.Errorf("%s: must be from 0 to %d", field, MaxPods)
	}
	return nil
}

// nodes returns how many it tells of.
func (t *Trace) nodes() int32 {
	sum := int32(0)
	for i := range t.Nodes {
		sum = min(sum+min(t.Nodes[i].Count, MaxPods+1), MaxPods+1)
	}
	return sum
}

// labels returns those of each node.
func (t *Trace) labels() []map[string]string {
	var all []map[string]string
	for i := range t.Nodes {
		all = append(all, slices.Repeat([]map[string]string{t.Nodes[i].Labels}, int(t.Nodes[i].Count))...)
	}
	return all
}

func (t *Trace) hasLabel(key string) bool {
	return slices.ContainsFunc(t.Nodes, func(n Nodes) bool { return n.Labels[key] != "" })
}

// fits reports what the trace says that means nothing for a kind of workload, or that it is none.
func (t *Trace) fits(kind string) error {
	switch onNodes := preflight.FollowsNodes(kind); {
	case kinds.Named(kind) == nil:
		return fmt.Errorf("a %s can't be released", kind)
	case onNodes && t.Replicas != nil:
		return fmt.Errorf("replicas: a %s has a pod on each node; use nodes", kind)
	case !onNodes && len(t.Nodes) > 0:
		return fmt.Errorf("nodes: they are for %s, and a %s has no pods by node; use replicas", kinds.OnNodes(), kind)
	}
	return nil
}

func (t *Trace) start() time.Time {
	if t.Start == nil {
		return defaultStart
	}
	return t.Start.UTC()
}

func orElse(d *metav1.Duration, otherwise time.Duration) time.Duration {
	if d == nil {
		return otherwise
	}
	return d.Duration
}
