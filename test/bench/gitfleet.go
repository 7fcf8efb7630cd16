package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// inGit names the workloads of a fleet that a repository has, and the way they are released.
type inGit string

const (
	// firstInGit has the first Deployment, whose pods are ready at once.
	firstInGit inGit = ""
	// eachAlone has all, each with a release that has the steps.
	eachAlone inGit = "alone"
	// oneTrain has all, as members of a train that has the steps.
	oneTrain inGit = "train"
)

// trainName is the name of a fleet's train, and of its one group of members.
const trainName = "train"

// releases returns how many releases a fleet has in Git.
func (f fleet) releases() int {
	switch f.git {
	case eachAlone:
		return f.deployments
	case oneTrain:
		return f.deployments + 1
	}
	return 1
}

// perFile limits the Deployments, and the releases, in a file.
const perFile = 100

// files returns the manifests of all Deployments in a version, by name of their file.
func (f fleet) files(version int) (map[string]string, error) {
	var all []any
	for _, name := range f.names() {
		d := f.deployment(name)
		d.TypeMeta, d.Spec.Template = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, f.template(name, version)
		d.Namespace = ""
		all = append(all, d)
	}
	return documents("deployments", all)
}

// releaseFiles returns the manifests of all releases, by name of their file.
func (f fleet) releaseFiles() (map[string]string, error) {
	var all []any
	label := map[string]string{"fleet": "bench"}
	add := func(name string, spec v1alpha1.BatchReleaseSpec) {
		all = append(all, &v1alpha1.BatchRelease{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BatchRelease"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: label}, Spec: spec,
		})
	}
	for _, name := range f.names() {
		spec := v1alpha1.BatchReleaseSpec{WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name}}
		if f.git == eachAlone {
			spec.Strategy.Steps = f.steps
		}
		add(name, spec)
	}
	if f.git == oneTrain {
		add(trainName, v1alpha1.BatchReleaseSpec{
			Members:  []v1alpha1.TrainMember{{Name: trainName, Selector: label}},
			Strategy: v1alpha1.ReleaseStrategy{Steps: f.steps, Lockstep: f.lockstep},
		})
	}
	return documents("releases", all)
}

// documents returns files of YAML documents, which JSON is.
func documents(folder string, objects []any) (map[string]string, error) {
	files := map[string]string{}
	for i, object := range objects {
		var fields map[string]any
		data, err := json.Marshal(object)
		if err == nil {
			err = json.Unmarshal(data, &fields)
		}
		if err != nil {
			return nil, fmt.Errorf("encode manifest: %w", err)
		}
		delete(fields, "status")
		if spec, is := fields["spec"].(map[string]any); is {
			dropEmpty(spec)
		}
		if data, err = json.Marshal(fields); err != nil {
			return nil, fmt.Errorf("encode manifest: %w", err)
		}
		name := filepath.Join(folder, fmt.Sprintf("%02d.yaml", i/perFile))
		files[name] += "---\n" + string(bytes.TrimSpace(data)) + "\n"
	}
	return files, nil
}

// dropEmpty removes what a member has not, nor a train: the steps, or the workload.
func dropEmpty(spec map[string]any) {
	if spec["members"] != nil {
		delete(spec, "workloadRef")
	}
	if strategy, is := spec["strategy"].(map[string]any); is && strategy["steps"] == nil {
		delete(spec, "strategy")
	}
}

// writeFleet writes the manifests of all Deployments and releases.
func (f fleet) writeFleet(dir string) error {
	deployments, err := f.files(1)
	if err != nil {
		return err
	}
	releases, err := f.releaseFiles()
	if err != nil {
		return err
	}
	return errors.Join(writeAll(dir, deployments), writeAll(dir, releases))
}

func writeAll(dir string, files map[string]string) error {
	for name, content := range files {
		if err := writeFile(filepath.Join(dir, name), content); err != nil {
			return err
		}
	}
	return nil
}

// pushAll publishes a version of all Deployments in one commit.
func (s *shop) pushAll(ctx context.Context, version int) error {
	if _, err := s.work.git(ctx, "pull", "--quiet", "--ff-only"); err != nil {
		return err
	}
	files, err := s.fleet.files(version)
	if err != nil {
		return err
	}
	if err := writeAll(s.work.dir, files); err != nil {
		return err
	}
	_, err = s.work.commit(ctx)
	return err
}

// train returns the train of a shop.
func (s *shop) train(ctx context.Context) (*v1alpha1.BatchRelease, error) {
	train := releaseNamed(trainName)
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(train), train); err != nil {
		return nil, fmt.Errorf("get train: %w", err)
	}
	return train, nil
}
