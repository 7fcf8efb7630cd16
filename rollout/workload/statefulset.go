package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// StatefulSet is held with a partition that no ordinal reaches: its controller then scales, and
// makes pods of the version before. OnDelete would not hold it: every pod that is made again, or
// scaled up to, would be a new one.
type StatefulSet struct{ *appsv1.StatefulSet }

var _ Workload = &StatefulSet{}

// Object implements Workload.
func (s *StatefulSet) Object() client.Object { return s.StatefulSet }

// Kind implements Workload.
func (*StatefulSet) Kind() string { return kindStatefulSet }

// PodTemplate implements Workload.
func (s *StatefulSet) PodTemplate() *corev1.PodTemplateSpec { return &s.Spec.Template }

// Size implements Workload.
func (s *StatefulSet) Size() int32 { return ptr.Deref(s.Spec.Replicas, 1) }

// Seen implements Workload.
func (s *StatefulSet) Seen() int64 { return s.Status.ObservedGeneration }

// PodSelector implements Workload.
func (s *StatefulSet) PodSelector() *metav1.LabelSelector { return s.Spec.Selector }

// Deadline implements Workload: the kind has none.
func (*StatefulSet) Deadline() *int32 { return nil }

// Foretell implements Workload: it is the hash of the ControllerRevision.
func (s *StatefulSet) Foretell() string {
	return podtemplate.RevisionHash(&s.Spec.Template, ptr.Deref(s.Status.CollisionCount, 0))
}

// Revision returns the hash in the name of a ControllerRevision, which is also the label of its
// pods. For a name that the native controller would not give it is one of ours: anyone who may make
// ControllerRevisions may give one the hash of another as its name.
func (s *StatefulSet) Revision(name string) string {
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

// RevisionName returns the name of the ControllerRevision of a revision.
func (s *StatefulSet) RevisionName(revision string) string {
	for _, name := range []string{s.Status.UpdateRevision, s.Status.CurrentRevision} {
		if name != "" && s.Revision(name) == revision {
			return name
		}
	}
	return s.revisionPrefix() + revision
}

func (s *StatefulSet) revisionPrefix() string {
	return s.Name[:min(len(s.Name), maxRevisionPrefix)] + "-"
}

// maxRevisionPrefix is how much of a StatefulSet's name the name of a ControllerRevision has
// (ControllerRevisionName in pkg/controller/history of Kubernetes).
const maxRevisionPrefix = 223

// Own implements Workload.
func (s *StatefulSet) Own() v1alpha1.HeldWorkload {
	return v1alpha1.HeldWorkload{Strategy: encode(s.Spec.UpdateStrategy)}
}

// Limits implements Workload.
func (*StatefulSet) Limits(strategy string) (surge, unavailable *intstr.IntOrString) {
	rolling := statefulSetStrategy(strategy).RollingUpdate
	if rolling == nil {
		return nil, nil
	}
	return nil, rolling.MaxUnavailable
}

// Rolling reports whether the update strategy is RollingUpdate, with which partition.
func (s *StatefulSet) Rolling() (partition int32, rolling bool) {
	strategy := s.Spec.UpdateStrategy
	if strategy.Type != appsv1.RollingUpdateStatefulSetStrategyType {
		return 0, false
	}
	if strategy.RollingUpdate == nil {
		return 0, true
	}
	return ptr.Deref(strategy.RollingUpdate.Partition, 0), true
}

// Secure implements Workload.
func (*StatefulSet) Secure(patch *kube.JSONPatch) { SetPartition(patch, inplace.Held, 0) }

// SetPartition adds a partition to a patch of a StatefulSet that is held, with maxUnavailable if it
// is not 0; the strategy OnDelete for inplace.Anywhere.
func SetPartition(patch *kube.JSONPatch, partition, unavailable int32) *kube.JSONPatch {
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

// GiveBack implements Workload.
func (*StatefulSet) GiveBack(patch *kube.JSONPatch, held v1alpha1.HeldWorkload) {
	patch.Set("/spec/updateStrategy", statefulSetStrategy(held.Strategy))
}

// Insecure implements Workload.
func (s *StatefulSet) Insecure() []string {
	switch partition, rolling := s.Rolling(); {
	case !rolling:
		return []string{"spec.updateStrategy.type"}
	case partition != inplace.Held:
		return []string{"spec.updateStrategy.rollingUpdate.partition"}
	default:
		return nil
	}
}

// Kept implements Workload.
func (s *StatefulSet) Kept(held v1alpha1.HeldWorkload) []string {
	own := statefulSetStrategy(held.Strategy)
	partition, rolling := s.Rolling()
	wanted, wantsRolling := (&StatefulSet{&appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{UpdateStrategy: own}}}).Rolling()
	switch {
	case rolling != wantsRolling:
		return []string{"spec.updateStrategy.type"}
	case partition != wanted:
		return []string{"spec.updateStrategy.rollingUpdate.partition"}
	default:
		return nil
	}
}

// Describe implements Workload.
func (s *StatefulSet) Describe(held v1alpha1.HeldWorkload) string {
	own := statefulSetStrategy(held.Strategy)
	if rolling := own.RollingUpdate; rolling != nil && ptr.Deref(rolling.Partition, 0) > 0 {
		return fmt.Sprintf("update strategy %s with partition %d", own.Type, *rolling.Partition)
	}
	return fmt.Sprintf("update strategy %s", own.Type)
}

// statefulSetStrategy reads what Own wrote. What somebody else wrote there, and can't be read, or
// no API server takes, is the default strategy.
func statefulSetStrategy(text string) appsv1.StatefulSetUpdateStrategy {
	var strategy appsv1.StatefulSetUpdateStrategy
	if err := json.Unmarshal([]byte(text), &strategy); err != nil || !takesStatefulSet(strategy) {
		return appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType}
	}
	return strategy
}
