package rollout

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/daemonset"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// nodes are the places of a DaemonSet's pods.
type nodes struct {
	places

	d *daemonset.Object
}

var _ parts = nodes{}

func (p nodes) observe(ctx context.Context, r *kindShell, v *view) error {
	if err := r.pods.observePods(ctx, v); err != nil {
		return err
	}
	p.seePlaces(v, r.clock.Now())
	return errors.Join(r.pods.findLost(ctx, v), p.learnName(ctx, r, v))
}

func (p nodes) read(ctx context.Context, r *kindShell, v *view) error {
	if err := p.places.read(ctx, r, v); err != nil {
		return err
	}
	p.seePlaces(v, r.clock.Now())
	return r.pods.findLost(ctx, v)
}

// seePlaces notes which nodes lack their pod, while the pods are known.
func (p nodes) seePlaces(v *view, now time.Time) {
	if !v.pods.listed {
		v.process.vacant = daemonset.Vacancies{}
		return
	}
	occupied := map[string]bool{}
	for _, pod := range v.pods.pods {
		if node := nodeOf(pod); node != "" {
			occupied[node] = true
		}
	}
	status := &p.d.Status
	v.process.vacant = v.process.vacant.See(occupied, status.DesiredNumberScheduled-status.CurrentNumberScheduled, now)
}

// size returns on how many nodes pods belong, less those that are lost: no batch waits for these.
// The status says so only after the sync in which the native controller makes the pod of a node
// that comes.
func (p nodes) size(v *view) int32 {
	occupied := map[string]bool{}
	for _, pod := range v.pods.pods {
		if node := nodeOf(pod); node != "" && active(pod) {
			occupied[node] = true
		}
	}
	belong := max(p.d.Size(), int32(len(occupied))-p.d.Status.NumberMisscheduled)
	return max(belong-(int32(len(v.pods.lost))-p.lostMisscheduled(v)), 0)
}

// lostMisscheduled returns how many lost nodes no pod belongs on any more by the status. A node
// that is not ready is tainted (node.kubernetes.io/not-ready), and a DaemonSet's pods tolerate that
// only as far as they stay there: they are misscheduled then (D6). The status does not say which of
// its nodes are, so that a batch may wait for a lost one until its taint is seen; none is counted
// twice, or a release would be complete before its last pods.
func (p nodes) lostMisscheduled(v *view) int32 {
	return min(int32(len(v.pods.lost)), p.d.Status.NumberMisscheduled)
}

// named is the name that the native controller gave the version of a template. It is empty where
// the label of its ControllerRevision is that of another version too, as forged says.
type named struct {
	digest, revision string
	forged           *forgedLabel
	// labels hold the pods' labels at the time when that was found out.
	labels map[types.UID]string
}

// forgedLabel is a label of the ControllerRevision of a template that another version has.
type forgedLabel struct{ object, label string }

// smallHistory is how many ControllerRevisions are read at once: more than a DaemonSet has by
// default. Where there are more, maxHistory of its own are read one by one, from maxPages lists of
// pageSize names: anybody may make some that look like its own, and each may be large.
const (
	smallHistory = 15
	maxHistory   = 50
	maxPages     = 10
	pageSize     = 100
)

// learnName finds out which name the native controller gave the version of the template, since its
// status has none. While the DaemonSet is held, only the ControllerRevision has it: under another
// name no pod would ever count as updated, and all would be replaced again and again. At rest the
// name of the kept template suffices.
func (p nodes) learnName(ctx context.Context, r *kindShell, v *view) error {
	digest := digestOf(p.d.PodTemplate())
	if p.d.Seen() < p.d.Generation || !v.inProgress() && keptName(v.facts.Kept, digest) != "" {
		return nil
	}
	labels := map[types.UID]string{}
	for _, pod := range v.pods.pods {
		labels[pod.UID] = pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	}
	if known := &v.process.named; known.digest == digest && known.revision != "" && known.holds(labels) {
		return nil
	}
	v.process.named = named{}
	latest, err := p.find(ctx, r, v, digest)
	if err != nil || latest.label == "" {
		return err
	}
	v.process.named = named{digest: digest, revision: latest.label, labels: labels}
	forged, err := p.forged(ctx, r, v, latest)
	if err != nil || forged {
		v.process.named = named{digest: digest, forged: &forgedLabel{latest.object, latest.label}}
	}
	return err
}

