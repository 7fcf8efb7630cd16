package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// applies is a bench of one write of a new template after the other, as appliers send it: to a
// Deployment that a release follows, and in turn to one of the native controller.
type applies struct {
	fleet

	times int
	// goal for how much later the 95th percentile of the first pods comes than natively.
	goal time.Duration
	// tried counts the dry runs of a write to each, which measure admission.
	tried int
}

// appliedSample holds the measurements of one of the two Deployments.
type appliedSample struct{ firstPod, admitted []time.Duration }

// inFollowingLab calls inLab with the policies of followed workloads and the controller's account.
func (k *kit) inFollowingLab(ctx context.Context, experiment func(context.Context, *lab) error) error {
	var of controlplane.Options
	for _, folder := range []string{"rbac", "policy", "follow"} {
		path, err := controlplane.InCheckout(filepath.Join("config", folder))
		if err != nil {
			return fmt.Errorf("find manifests: %w", err)
		}
		of.Manifests = append(of.Manifests, path)
	}
	return k.inLabOf(ctx, of, func(ctx context.Context, l *lab) error {
		account, err := l.plane.ServiceAccountConfig(ctx, "sluice-system", "sluice-controller")
		if err != nil {
			return fmt.Errorf("log in as the controller: %w", err)
		}
		l.kubeconfig = filepath.Join(l.logs, "controller.kubeconfig")
		if err := controlplane.WriteKubeconfig(l.kubeconfig, account); err != nil {
			return err
		}
		return experiment(ctx, l)
	})
}

// run writes many times on one control plane, whatever the number of runs.
func (a applies) run(ctx context.Context, k *kit, _ int) (report, error) {
	var followed, native appliedSample
	err := k.inFollowingLab(ctx, func(ctx context.Context, l *lab) (err error) {
		followed, native, err = a.measure(ctx, l)
		return err
	})
	if err != nil {
		return report{}, err
	}
	return a.report(followed, native), nil
}

func (a applies) measure(ctx context.Context, l *lab) (followed, native appliedSample, err error) {
	log, err := l.watch(ctx, everything()...)
	if err != nil {
		return followed, native, err
	}
	running, err := l.startController(ctx)
	if err != nil {
		return followed, native, err
	}
	defer func() { err = errors.Join(err, running.stop()) }()
	alone := a.fleet
	alone.prefix, alone.followed = "native", false
	for _, f := range []fleet{a.fleet, alone} {
		if err := f.create(ctx, l.client); err != nil {
			return followed, native, fmt.Errorf("deploy: %w", err)
		}
	}
	if _, err := log.await(ctx, 2, runs(1)); err != nil {
		return followed, native, err
	}
	if err := a.adopt(ctx, l.client); err != nil {
		return followed, native, fmt.Errorf("create release: %w", err)
	}
	if _, err := log.await(ctx, 1, released(1)); err != nil {
		return followed, native, err
	}
	for version := 2; len(followed.firstPod) < a.times; version++ {
		for of, sample := range map[string]*appliedSample{a.names()[0]: &followed, alone.names()[0]: &native} {
			until, err := l.firstPod(ctx, log, a.fleet, of, version)
			if err != nil {
				return followed, native, fmt.Errorf("apply version %d to %s: %w", version, of, err)
			}
			sample.firstPod = append(sample.firstPod, until)
		}
	}
	for i := range a.tried {
		for of, sample := range map[string]*appliedSample{a.names()[0]: &followed, alone.names()[0]: &native} {
			begin := time.Now()
			if err := a.write(ctx, l.client, of, a.times+2+i, client.DryRunAll); err != nil {
				return followed, native, fmt.Errorf("try to apply to %s: %w", of, err)
			}
			sample.admitted = append(sample.admitted, time.Since(begin))
		}
	}
	l.say("  %d writes each: first pod after %s, natively after %s", a.times, seconds(median(followed.firstPod)), seconds(median(native.firstPod)))
	return followed, native, nil
}

// write gives a Deployment the template of a version.
func (a applies) write(ctx context.Context, c client.Client, name string, version int, options ...client.PatchOption) error {
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{%q:"%d"}},"spec":{"containers":[{"name":"app","image":%q}]}}}}`,
		versionAnnotation, version, image(version))
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	return c.Patch(ctx, deployment, client.RawPatch(types.StrategicMergePatchType, []byte(patch)), options...)
}

// firstPod applies a version and returns how long it took to its first pod. It waits until all pods
// run the version, so that the next write finds a machine that has nothing else to do.
func (l *lab) firstPod(ctx context.Context, log *watchLog, f fleet, name string, version int) (time.Duration, error) {
	begin := time.Now()
	if err := (applies{fleet: f}).write(ctx, l.client, name, version); err != nil {
		return 0, err
	}
	first, err := log.await(ctx, 1, func(object client.Object) bool {
		pod, is := object.(*corev1.Pod)
		return is && pod.Labels[appLabel] == name && pod.Annotations[versionAnnotation] == fmt.Sprint(version)
	})
	if err != nil {
		return 0, err
	}
	_, err = log.await(ctx, 1, func(object client.Object) bool {
		return object.GetName() == name && (runs(version)(object) && name != f.names()[0] || released(int64(version))(object))
	})
	if err != nil {
		return 0, err
	}
	return first.Sub(begin), pass(ctx, settle/8)
}

func (a applies) report(followed, native appliedSample) report {
	p95, nativeP95 := percentile(followed.firstPod, 95), percentile(native.firstPod, 95)
	rows := []row{
		{label: fmt.Sprintf("write until first pod, median of %d", len(followed.firstPod)), native: seconds(median(native.firstPod)), sluice: seconds(median(followed.firstPod))},
		{label: "  p95", native: seconds(nativeP95), sluice: seconds(p95)},
		{label: "    beyond native", sluice: seconds(p95 - nativeP95), wanted: "<= " + seconds(a.goal), verdict: atMost(p95-nativeP95, a.goal)},
		{label: "  worst", native: seconds(slices.Max(native.firstPod)), sluice: seconds(slices.Max(followed.firstPod))},
		{label: fmt.Sprintf("admission of a new template, median of %d", len(followed.admitted)), native: exactly(median(native.admitted)), sluice: exactly(median(followed.admitted))},
		{label: "  p99", native: exactly(percentile(native.admitted, 99)), sluice: exactly(percentile(followed.admitted, 99))},
	}
	return report{rows: rows}
}

// exactly keeps a digit more than seconds.
func exactly(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}
