package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Release is a BatchRelease as the repository asks for it. It does not change; the
// same pointer from two Reads means that nothing about it changed.
type Release struct {
	Namespace, Name string
	// File and Line where it stands.
	File string
	Line int
	// TemplateFile is the file that its template stands in, if that is another. Where a kustomization
	// built the template, Kustomization is the file of that, and no file has the template as it is.
	TemplateFile  string
	Kustomization string
	// WorkloadKind and Workload are kind and name of its workload, in the same namespace.
	WorkloadKind string
	Workload     string
	// TemplateDigest is podtemplate.Given of its template.
	TemplateDigest string
	// Train is the name of the train that it is a member of; empty if of none.
	Train string
	// Overridden are the fields that it has in Git, and that its train decides.
	Overridden []string
	// Members are the templates of a train's members; nil of another release.
	Members []v1alpha1.MemberTemplate
	// Copies are the ConfigMaps and Secrets that its template names, and that are made before it.
	Copies []*Copy
	// Unused lists the copies that its template does not name.
	Unused []*Copy
	// Generated names the ConfigMaps and Secrets in its template that its kustomization generates.
	// Only the tool that applies that kustomization makes them: Sluice does not.
	Generated []string
	// Digest tells apart all that is written to the cluster: spec, labels, annotations, files.
	Digest string

	object   json.RawMessage
	template json.RawMessage
	workload *manifest
	// jobs are the templates of Jobs for gates that have none, by name.
	jobs map[string]json.RawMessage
	// literal are references of the template to copies by their names.
	literal []pathProblem
	// workloadPlace is the place of the workload, templatePlace the place of the object with its
	// template.
	workloadPlace, templatePlace Place
}

// WorkloadRef returns spec.workloadRef; none for a train.
func (r *Release) WorkloadRef() v1alpha1.WorkloadReference {
	if r.IsTrain() {
		return v1alpha1.WorkloadReference{}
	}
	return v1alpha1.WorkloadReference{APIVersion: workloadVersion, Kind: r.WorkloadKind, Name: r.Workload}
}

// IsTrain reports whether the release is a train.
func (r *Release) IsTrain() bool { return r.Members != nil }

// WorkloadRefused says why a release is not applied whose workload is another one than before.
func WorkloadRefused(given, was v1alpha1.WorkloadReference) string {
	return fmt.Sprintf("spec.workloadRef can't be changed from %s %s to %s %s: change it back, or give the release another metadata.name, "+
		"which makes it a new release of a new workload", was.Kind, was.Name, given.Kind, given.Name)
}

// WorkloadPlace returns where the release's workload stands; no file if the repository does not
// have it.
func (r *Release) WorkloadPlace() Place { return r.workloadPlace }

// ClaimsPlace returns where the volume claim templates of the release's workload stand, or the
// workload if it has none.
func (r *Release) ClaimsPlace() Place {
	if r.workload == nil || r.workload.claims.line == 0 {
		return r.workloadPlace
	}
	return Place{r.workloadPlace.File, r.workload.claims.line}
}

// TemplatePlace returns where the object stands, the release or its workload, whose spec.template
// is released.
func (r *Release) TemplatePlace() Place { return r.templatePlace }

// Object returns the BatchRelease to apply, with its template in place. The caller
// may change it.
func (r *Release) Object() *unstructured.Unstructured {
	given := toMap(r.object)
	metadata := map[string]any{"namespace": r.Namespace, "name": r.Name}
	for _, key := range []string{"labels", "annotations"} {
		if values, found, _ := unstructured.NestedMap(given, "metadata", key); found && len(values) > 0 {
			metadata[key] = values
		}
	}
	spec, _, _ := unstructured.NestedMap(given, "spec") // it was checked to be an object
	if delete(spec, "config"); len(r.Copies) > 0 {
		spec["config"] = references(r.Copies)
	}
	switch {
	case r.IsTrain():
		spec["memberTemplates"] = memberTemplates(r.Members)
	default:
		spec["template"] = toMap(r.template)
	}
	setJobTemplates(spec, "strategy", r.jobs)
	setJobTemplates(spec, "rollback", r.jobs)
	if r.Train != "" {
		spec["train"] = r.Train
		labels, _ := metadata["labels"].(map[string]any)
		labels = maps.Clone(labels)
		if labels == nil {
			labels = map[string]any{}
		}
		labels[v1alpha1.TrainLabel] = r.Train
		metadata["labels"] = labels
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(),
		"kind":       string(releaseKind),
		"metadata":   metadata,
		"spec":       spec,
	}}
}