// holds reports whether the name still is the one by which pods are labelled: no pod has another
// label than when it was found out, and none has come with another name. The native controller
// labels all of them again when it finds two ControllerRevisions of one template (dedupCurHistories
// in pkg/controller/daemon of Kubernetes), which may be the label of another version.
func (n *named) holds(labels map[types.UID]string) bool {
	if len(n.labels) == 0 { // no pods were known yet
		n.labels = labels
	}
	for uid, label := range labels {
		if was, known := n.labels[uid]; known && label != was || !known && label != n.revision {
			return false
		}
	}
	return true
}

// find returns the newest ControllerRevision of a template; its label, which is the name of the
// version, is empty if there is none.
func (p nodes) find(ctx context.Context, r *kindShell, v *view, digest string) (latest, error) {
	selector, err := r.selector(ctx, v)
	if err != nil {
		return latest{}, err
	}
	var all appsv1.ControllerRevisionList
	if err := r.live.List(ctx, &all, client.InNamespace(v.release.Namespace), selector, client.Limit(smallHistory)); err != nil {
		return latest{}, fmt.Errorf("list ControllerRevisions: %w", err)
	}
	found := latest{digest: digest, others: map[string]bool{}}
	if all.Continue == "" {
		for i := range all.Items {
			if ownedBy(&all.Items[i], p.d.UID) {
				found.see(&all.Items[i])
			}
		}
		return found, nil
	}
	names, err := p.historyNames(ctx, r, v, selector)
	if err != nil {
		return latest{}, err
	}
	for _, name := range names {
		revision, err := kube.Recorded(ctx, r.live, p.d, name)
		if err != nil {
			return latest{}, err
		}
		if revision != nil {
			found.see(revision)
		}
	}
	return found, nil
}

// latest is the newest of the ControllerRevisions of a template, which is the one that the native
// controller goes by.
type latest struct {
	digest, object, label string
	number                int64
	// others are the labels of those of other templates.
	others map[string]bool
}

func (l *latest) see(revision *appsv1.ControllerRevision) {
	label := revision.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	var decoded corev1.PodTemplateSpec
	template, err := podtemplate.OfHistory(revision.Data.Raw)
	if err != nil || json.Unmarshal(template, &decoded) != nil || digestOf(&decoded) != l.digest { // whatever else somebody has put there
		l.others[label] = true
		return
	}
	if l.label == "" || revision.Revision >= l.number {
		l.object, l.label, l.number = revision.Name, label, revision.Revision
	}
}

// forged reports whether another version has the label too, so that its pods would count as
// updated, or whether the label is not a valid name. If several in the cluster have it, the one
// with the native controller's name owns it. The kept template of a released version
// must not be deleted.
func (p nodes) forged(ctx context.Context, r *kindShell, v *view, found latest) (bool, error) {
	if found.others[found.label] && found.object != p.d.RevisionName(found.label) || len(validation.IsDNS1123Label(found.label)) > 0 {
		return true, nil
	}
	for _, kept := range v.facts.Kept {
		if kept.Revision != found.label || kept.Digest == found.digest {
			continue
		}
		raw, err := r.history.keptTemplate(ctx, v, kept.Name)
		if err != nil {
			return false, err
		}
		var template corev1.PodTemplateSpec
		if json.Unmarshal(raw, &template) == nil && digestOf(&template) != found.digest {
			return true, nil
		}
	}
	return false, nil
}

