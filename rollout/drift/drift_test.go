package drift

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// secret is a value that must never be printed.
const secret = "hunter2"

// released returns a template with everything in it that a case changes.
func released() *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      map[string]string{"app": "web"},
			Annotations: map[string]string{"example.com/token": secret},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "app", Image: "app:2", Args: []string{"--password=" + secret},
				Env:   []corev1.EnvVar{{Name: "A", Value: "a"}, {Name: "TOKEN", Value: secret}},
				Ports: []corev1.ContainerPort{{ContainerPort: 80}},
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
				},
			}},
			Tolerations: []corev1.Toleration{{Key: "a"}, {Key: "b"}},
		},
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	const app = "spec.template.spec.containers[app]"
	tests := map[string]struct {
		change func(*corev1.PodTemplateSpec)
		want   []string
	}{
		"nothing": {func(*corev1.PodTemplateSpec) {}, nil},
		"a restart changes nothing that is released": {
			func(p *corev1.PodTemplateSpec) { p.Annotations[restartedAt] = "2026-11-21T12:00:00Z" }, nil,
		},
		"an image": {
			func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Image = "app:9" },
			[]string{app + ".image: app:2 -> app:9"},
		},
		"resources": {
			func(p *corev1.PodTemplateSpec) {
				p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2")
				p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
			},
			[]string{app + ".resources.limits (added)", app + ".resources.requests.cpu: 100m -> 2"},
		},
		"values that may be secrets are not shown": {
			func(p *corev1.PodTemplateSpec) {
				p.Annotations["example.com/token"] = "other"
				p.Spec.Containers[0].Args[0] = "--password=other"
				p.Spec.Containers[0].Env[1].Value = "other"
			},
			[]string{
				"spec.template.metadata.annotations[example.com/token]", app + ".args", app + ".env[TOKEN].value",
			},
		},
		"what is added and what is removed": {
			func(p *corev1.PodTemplateSpec) {
				p.Labels["tier"] = "front"
				p.Spec.Containers[0].Env = p.Spec.Containers[0].Env[:1]
				p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "debug", Image: "busybox"})
			},
			[]string{"spec.template.metadata.labels[tier] (added)", app + ".env[TOKEN] (removed)", "spec.template.spec.containers[debug] (added)"},
		},
		"numbers and switches": {
			func(p *corev1.PodTemplateSpec) {
				p.Spec.TerminationGracePeriodSeconds = new(int64(5))
				p.Spec.HostNetwork = true
				p.Spec.Containers[0].Ports[0].HostPort = 80
			},
			[]string{app + ".ports[80].hostPort (added)", "spec.template.spec.hostNetwork (added)", "spec.template.spec.terminationGracePeriodSeconds (added)"},
		},
		"order counts: of two variables of a name the last is taken": {
			func(p *corev1.PodTemplateSpec) {
				env := p.Spec.Containers[0].Env
				env[0], env[1] = env[1], env[0]
			},
			[]string{app + ".env (order)"},
		},
		"a list without names": {
			func(p *corev1.PodTemplateSpec) { p.Spec.Tolerations[0].Key = "c" }, []string{"spec.template.spec.tolerations"},
		},
		"many": {
			func(p *corev1.PodTemplateSpec) {
				for _, key := range []string{"a", "b", "c", "d", "e", "f", "g"} {
					p.Labels[key] = key
				}
			},
			[]string{
				"spec.template.metadata.labels[a] (added)", "spec.template.metadata.labels[b] (added)",
				"spec.template.metadata.labels[c] (added)", "spec.template.metadata.labels[d] (added)",
				"spec.template.metadata.labels[e] (added)", "2 more",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			present := released()
			test.change(present)
			if diff := cmp.Diff(test.want, fields(t, released(), present)); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

func fields(t interface{ Fatal(args ...any) }, released, present *corev1.PodTemplateSpec) []string {
	found, err := Fields(released, present)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestSecretsStaySecret: for any change of a template, no message contains a secret, and every
// change has a message.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawTemplate(t, "before"), drawTemplate(t, "after")
		found := fields(t, before, after)
		if all := strings.Join(found, "\n"); strings.Contains(all, secret) {
			t.Fatalf("a secret is shown: %s", all)
		}
		if same := cmp.Equal(before, after); same != (len(found) == 0) {
			t.Fatalf("the same: %t, fields that differ: %q", same, found)
		}
	})
}

// drawTemplate draws a template with a secret in every place for text that a user chooses.
func drawTemplate(t *rapid.T, label string) *corev1.PodTemplateSpec {
	some := func(what string) string {
		return rapid.SampledFrom([]string{"", secret + "1", secret + "2"}).Draw(t, label+" "+what)
	}
	name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, label+" name")
	p := released()
	p.Annotations["example.com/token"], p.Labels["secret"] = some("annotation"), some("label")
	c := &p.Spec.Containers[0]
	c.Name = name
	c.Command, c.Args = []string{some("command")}, []string{some("argument")}
	c.Env = []corev1.EnvVar{{Name: name, Value: some("variable")}}
	c.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
		HTTPHeaders: []corev1.HTTPHeader{{Name: "Authorization", Value: some("header")}},
	}}}
	c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{some("hook")}}}}
	return p
}
