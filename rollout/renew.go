package rollout

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// renewed are the digests of the present templates by the digest that an earlier version of Sluice gave them,
// where that differs.
func (v *view) renewed() map[string]string {
	renewed := map[string]string{}
	note := func(template *corev1.PodTemplateSpec) {
		if former, digest := formerDigest(template), digestOf(template); former != "" && former != digest {
			renewed[former] = digest
		}
	}
	if v.workload == nil {
		return renewed
	}
	note(v.workload.PodTemplate())
	for _, template := range v.parts().templates(v) {
		note(template)
	}
	return renewed
}

// renewDigests puts digests as they are computed now into what an earlier version has recorded: a release in
// progress goes on. A template that is gone is never compared with a present one by its digest alone.
func renewDigests(o *plan.Observation, renewed map[string]string) {
	if len(renewed) == 0 {
		return
	}
	renew := func(digest *string) {
		if now, found := renewed[*digest]; found {
			*digest = now
		}
	}
	o.Release, o.Kept = o.Release.DeepCopy(), slices.Clone(o.Kept)
	if resolved := o.Release.Status.Resolved; resolved != nil {
		renew(&resolved.Digest)
	}
	if queued := o.Release.Status.Queued; queued != nil {
		renew(&queued.Digest)
	}
	for i := range o.Kept {
		renew(&o.Kept[i].Digest)
	}
}

// formerDigest is what a record of an earlier version of Sluice calls a template; empty if it is stripped and that
// is no other name.
func formerDigest(template *corev1.PodTemplateSpec) string {
	if isStripped(template) {
		return template.Annotations[formerAnnotation]
	}
	digest, _ := podtemplate.Former(template)
	return digest
}
