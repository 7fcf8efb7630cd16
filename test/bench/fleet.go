package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// appLabel on Deployments, and so on what belongs to them, is the Deployment's name.
const appLabel = "app"

// fleet is a number of equal workloads, and how each is released.
type fleet struct {
	kind        kind
	deployments int // or workloads of the kind
	pods        int32
	steps       []v1alpha1.Step
	// unavailable is how many pods of a StatefulSet or DaemonSet may be away at a time.
	unavailable int32
	// policy of a StatefulSet: whether pods come one after the other.
	policy appsv1.PodManagementPolicyType
	// quickStart has the pods of the first version ready at once.
	quickStart bool
	// routes has a Service and an HTTPRoute for each Deployment, whose requests the release shares.
	routes bool
	// keepsOld says that such a release keeps all old pods until its end.
	keepsOld bool
	// followed says that the releases follow their workloads.
	followed bool
	// git names the workloads that a repository has and how, forge says that its source knows the
	// forge, and lockstep is of the train.
	git      inGit
	forge    bool
	lockstep *v1alpha1.Lockstep
	// prefix begins the names of the workloads, if it is not app.
	prefix string
	// annotations of the pods.
	annotations map[string]string
}

// step returns a step of a release that nobody is asked about.
func step(replicas string) v1alpha1.Step {
	return v1alpha1.Step{
		Replicas: intstr.Parse(replicas),
		Gates:    []v1alpha1.GatePolicy{{None: &v1alpha1.NoGate{}}},
	}
}

func steps(replicas ...string) []v1alpha1.Step {
	all := make([]v1alpha1.Step, len(replicas))
	for i := range replicas {
		all[i] = step(replicas[i])
	}
	return all
}

// targets returns how many pods run the new version at the end of each step.
func (f fleet) targets() []int {
	all := make([]int, len(f.steps))
	for i := range f.steps {
		// An error is the API server's to report: the release would not be created.
		all[i], _ = intstr.GetScaledValueFromIntOrPercent(&f.steps[i].Replicas, int(f.pods), true)
	}
	return all
}

func (f fleet) names() []string {
	names := make([]string, f.deployments)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%04d", cmp.Or(f.prefix, "app"), i)
	}
	return names
}

func image(version int) string { return fmt.Sprintf("registry.example/app:v%d", version) }

func (f fleet) template(name string, version int) corev1.PodTemplateSpec {
	annotations := f.annotations
	if f.quickStart {
		annotations = map[string]string{controlplane.ReadyDelayAnnotation: f.delay(version).String()}
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{appLabel: name}, Annotations: annotations},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: image(version)}}},
	}
}

// delay returns how long a pod takes to be ready.
func (f fleet) delay(version int) time.Duration {
	if f.quickStart && version == 1 {
		return 0
	}
	return readyDelay
}

func (f fleet) rawTemplate(name string, version int) (*runtime.RawExtension, error) {
	raw, err := json.Marshal(f.template(name, version))
	if err != nil {
		return nil, fmt.Errorf("encode template: %w", err)
	}
	return &runtime.RawExtension{Raw: raw}, nil
}

// deployment has maxSurge and maxUnavailable of 25%, as one has that says nothing.
func (f fleet) deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{appLabel: name}},
		Spec: appsv1.DeploymentSpec{
			Replicas: &f.pods,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: name}},
			Template: f.template(name, 1),
		},
	}
}

func (f fleet) release(name string) (*v1alpha1.BatchRelease, error) {
	template, err := f.rawTemplate(name, 1)
	var follow v1alpha1.FollowPolicy
	if f.followed {
		template, follow = nil, v1alpha1.FollowWorkload
	}
	return &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: f.kind.String(), Name: name},
			Template:    template,
			Follow:      follow,
			Strategy:    f.strategy(name),
		},
	}, err
}

// strategy says how many pods may be away where the workload of a kind can't: its server may not
// have the field.
func (f fleet) strategy(name string) v1alpha1.ReleaseStrategy {
	s := v1alpha1.ReleaseStrategy{Steps: f.steps, Traffic: f.traffic(name)}
	if f.kind.inPlace() {
		s.MaxUnavailable = new(intstr.FromInt32(f.unavailable))
	}
	return s
}

func releaseNamed(name string) *v1alpha1.BatchRelease {
	return &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// mostAtOnce limits the requests of the bench in flight. With more, those of the controller for its
// Lease would wait so long that it loses that.
const mostAtOnce = 200

// atOnce does the same for all names, as many as possible at the same time, and returns the first
// error.
func (f fleet) atOnce(ctx context.Context, do func(ctx context.Context, name string) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	free := make(chan struct{}, mostAtOnce)
	for _, name := range f.names() {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			if err := do(ctx, name); err != nil {
				cancel(fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// create makes all workloads.
func (f fleet) create(ctx context.Context, c client.Client) error {
	return f.atOnce(ctx, func(ctx context.Context, name string) error {
		return c.Create(ctx, f.workload(name))
	})
}

// adopt makes a release of each workload, of the template that it runs.
func (f fleet) adopt(ctx context.Context, c client.Client) error {
	return f.atOnce(ctx, func(ctx context.Context, name string) error {
		release, err := f.release(name)
		if err != nil {
			return err
		}
		return c.Create(ctx, release)
	})
}

// updateNative gives all workloads a new template, as kubectl set image does.
func (f fleet) updateNative(ctx context.Context, c client.Client, version int) error {
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"app","image":%q}]}}}}`, image(version))
	if f.quickStart {
		patch = fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{%q:%q}},"spec":{"containers":[{"name":"app","image":%q}]}}}}`,
			controlplane.ReadyDelayAnnotation, f.delay(version), image(version))
	}
	return f.atOnce(ctx, func(ctx context.Context, name string) error {
		return c.Patch(ctx, f.workload(name), client.RawPatch(types.StrategicMergePatchType, []byte(patch)))
	})
}

// updateReleases gives all releases a new template, as a commit does.
func (f fleet) updateReleases(ctx context.Context, c client.Client, version int) error {
	return f.atOnce(ctx, func(ctx context.Context, name string) error {
		template, err := f.rawTemplate(name, version)
		if err != nil {
			return err
		}
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": template}})
		if err != nil {
			return fmt.Errorf("encode patch: %w", err)
		}
		return c.Patch(ctx, releaseNamed(name), client.RawPatch(types.MergePatchType, patch))
	})
}

// released reports whether a release has completed its nth attempt.
func released(attempt int64) func(client.Object) bool {
	return func(object client.Object) bool {
		r, ok := object.(*v1alpha1.BatchRelease)
		return ok && r.Status.Attempt == attempt && r.Status.Phase == v1alpha1.PhaseCompleted
	}
}
