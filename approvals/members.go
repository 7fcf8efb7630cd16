package approvals

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/report"
	"github.com/sluice-dev/sluice/internal/kinds"
)

const (
	// mostCompared limits the members whose templates are compared: each costs a read, and the text
	// of a pull request has room for no more.
	mostCompared = 20
	// mostRead limits the members that are read: the text lists no more.
	mostRead = 100
)

// membersOf returns what people see of the members of a train's run: their images and templates
// before and after.
func (c cluster) membersOf(ctx context.Context, train *v1alpha1.BatchRelease) (report.Batch, error) {
	status := &train.Status
	batch := report.Batch{
		Replicas: status.Replicas, Updated: status.UpdatedReplicas,
		Ready: status.UpdatedReadyReplicas, Available: status.UpdatedAvailableReplicas,
	}
	if status.Run == nil {
		return batch, nil
	}
	for i, of := range status.Run.Members {
		if i >= mostRead {
			batch.Members = append(batch.Members, report.Member{Name: of.Name})
			continue
		}
		var release v1alpha1.BatchRelease
		if err := c.client.Get(ctx, client.ObjectKey{Namespace: train.Namespace, Name: of.Name}, &release); client.IgnoreNotFound(err) != nil {
			return batch, fmt.Errorf("get member: %w", err)
		}
		member := report.Member{Name: of.Name, Replicas: release.Status.Replicas}
		if release.Status.Train != nil && release.Status.Train.Train == release.Spec.Train && release.Status.Train.Attempt == status.Attempt {
			member.Updated, member.Available = release.Status.UpdatedReplicas, release.Status.UpdatedAvailableReplicas
		}
		member.Later = of.Steps <= status.CurrentStepIndex
		stable, err := c.stableTemplate(ctx, &release)
		if err != nil {
			return batch, err
		}
		if release.Spec.Template != nil {
			_, member.ToImages = templateText(release.Spec.Template.Raw)
		}
		member.From, member.FromImages = templateText(stable)
		if i < mostCompared && member.From != "" {
			if member.To, err = c.templateNow(ctx, &release); err != nil {
				return batch, err
			}
		}
		batch.Members = append(batch.Members, member)
	}
	return batch, nil
}

// stableTemplate returns the kept template that a member leaves; nil if none is kept.
func (c cluster) stableTemplate(ctx context.Context, release *v1alpha1.BatchRelease) ([]byte, error) {
	revision := release.Status.StableRevision
	if revision == "" {
		return nil, nil
	}
	var named appsv1.ControllerRevisionList
	labels := client.MatchingLabels{v1alpha1.ReleaseLabel: release.Name, v1alpha1.RevisionLabel: revision}
	if err := c.client.List(ctx, &named, client.InNamespace(release.Namespace), labels); err != nil {
		return nil, fmt.Errorf("list ControllerRevisions: %w", err)
	}
	for i := range named.Items {
		if v1alpha1.KeptFor(&named.Items[i]) == release.UID {
			return named.Items[i].Data.Raw, nil
		}
	}
	return nil, nil
}

// templateNow returns the template that the workload of a member has, with the API server's
// defaults as in what is kept; empty if the member is not taken over.
func (c cluster) templateNow(ctx context.Context, release *v1alpha1.BatchRelease) (string, error) {
	kind := kinds.Named(release.Spec.WorkloadRef.Kind)
	if kind == nil || release.Status.Held == nil {
		return "", nil
	}
	workload := kind.New()
	err := c.live.Get(ctx, client.ObjectKey{Namespace: release.Namespace, Name: release.Spec.WorkloadRef.Name}, workload)
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("get %s: %w", kind.Name, err)
	}
	raw, err := json.Marshal(kind.Template(workload))
	if err != nil {
		return "", fmt.Errorf("encode the template of %s: %w", kind.Name, err)
	}
	text, _ := templateText(raw)
	return text, nil
}

// templateText returns a template as YAML, and the images of its containers.
func templateText(raw []byte) (text string, images []string) {
	var template corev1.PodTemplateSpec
	if len(raw) == 0 || json.Unmarshal(raw, &template) != nil {
		return "", nil
	}
	for i := range template.Spec.Containers {
		images = append(images, template.Spec.Containers[i].Image)
	}
	lines, err := yaml.JSONToYAML(raw)
	if err != nil {
		return "", images
	}
	return string(lines), images
}
