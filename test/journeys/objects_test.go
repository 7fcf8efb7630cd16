package journeys

import (
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// podTemplate runs an image; the annotations tell KWOK what becomes of the pods.
func podTemplate(image string, annotations map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Annotations: annotations},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
	}
}

// deployment returns a Deployment "web" of so many pods of web:1.
func deployment(replicas int32, change ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: podTemplate("web:1", nil),
		},
	}
	for _, c := range change {
		c(d)
	}
	return d
}

// rolling gives a Deployment maxSurge and maxUnavailable.
func rolling(surge, unavailable any) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Spec.Strategy = appsv1.DeploymentStrategy{
			Type: appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxSurge: share(surge), MaxUnavailable: share(unavailable),
			},
		}
	}
}

func imageOf(d *appsv1.Deployment) string { return d.Spec.Template.Spec.Containers[0].Image }

// release returns a BatchRelease "web" of an image for the Deployment "web".
func release(image string, steps ...v1alpha1.Step) *v1alpha1.BatchRelease {
	return releaseOf(podTemplate(image, nil), steps...)
}

func releaseOf(template corev1.PodTemplateSpec, steps ...v1alpha1.Step) *v1alpha1.BatchRelease {
	return &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			Template:    &runtime.RawExtension{Raw: encode(template)},
			Strategy:    v1alpha1.ReleaseStrategy{Steps: steps},
		},
	}
}

func encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return data
}

func step(replicas any, gates ...v1alpha1.GatePolicy) v1alpha1.Step {
	return v1alpha1.Step{Replicas: *share(replicas), Gates: gates}
}

// share returns a number of pods or a percentage of them.
func share(value any) *intstr.IntOrString {
	parsed := intstr.Parse(fmt.Sprint(value))
	return &parsed
}

func manual() v1alpha1.GatePolicy { return v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}} }

func none() v1alpha1.GatePolicy { return v1alpha1.GatePolicy{None: &v1alpha1.NoGate{}} }

func soak(d time.Duration) v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{Soak: &v1alpha1.SoakGate{Duration: metav1.Duration{Duration: d}}}
}

func window(schedule string) v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{Window: &v1alpha1.WindowGate{Schedule: schedule}}
}

// named returns an object with only a name.
func named[T any, P interface {
	*T
	client.Object
}](name string) P {
	object := P(new(T))
	object.SetName(name)
	return object
}
