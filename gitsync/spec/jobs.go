package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
)

// jobVersion is the apiVersion of Jobs whose spec gates can run.
const jobVersion = "batch/v1"

// parseJob returns a Job with its template; nil if it has no name. Its faults are errors only for a
// release whose gate names it: others apply the other Jobs.
func parseJob(data []byte) *manifest {
	var job struct {
		header `json:",inline"`
		Spec   json.RawMessage `json:"spec"`
	}
	var metadata struct {
		Metadata struct {
			Labels      map[string]string `json:"labels,omitempty"`
			Annotations map[string]string `json:"annotations,omitempty"`
		} `json:"metadata"`
	}
	if json.Unmarshal(data, &job) != nil || json.Unmarshal(data, &metadata) != nil || job.Metadata.Name == "" || job.Spec == nil {
		return nil
	}
	template, err := json.Marshal(map[string]any{"metadata": metadata.Metadata, "spec": job.Spec})
	if err != nil {
		return nil
	}
	m := &manifest{kind: jobKind, namespace: job.Metadata.Namespace, name: job.Metadata.Name, object: data, template: template}
	for _, problem := range gate.ValidateJobTemplate(template, nil) {
		m.faults = append(m.faults, pathProblem{problem.Field, problem.Error()})
	}
	return m
}

// jobGate is a job gate of a release whose template is to be found.
type jobGate struct{ path, name string }

// jobGatesOf returns the job gates of a release that have no template of their own.
func jobGatesOf(spec *v1alpha1.BatchReleaseSpec) []jobGate {
	var found []jobGate
	eachGate(spec, func(at *field.Path, policy *v1alpha1.GatePolicy) {
		if policy.Job != nil && policy.Job.Template == nil {
			found = append(found, jobGate{at.Child("job").String(), policy.Job.Name})
		}
	})
	return found
}

// findJobs returns the templates of the Jobs that the gates of a release name, and reports what is
// wrong where there is none, or more than one.
func (p *pass) findJobs(l located, namespace string, all map[objectKey][]located) (templates map[string]json.RawMessage, ok bool) {
	templates = map[string]json.RawMessage{}
	before := len(p.errors) + p.dropped
	if len(l.jobs) > 0 && p.jobBytes > maxJobBytes {
		p.fail(l.file, l.stepsAt, fmt.Sprintf("the Jobs of all gates have %d bytes together, and a source takes %d: use smaller Jobs, or fewer job gates", p.jobBytes, maxJobBytes))
		return nil, false
	}
	fail := func(at jobGate, message string) { p.failField(l, at.path, message) }
	for _, named := range l.jobs {
		jobs := all[objectKey{namespace, named.name}]
		switch key := fmt.Sprintf("Job %s/%s", namespace, named.name); {
		case len(jobs) == 0:
			fail(named, fmt.Sprintf("template is missing, and %s (%s), whose spec it would be, is not in %s", key, jobVersion, p.whereRead("")))
		case len(jobs) > 1:
			fail(named, fmt.Sprintf("%s is in %s and in %s", key, place(jobs[0].file, jobs[0].at.line), place(jobs[1].file, jobs[1].at.line)))
		case jobs[0].faults != nil && templates[named.name] == nil:
			for _, fault := range jobs[0].faults {
				p.fail(jobs[0].file, p.find(Place{jobs[0].file, jobs[0].at.line}, fault.path),
					fmt.Sprintf("%s runs for a gate of BatchRelease %s: %s", key, l.name, fault.message))
			}
			templates[named.name] = jobs[0].template
		case templates[named.name] == nil:
			templates[named.name] = jobs[0].template
			p.checkJobVariables(jobs[0])
		}
	}
	return templates, len(p.errors)+p.dropped == before
}

// maxJobBytes limits the Jobs that the gates of all releases get, in bytes: a gate names one in a
// few.
const maxJobBytes = 64 << 20

// weighJobs adds up the Jobs that the gates of all releases get.
func (p *pass) weighJobs(releases, jobs map[objectKey][]located) {
	for key, ls := range releases {
		for _, named := range ls[0].jobs {
			if found := jobs[objectKey{key.namespace, named.name}]; len(found) == 1 {
				p.jobBytes += len(found[0].template)
			}
		}
	}
}

// checkJobVariables refuses a Job with variables that only Flux could substitute.
func (p *pass) checkJobVariables(job located) {
	for _, problem := range variablesIn(decode(job.template), nil) {
		p.fail(job.file, p.find(Place{job.file, job.at.line}, problem.path), problem.message)
	}
}

// setJobTemplates puts templates into the job gates of the steps at a path of an object that have
// none.
func setJobTemplates(spec map[string]any, of string, templates map[string]json.RawMessage) {
	parent, _ := spec[of].(map[string]any)
	steps, _ := parent["steps"].([]any)
	for _, step := range steps {
		fields, _ := step.(map[string]any)
		gates, _ := fields["gates"].([]any)
		for _, policy := range gates {
			types, _ := policy.(map[string]any)
			job, _ := types["job"].(map[string]any)
			if name, _ := job["name"].(string); job != nil && job["template"] == nil && templates[name] != nil {
				job["template"] = toMap(templates[name])
			}
		}
	}
}

// Jobs returns the Jobs that the gates of the release run, as they are created, without what only a
// gate gives them.
func (r *Release) Jobs() []*unstructured.Unstructured {
	var release v1alpha1.BatchRelease
	text, err := json.Marshal(r.Object())
	if err != nil || json.Unmarshal(text, &release) != nil {
		return nil
	}
	var jobs []*unstructured.Unstructured
	for _, rollback := range []bool{false, true} {
		for step, at := range release.Spec.Steps(rollback) {
			for _, policy := range at.Gates {
				if policy.Job == nil {
					continue
				}
				g := &v1alpha1.Gate{Spec: v1alpha1.GateSpec{
					ReleaseRef: v1alpha1.ReleaseReference{Name: r.Name}, Step: int32(step), Type: v1alpha1.GateJob, Policy: policy,
				}}
				g.Namespace = r.Namespace
				job := gate.JobOf(g)
				job.SetOwnerReferences(nil)
				jobs = append(jobs, job)
			}
		}
	}
	return jobs
}

// digestOfJobs tells sets of templates apart.
func digestOfJobs(templates map[string]json.RawMessage) string {
	var all []byte
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		all = fmt.Appendf(all, "%s %d %s", name, len(templates[name]), templates[name])
	}
	return digest(all)
}