// Template returns the template that is released; nil for a train.
func (r *Release) Template() json.RawMessage { return r.template }

// HasWorkload reports whether the repository has the release's workload.
func (r *Release) HasWorkload() bool { return r.workload != nil }

// WorkloadObject returns the workload to create where there is none, with the
// release's template, so that there is nothing to release; nil if the repository
// does not have it. The caller may change it.
func (r *Release) WorkloadObject() *unstructured.Unstructured {
	if r.workload == nil {
		return nil
	}
	return r.WorkloadWith(r.template)
}

// WorkloadWith returns the workload to create, with another template. The repository must have it.
// The caller may change it.
func (r *Release) WorkloadWith(template json.RawMessage) *unstructured.Unstructured {
	object := toMap(r.workload.object)
	delete(object, "status")
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(object, "metadata", field)
	}
	workload := &unstructured.Unstructured{Object: object}
	workload.SetNamespace(r.Namespace)
	// It fails where spec is no object, which a workload with a name and a release was checked not to
	// be.
	_ = unstructured.SetNestedMap(object, toMap(template), "spec", "template")
	return workload
}

// toMap decodes an object with the numbers that unstructured content has.
func toMap(object json.RawMessage) map[string]any {
	var content map[string]any
	_ = utiljson.Unmarshal(object, &content) // it was decoded before
	return content
}

// madeKey is all that a Release is made of.
type madeKey struct {
	release, workload located
	namespace         string
	// jobs is the digest of the templates of Jobs.
	jobs string
	// train is the name of the release's train, and members the digest of the templates of a train's.
	train, members string
	// copies names the copies of what the release has in spec.config, which tells their contents.
	copies string
}

// parts hold the rest of a Release, besides manifests.
type parts struct {
	jobs    map[string]json.RawMessage
	members []v1alpha1.MemberTemplate
	copies  []*Copy
}

// makeRelease makes a Release, or finds the one that was made of the same before; nil if there is
// an error in what it names in spec.config.
func (p *pass) makeRelease(l located, namespace string, workload located, jobs map[string]json.RawMessage) *Release {
	copies, sound := p.copiesOf(l, namespace)
	if !sound {
		return nil
	}
	key := madeKey{
		release: l, workload: workload, namespace: namespace,
		jobs: digestOfJobs(jobs), train: p.trains[l.manifest], copies: namesOf(copies),
	}
	release := p.makeWith(key, parts{jobs: jobs, copies: copies})
	for _, problem := range release.literal {
		p.failAt(release.templatePlace, problem.path, problem.message)
	}
	if release.literal != nil {
		return nil
	}
	return release
}

func (p *pass) makeWith(key madeKey, of parts) *Release {
	release := p.before.made[key]
	if release == nil {
		release = newRelease(key, of)
	}
	p.now.made[key] = release
	return release
}

func newRelease(key madeKey, of parts) *Release {
	l, namespace, workload := key.release, key.namespace, key.workload
	r := &Release{
		Train:          key.train,
		Overridden:     l.overridden,
		Members:        of.members,
		Namespace:      namespace,
		Name:           l.name,
		File:           l.file,
		Line:           l.at.line,
		Kustomization:  l.kustomization,
		WorkloadKind:   string(l.workloadKind),
		Workload:       l.workload,
		TemplateDigest: l.given,
		Generated:      l.generated,
		object:         l.object,
		template:       l.template,
		workload:       workload.manifest,
		jobs:           of.jobs,

		workloadPlace: Place{workload.file, workload.at.line},
		templatePlace: Place{l.file, l.at.line},
	}
	switch {
	case r.IsTrain():
		r.TemplateDigest = key.members
	case r.template == nil:
		r.template, r.TemplateDigest, r.Generated = workload.template, workload.given, workload.generated
		r.Kustomization = workload.kustomization
		r.templatePlace = r.workloadPlace
		if workload.file != l.file {
			r.TemplateFile = workload.file
		}
	}
	if len(of.copies) > 0 {
		r.takeAlong(of.copies)
	}
	content, _ := json.Marshal(r.Object()) // maps, lists, texts and numbers: it can't fail
	r.Digest = digest(append(content, r.File+r.TemplateFile+r.Kustomization...))
	return r
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

func place(file string, line int) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}
