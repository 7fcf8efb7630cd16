package statefulset

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/jsonpatch"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
	"github.com/sluice-dev/sluice/rollout/mover/strategy"
)

// Object is a StatefulSet. It is held with a partition that no ordinal reaches: its controller then
// scales, and makes pods of the version before. OnDelete would not hold it: every pod that is made
// again, or scaled up to, would be a new one.
type Object struct{ *appsv1.StatefulSet }

// Object implements workload.Workload.
func (s *Object) Object() kinds.Object { return s.StatefulSet }

// Kind implements workload.Workload.
func (*Object) Kind() string { return kinds.StatefulSet }

// PodTemplate implements workload.Workload.
func (s *Object) PodTemplate() *corev1.PodTemplateSpec { return &s.Spec.Template }

// Size implements workload.Workload.
func (s *Object) Size() int32 { return ptr.Deref(s.Spec.Replicas, 1) }

// Seen implements workload.Workload.
func (s *Object) Seen() int64 { return s.Status.ObservedGeneration }

// PodSelector implements workload.Workload.
func (s *Object) PodSelector() *metav1.LabelSelector { return s.Spec.Selector }

// Deadline implements workload.Workload: the kind has none.
func (*Object) Deadline() *int32 { return nil }

// Foretell implements workload.Workload: it is the hash of the ControllerRevision.
func (s *Object) Foretell() string {
	return podtemplate.RevisionHash(&s.Spec.Template, ptr.Deref(s.Status.CollisionCount, 0))
}

// Revision returns the hash in the name of a ControllerRevision, which is also the label of its
// pods. For a name that the native controller would not give it is one of ours: anyone who may make
// ControllerRevisions may give one the hash of another as its name.
func (s *Object) Revision(name string) string {
	hash, found := strings.CutPrefix(name, s.revisionPrefix())
	if name == "" || found && isHash(hash) {
		return hash
	}
	sum := sha256.Sum256([]byte(name))
	return "other-" + hex.EncodeToString(sum[:8])
}

// isHash reports whether a text may be a hash of the native controller: it has no dash.
func isHash(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
}

// RevisionName implements workload.Workload.
func (s *Object) RevisionName(revision string) string {
	for _, name := range []string{s.Status.UpdateRevision, s.Status.CurrentRevision} {
		if name != "" && s.Revision(name) == revision {
			return name
		}
	}
	return s.revisionPrefix() + revision
}

func (s *Object) revisionPrefix() string {
	return s.Name[:min(len(s.Name), maxRevisionPrefix)] + "-"
}

// maxRevisionPrefix limits the part of a StatefulSet's name in the name of a ControllerRevision
// (ControllerRevisionName in pkg/controller/history of Kubernetes).
const maxRevisionPrefix = 223

// Own implements workload.Workload.
func (s *Object) Own() v1alpha1.HeldWorkload {
	return v1alpha1.HeldWorkload{Strategy: cmp.Or(strategy.Noted(s), strategy.Encode(s.Spec.UpdateStrategy))}
}

// Limits implements workload.Workload.
func (*Object) Limits(own string) (surge, unavailable *intstr.IntOrString) {
	rolling := strategyOf(own).RollingUpdate
	if rolling == nil {
		return nil, nil
	}
	return nil, rolling.MaxUnavailable
}

// Rolling reports whether the update strategy is RollingUpdate, with which partition.
func (s *Object) Rolling() (partition int32, rolling bool) {
	own := s.Spec.UpdateStrategy
	if own.Type != appsv1.RollingUpdateStatefulSetStrategyType {
		return 0, false
	}
	if own.RollingUpdate == nil {
		return 0, true
	}
	return ptr.Deref(own.RollingUpdate.Partition, 0), true
}

// Secure implements workload.Workload.
func (*Object) Secure(patch *jsonpatch.Patch) { SetPartition(patch, inplace.Held, 0) }

// SetPartition adds a partition to a patch of a StatefulSet that is held, with maxUnavailable if it
// is not 0; the strategy OnDelete for inplace.Anywhere.
func SetPartition(patch *jsonpatch.Patch, partition, unavailable int32) *jsonpatch.Patch {
	if partition == inplace.Anywhere {
		return patch.Set("/spec/updateStrategy", appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType})
	}
	rolling := &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}
	if unavailable != 0 {
		rolling.MaxUnavailable = new(intstr.FromInt32(unavailable))
	}
	return patch.Set("/spec/updateStrategy", appsv1.StatefulSetUpdateStrategy{
		Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: rolling,
	})
}

// GiveBack implements workload.Workload.
func (*Object) GiveBack(patch *jsonpatch.Patch, held v1alpha1.HeldWorkload) {
	patch.Set("/spec/updateStrategy", strategyOf(held.Strategy))
}

