package lookup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
)

// Sight is show.Sight.
type Sight = show.Sight

// Visible reads a release and what belongs to it, as far as the user may read it and no answer is
// too large. Only the release itself must be readable.
func Visible(ctx context.Context, c client.Reader, key client.ObjectKey) (*Sight, error) {
	c = paged{c}
	sight := &Sight{Whole: &show.Whole{Release: &v1alpha1.BatchRelease{}}}
	if err := c.Get(ctx, key, sight.Release); err != nil {
		return nil, fmt.Errorf("read release in namespace %s: %w", key.Namespace, err)
	}
	var lock sync.Mutex
	parts, ctx := errgroup.WithContext(ctx)
	read := func(name string, part func() error) {
		parts.Go(func() error {
			err := part()
			var why string
			switch {
			case apierrors.IsForbidden(err):
				why = err.Error()
			case errors.As(err, new(*http.MaxBytesError)):
				why = "The " + name + " can't be shown: the answer of the API server is too large."
			default:
				return err
			}
			lock.Lock()
			defer lock.Unlock()
			sight.Hidden = append(sight.Hidden, why)
			return nil
		})
	}
	read("gates", func() (err error) { sight.Gates, err = Gates(ctx, c, key); return err })
	read("ReleaseSource", func() error { return readSource(ctx, c, sight.Whole) })
	if sight.Release.IsTrain() {
		read("members", func() (err error) { sight.Members, err = Members(ctx, c, sight.Release); return err })
	} else {
		read("workload with its pods", func() error { return readWorkload(ctx, c, sight.Whole) })
	}
	read("history", func() (err error) { sight.Kept, err = Kept(ctx, c, sight.Release); return err })
	if err := parts.Wait(); err != nil {
		return nil, err
	}
	return sight, nil
}

// Gates reads the gates of a release, and of earlier releases with the same name.
func Gates(ctx context.Context, c client.Reader, key client.ObjectKey) ([]v1alpha1.Gate, error) {
	var gates v1alpha1.GateList
	if err := c.List(ctx, &gates, client.InNamespace(key.Namespace), client.MatchingLabels{v1alpha1.ReleaseLabel: key.Name}); err != nil {
		return nil, fmt.Errorf("list gates: %w", err)
	}
	return gates.Items, nil
}

// The limits for reading pods: how many at a time, and how many in total, rounded up to whole
// pages.
const (
	podPage  = 100
	mostPods = 5000
)

// paged reads pods in pages and keeps only what pages show: a workload can have many pods, and each
// can be large.
type paged struct{ client.Reader }

// List lists pods in pages, and everything else as it is.
func (p paged) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	pods, are := list.(*corev1.PodList)
	if !are {
		return p.Reader.List(ctx, list, options...)
	}
	for next := ""; ; {
		var page corev1.PodList
		if err := p.Reader.List(ctx, &page, append(options, client.Limit(podPage), client.Continue(next))...); err != nil {
			return err
		}
		for i := range page.Items {
			pods.Items = append(pods.Items, slim(&page.Items[i]))
		}
		next = page.Continue
		if next == "" || len(pods.Items) >= mostPods {
			return nil
		}
	}
}

// slim returns a pod without the parts that no page shows. Its maker decides how many labels and
// owners it has.
func slim(pod *corev1.Pod) corev1.Pod {
	kept := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
		},
		Spec: corev1.PodSpec{NodeName: pod.Spec.NodeName},
		Status: corev1.PodStatus{
			Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: pod.Status.Message, Conditions: pod.Status.Conditions,
			InitContainerStatuses: pod.Status.InitContainerStatuses, ContainerStatuses: pod.Status.ContainerStatuses,
		},
	}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		kept.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	for _, key := range []string{appsv1.ControllerRevisionHashLabelKey, corev1.LabelTopologyZone} {
		if value, has := pod.Labels[key]; has {
			metav1.SetMetaDataLabel(&kept.ObjectMeta, key, value)
		}
	}
	return kept
}