// historyNames returns the names of the DaemonSet's ControllerRevisions.
func (p nodes) historyNames(
	ctx context.Context, r *kindShell, v *view, selector client.MatchingLabelsSelector,
) ([]string, error) {
	var names []string
	list := keptList()
	for page := 0; page == 0 || page < maxPages && list.Continue != ""; page++ {
		next := client.Continue(list.Continue)
		list = keptList()
		if err := r.live.List(ctx, list, client.InNamespace(v.release.Namespace), selector, client.Limit(pageSize), next); err != nil {
			return nil, fmt.Errorf("list ControllerRevisions: %w", err)
		}
		for i := range list.Items {
			if ownedBy(&list.Items[i], p.d.UID) && len(names) < maxHistory {
				names = append(names, list.Items[i].Name)
			}
		}
	}
	return names, nil
}

// name returns what the native controller calls the version of the template; empty if that is not
// known.
func (p nodes) name(v *view, digest string) string {
	switch known := v.process.named; {
	case known.digest == digest:
		return known.revision
	case v.inProgress():
		return ""
	default:
		return keptName(v.facts.Kept, digest)
	}
}

// unnamed says why nobody can tell which pods are of the version that the template has; empty if it
// can, or the native controller has not seen that.
func (p nodes) unnamed(v *view) string {
	forged := v.process.named.forged
	switch {
	case p.d.Seen() < p.d.Generation || !v.inProgress() || p.name(v, digestOf(p.d.PodTemplate())) != "":
		return ""
	case forged != nil:
		return fmt.Sprintf("ControllerRevision %s has the template of the DaemonSet, and label %q, which is another version's or none: delete it, and "+
			"the native controller makes one of its own", forged.object, forged.label)
	default:
		return "no ControllerRevision of the DaemonSet has its template"
	}
}

func (p nodes) mover(v *view) mover.Mover {
	m := daemonset.From(p.d)
	m.Unnamed = p.unnamed(v)
	m.NameComes = m.Unnamed != "" && v.process.named.forged == nil
	m.Digest, m.Listed, m.Live = digestOf(p.d.PodTemplate()), v.pods.listed, v.pods.live
	m.Update, m.Replicas, m.Vacant = p.name(v, m.Digest), p.size(v), v.process.vacant.Nodes()
	m.Status.Misscheduled -= p.lostMisscheduled(v)
	for _, pod := range v.pods.pods {
		if nodeOf(pod) == "" { // nor does the native controller count it
			continue
		}
		placed := placed(pod, pod.Labels[appsv1.ControllerRevisionHashLabelKey], p.d.Spec.MinReadySeconds, v.now)
		placed.Lost = v.pods.lost[placed.Node]
		m.Pods = append(m.Pods, placed)
	}
	return m
}

func (p nodes) revision(v *view, digest string) string {
	return cmp.Or(p.name(v, digest), keptName(v.facts.Kept, digest), foretold(p.d))
}

func (p nodes) foretell(v *view, answer workload.Workload, _ json.RawMessage, digest string) string {
	if digest == digestOf(p.d.PodTemplate()) {
		return p.revision(v, digest)
	}
	return cmp.Or(keptName(v.facts.Kept, digest), answer.Foretell())
}

func (nodes) move(ctx context.Context, r *kindShell, v *view, write mover.Write) error {
	w, known := write.(inplace.Replace)
	if !known {
		return fmt.Errorf("write %T is not one to a DaemonSet", write)
	}
	return r.mover.replace(ctx, v, w)
}

func (p nodes) failing(ctx context.Context, r *kindShell, v *view) (string, error) {
	if why := p.unnamed(v); why != "" {
		return why, nil
	}
	revision := p.name(v, digestOf(p.d.PodTemplate()))
	return r.pods.failingPods(ctx, v, false, func(pod *corev1.Pod) bool {
		return pod.Labels[appsv1.ControllerRevisionHashLabelKey] == revision
	})
}