// RollbackTo implements workload.Workload.
func (*Object) RollbackTo() string { return "" }

// Trim implements workload.Workload.
func (s *Object) Trim() { s.Spec.VolumeClaimTemplates = nil }

// Mover implements workload.Workload.
func (s *Object) Mover(window string) mover.Mover { return From(s, window) }

// From returns a StatefulSet as its mover sees it, without its pods and the digest of its template.
func From(s *Object, window string) Mover {
	partition, rolling := s.Rolling()
	status := &s.Status
	return Mover{
		RollingUpdate: rolling, Partition: partition, AtOnce: atOnce(s), Window: partitionOf(window),
		OrderedReady: s.Ordered(), Current: s.Revision(status.CurrentRevision),
		Workload: inplace.Workload{
			Strategy: s.Own().Strategy, Observed: s.Observed(), Replicas: s.Size(),
			Update: s.Revision(status.UpdateRevision), Status: inplace.Status{
				Current: status.Replicas, Ready: status.ReadyReplicas, Available: status.AvailableReplicas, Updated: status.UpdatedReplicas,
			},
		},
	}
}

// Ordered reports whether the native controller waits for each pod before it makes the next.
func (s *Object) Ordered() bool { return s.Spec.PodManagementPolicy != appsv1.ParallelPodManagement }

// FirstOrdinal returns the ordinal of the first pod.
func (s *Object) FirstOrdinal() int32 {
	if s.Spec.Ordinals == nil {
		return 0
	}
	return s.Spec.Ordinals.Start
}

// Observed reports whether the native controller has seen the template, and named its revision.
func (s *Object) Observed() bool { return s.Seen() >= s.Generation && s.Status.UpdateRevision != "" }

// atOnce returns maxUnavailable that Sluice wrote: a number.
func atOnce(s *Object) int32 {
	if rolling := s.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.MaxUnavailable != nil {
		return rolling.MaxUnavailable.IntVal
	}
	return 0
}

// Window returns a partition as the hold notes it: empty at rest.
func Window(partition int32) string {
	if partition == inplace.Held {
		return ""
	}
	return strconv.FormatInt(int64(partition), 10)
}

// partitionOf returns the partition of a window that the hold notes; inplace.Held for one that
// can't be read.
func partitionOf(window string) int32 {
	partition, err := strconv.ParseInt(window, 10, 32)
	if err != nil || partition < inplace.Anywhere {
		return inplace.Held
	}
	return int32(partition)
}

// Insecure implements workload.Workload.
func (s *Object) Insecure() []string {
	switch partition, rolling := s.Rolling(); {
	case !rolling:
		return []string{"spec.updateStrategy.type"}
	case partition != inplace.Held:
		return []string{"spec.updateStrategy.rollingUpdate.partition"}
	default:
		return nil
	}
}

// Kept implements workload.Workload.
func (s *Object) Kept(held v1alpha1.HeldWorkload) []string {
	own := strategyOf(held.Strategy)
	partition, rolling := s.Rolling()
	wanted, wantsRolling := (&Object{&appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{UpdateStrategy: own}}}).Rolling()
	switch {
	case rolling != wantsRolling:
		return []string{"spec.updateStrategy.type"}
	case partition != wanted:
		return []string{"spec.updateStrategy.rollingUpdate.partition"}
	default:
		return nil
	}
}

// Describe implements workload.Workload.
func (s *Object) Describe(held v1alpha1.HeldWorkload) string {
	own := strategyOf(held.Strategy)
	if rolling := own.RollingUpdate; rolling != nil && ptr.Deref(rolling.Partition, 0) > 0 {
		return fmt.Sprintf("update strategy %s with partition %d", own.Type, *rolling.Partition)
	}
	return fmt.Sprintf("update strategy %s", own.Type)
}

// strategyOf returns the strategy that Own wrote.
func strategyOf(text string) appsv1.StatefulSetUpdateStrategy {
	return strategy.Decode(text, takes, appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType})
}

// takes reports whether the API server takes a strategy, by ValidateStatefulSetSpec.
func takes(own appsv1.StatefulSetUpdateStrategy) bool {
	rolling := own.RollingUpdate
	switch own.Type {
	case appsv1.OnDeleteStatefulSetStrategyType:
		return rolling == nil
	case appsv1.RollingUpdateStatefulSetStrategyType:
		return rolling == nil || ptr.Deref(rolling.Partition, 0) >= 0 &&
			strategy.IsShare(rolling.MaxUnavailable) && !strategy.IsNone(rolling.MaxUnavailable)
	default:
		return false
	}
}
