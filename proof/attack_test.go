package proof_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/proof"
)

// outcomeOf returns what is found about a subject.
func outcomeOf(verdict proof.Verdict, about proof.Subject) (worst proof.Outcome, words string) {
	for _, finding := range verdict.Findings {
		if finding.About == about {
			worst, words = max(worst, finding.Outcome), words+finding.Detail+"\n"
		}
	}
	return worst, words
}

// tokenVolume returns the volume that admission adds.
func tokenVolume(pod *corev1.Pod) *corev1.Volume { return &pod.Spec.Volumes[len(pod.Spec.Volumes)-1] }

// TestPods: a pod that has anything else than its template is refuted, and a pod with additions of
// the API server, its admission and native controllers is proven.
func TestPods(t *testing.T) {
	t.Parallel()
	k := newKeys(t, rand.NewChaCha8([32]byte{4}))
	type change func(*corev1.Pod)
	spec := func(set func(*corev1.PodSpec)) change { return func(p *corev1.Pod) { set(&p.Spec) } }
	container := func(set func(*corev1.Container)) change { return func(p *corev1.Pod) { set(&p.Spec.Containers[0]) } }
	for name, tc := range map[string]struct {
		template func(*corev1.PodTemplateSpec)
		pod      change
		accepted []string
		want     proof.Outcome
	}{
		"network of the node":   {pod: spec(func(s *corev1.PodSpec) { s.HostNetwork = true }), want: proof.Refuted},
		"processes of the node": {pod: spec(func(s *corev1.PodSpec) { s.HostPID = true }), want: proof.Refuted},
		"another account":       {pod: spec(func(s *corev1.PodSpec) { s.ServiceAccountName = "admin" }), want: proof.Refuted},
		"another runtime":       {pod: spec(func(s *corev1.PodSpec) { s.RuntimeClassName = new("unsafe") }), want: proof.Refuted},
		"a host alias": {pod: spec(func(s *corev1.PodSpec) {
			s.HostAliases = []corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"db"}}}
		}), want: proof.Refuted},
		"a name server":                    {pod: spec(func(s *corev1.PodSpec) { s.DNSConfig = &corev1.PodDNSConfig{Nameservers: []string{"10.0.0.1"}} }), want: proof.Refuted},
		"a host name":                      {pod: spec(func(s *corev1.PodSpec) { s.Hostname = "db" }), want: proof.Refuted},
		"a deadline":                       {pod: spec(func(s *corev1.PodSpec) { s.ActiveDeadlineSeconds = new(int64(1)) }), want: proof.Refuted},
		"a user":                           {pod: spec(func(s *corev1.PodSpec) { s.SecurityContext.RunAsNonRoot = nil }), want: proof.Refuted},
		"privileges":                       {pod: container(func(c *corev1.Container) { c.SecurityContext = &corev1.SecurityContext{Privileged: new(true)} }), want: proof.Refuted},
		"a variable":                       {pod: container(func(c *corev1.Container) { c.Env = append(c.Env, corev1.EnvVar{Name: "LD_PRELOAD", Value: "/data/x"}) }), want: proof.Refuted},
		"variables of a ConfigMap":         {pod: container(func(c *corev1.Container) { c.EnvFrom = []corev1.EnvFromSource{{Prefix: "x"}} }), want: proof.Refuted},
		"another image":                    {pod: container(func(c *corev1.Container) { c.Image = pinned + digest(7) }), want: proof.Refuted},
		"a tag beside the digest":          {pod: container(func(c *corev1.Container) { c.Image = strings.Replace(c.Image, "@", ":evil@", 1) }), want: proof.Refuted},
		"a pull policy":                    {pod: container(func(c *corev1.Container) { c.ImagePullPolicy = corev1.PullNever }), want: proof.Refuted},
		"a hook":                           {pod: container(func(c *corev1.Container) { c.Lifecycle = &corev1.Lifecycle{} }), want: proof.Refuted},
		"a port of the node":               {pod: container(func(c *corev1.Container) { c.Ports[0].HostPort = 8080 }), want: proof.Refuted},
		"one container twice":              {pod: spec(func(s *corev1.PodSpec) { s.Containers = append(s.Containers, s.Containers[0]) }), want: proof.Refuted},
		"containers in another order":      {pod: spec(func(s *corev1.PodSpec) { s.Containers[0], s.Containers[1] = s.Containers[1], s.Containers[0] }), want: proof.Refuted},
		"a container as an init container": {pod: spec(func(s *corev1.PodSpec) { s.InitContainers, s.Containers = s.Containers[1:], s.Containers[:1] }), want: proof.Refuted},
		"a container":                      {pod: spec(func(s *corev1.PodSpec) { s.Containers = append(s.Containers, corev1.Container{Name: "miner"}) }), want: proof.Refuted},
		"an init container":                {pod: spec(func(s *corev1.PodSpec) { s.InitContainers = []corev1.Container{{Name: "miner"}} }), want: proof.Refuted},
		"an ephemeral container": {pod: spec(func(s *corev1.PodSpec) {
			s.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debugger"}}}
		}), want: proof.Refuted},
		"a volume under a mount": {pod: func(p *corev1.Pod) {
			p.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
		}, want: proof.Refuted},
		"a mount": {pod: func(p *corev1.Pod) {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "node", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}})
			p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "node", MountPath: "/node"})
		}, want: proof.Refuted},
		"the folder of the node as the token": {pod: func(p *corev1.Pod) {
			tokenVolume(p).VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
		}, want: proof.Refuted},
		"a Secret in the token": {pod: func(p *corev1.Pod) {
			tokenVolume(p).Projected.Sources[1] = corev1.VolumeProjection{Secret: &corev1.SecretProjection{}}
		}, want: proof.Refuted},
		"a token for others": {pod: func(p *corev1.Pod) {
			tokenVolume(p).Projected.Sources[0].ServiceAccountToken.Audience = "sts.amazonaws.com"
		}, want: proof.Refuted},
		"another authority": {pod: func(p *corev1.Pod) {
			tokenVolume(p).Projected.Sources[2].DownwardAPI.Items[0] = corev1.DownwardAPIVolumeFile{
				Path: "ca.crt", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['ca']"},
			}
		}, want: proof.Refuted},
		"a token elsewhere": {pod: func(p *corev1.Pod) { p.Spec.Containers[0].VolumeMounts[1].MountPath = "/data/token" }, want: proof.Refuted},
		"a token where the template has none": {
			template: func(t *corev1.PodTemplateSpec) { t.Spec.AutomountServiceAccountToken = new(false) }, pod: func(*corev1.Pod) {}, want: proof.Refuted,
		},
		"variables of Services where the template has none": {
			template: func(t *corev1.PodTemplateSpec) { t.Spec.EnableServiceLinks = new(false) }, pod: func(*corev1.Pod) {}, want: proof.Refuted,
		},
		"another label": {pod: func(p *corev1.Pod) { p.Labels["app"] = "db" }, want: proof.Refuted},
		"another annotation": {
			template: func(t *corev1.PodTemplateSpec) { t.Annotations = map[string]string{"mode": "safe"} },
			pod:      func(p *corev1.Pod) { p.Annotations = map[string]string{"mode": "unsafe"} }, want: proof.Refuted,
		},
		"an annotation that is gone": {
			template: func(t *corev1.PodTemplateSpec) { t.Annotations = map[string]string{"mode": "safe"} }, pod: func(*corev1.Pod) {}, want: proof.Refuted,
		},
		"a container that others add, and a volume that a container of the template takes": {accepted: []string{"proxy"}, pod: func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "proxy"})
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "proxy"})
			p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "proxy", MountPath: "/web"})
		}, want: proof.Refuted},
		"an image of the template that others say they add": {accepted: []string{"c0"}, pod: container(func(c *corev1.Container) { c.Image = pinned + digest(7) }), want: proof.Refuted},

		"a container that others add, with its volume": {accepted: []string{"proxy"}, pod: func(p *corev1.Pod) {
			p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "proxy", VolumeMounts: []corev1.VolumeMount{{Name: "proxy", MountPath: "/etc/proxy"}}})
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "proxy", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
		}},
		"the ports of a pod with the network of its node": {
			template: func(t *corev1.PodTemplateSpec) { t.Spec.HostNetwork = true },
			pod:      container(func(c *corev1.Container) { c.Ports[0].HostPort = c.Ports[0].ContainerPort }),
		},
		"a StatefulSet's pod": {
			template: func(t *corev1.PodTemplateSpec) {
				t.Spec.Volumes, t.Spec.Containers[1].VolumeMounts = nil, nil
			},
			pod: func(p *corev1.Pod) {
				p.Spec.Hostname, p.Spec.Subdomain, p.Labels["apps.kubernetes.io/pod-index"] = p.Name, "web", "0"
				p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-" + p.Name},
				}})
				p.Spec.Containers[1].VolumeMounts = nil
			},
		},
		"what it may use, after a resize": {pod: container(func(c *corev1.Container) {
			c.Resources, c.ResizePolicy = corev1.ResourceRequirements{}, []corev1.ContainerResizePolicy{{ResourceName: "cpu", RestartPolicy: corev1.NotRequired}}
		})},
		"a volume of the template that is named as those of tokens": {template: func(t *corev1.PodTemplateSpec) {
			t.Spec.AutomountServiceAccountToken = new(false)
			t.Spec.Volumes = append(t.Spec.Volumes, *tokenVolume(podOf(template(1))))
			t.Spec.Containers[0].VolumeMounts = append(t.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "kube-api-access-abcde", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"})
		}, pod: func(p *corev1.Pod) {
			p.Spec.Volumes = p.Spec.Volumes[:2]
			p.Spec.Containers[0].VolumeMounts, p.Spec.Containers[1].VolumeMounts = p.Spec.Containers[0].VolumeMounts[:2], p.Spec.Containers[1].VolumeMounts[:1]
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tmpl := template(2)
			if tc.template != nil {
				tc.template(tmpl)
			}
			w := newWorld(t, k, tmpl, soak(time.Minute))
			tc.pod(w.bundle.Pod)
			roots := k.roots()
			roots.Containers = tc.accepted
			if got, words := outcomeOf(proof.Check(w.bundle, roots), proof.Pod); got != tc.want {
				t.Errorf("want it %s, got %s: %s", tc.want, got, words)
			}
		})
	}
}

// TestImages: only the digest of the image that the node runs proves it.
func TestImages(t *testing.T) {
	t.Parallel()
	k := newKeys(t, rand.NewChaCha8([32]byte{5}))
	for name, tc := range map[string]struct {
		image, runs string
		want        proof.Outcome
	}{
		"the same":             {pinned + digest(0), pinned + digest(0), proof.Proven},
		"from a mirror":        {pinned + digest(0), "mirror.example.com/web@sha256:" + digest(0), proof.Proven},
		"of Docker":            {pinned + digest(0), "docker-pullable://" + pinned + digest(0), proof.Proven},
		"with a tag":           {"web:1@sha256:" + digest(0), pinned + digest(0), proof.Proven},
		"another":              {pinned + digest(0), pinned + digest(1), proof.Refuted},
		"two digests":          {pinned + digest(0), pinned + digest(1) + "@sha256:" + digest(0), proof.Refuted},
		"something behind it":  {pinned + digest(0), pinned + digest(0) + "\n", proof.Refuted},
		"in capitals":          {pinned + digest(10), strings.ToUpper(pinned) + strings.ToUpper(digest(10)), proof.NotEnough},
		"by its configuration": {pinned + digest(0), "sha256:" + digest(0), proof.NotEnough},
		"by another algorithm": {"web@sha512:" + digest(0), "web@sha512:" + digest(0), proof.NotEnough},
		"a tag":                {"web:1", pinned + digest(0), proof.NotEnough},
		"unknown":              {pinned + digest(0), "", proof.NotEnough},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tmpl := template(1)
			tmpl.Spec.Containers[0].Image = tc.image
			w := newWorld(t, k, tmpl, soak(time.Minute))
			w.bundle.Pod.Status.ContainerStatuses[0].ImageID = tc.runs
			if got, words := outcomeOf(proof.Check(w.bundle, k.roots()), proof.Image); got != tc.want {
				t.Errorf("want it %s, got %s: %s", tc.want, got, words)
			}
		})
	}
}

// TestOnlyWhatTheReleaseAsksFor: there is no statement about a gate that its release does not have:
// users who may make Gates could have it pass by a rule of their own.
func TestOnlyWhatTheReleaseAsksFor(t *testing.T) {
	t.Parallel()
	k := newKeys(t, rand.NewChaCha8([32]byte{6}))
	for name, change := range map[string]func(*v1alpha1.Gate){
		"with a weaker policy":          func(g *v1alpha1.Gate) { g.Spec.Policy.PullRequest = &v1alpha1.PullRequestGate{} },
		"with another policy":           func(g *v1alpha1.Gate) { g.Spec.Policy = v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}} },
		"in the place of another":       func(g *v1alpha1.Gate) { g.Spec.Step = 1 },
		"behind the last":               func(g *v1alpha1.Gate) { g.Spec.Step = 9 },
		"before the first":              func(g *v1alpha1.Gate) { g.Spec.Step = -1 },
		"of what is not as in Git":      func(g *v1alpha1.Gate) { g.Spec.Index = 1000 },
		"about another commit":          func(g *v1alpha1.Gate) { g.Spec.Commit = strings.Repeat("ab", 20) },
		"of another revision":           func(g *v1alpha1.Gate) { g.Spec.Revision = "8a8a" },
		"of no commit":                  func(g *v1alpha1.Gate) { g.Spec.Commit = "" },
		"of a step whose gate has none": func(g *v1alpha1.Gate) { g.Spec.Step = 2 },
	} {
		w := newWorld(t, k, template(1), approvals(1), soak(time.Minute))
		g := w.gates[0]
		change(g)
		if statement, found := proof.StatementOf(g, g.Status, w.release, w.source); found {
			t.Errorf("%s: want no statement, got %+v", name, statement)
		}
	}
}

// TestGatesOfAnyRelease: the default gates of steps, and the gates of rollbacks count, too.
func TestGatesOfAnyRelease(t *testing.T) {
	t.Parallel()
	k := newKeys(t, rand.NewChaCha8([32]byte{7}))
	byDefault := newWorld(t, k, template(1), soak(time.Minute), soak(time.Minute))
	byDefault.release.Spec.Strategy.Steps[0].Gates = nil
	byDefault.bundle.Gates = byDefault.bundle.Gates[:1]
	byDefault.gates = byDefault.gates[1:]
	byDefault.sign(t, 0)
	if got, words := outcomeOf(proof.Check(byDefault.bundle, k.roots()), proof.Gates); got != proof.NotEnough || !strings.Contains(words, "gate 1 after batch 1") {
		t.Errorf("want the gate missing that a step has by default, got %s: %s", got, words)
	}
	back := newWorld(t, k, template(1), soak(time.Minute), soak(time.Minute))
	back.release.Status.Rollback = &v1alpha1.RollbackRecord{}
	back.release.Spec.Rollback = &v1alpha1.RollbackStrategy{Steps: back.release.Spec.Strategy.Steps[1:]}
	back.bundle.Gates, back.gates = nil, back.gates[:1]
	back.sign(t, 0)
	if verdict := proof.Check(back.bundle, k.roots()); verdict.Outcome != proof.Proven {
		t.Errorf("want the rollback proven by its own gates, got %+v", verdict)
	}
}

// TestMixed: statements of other releases, attempts and times prove nothing about this one.
func TestMixed(t *testing.T) {
	t.Parallel()
	k := newKeys(t, rand.NewChaCha8([32]byte{8}))
	changed := func(change func(*world)) *world {
		w := newWorld(t, k, template(1), approvals(1), soak(time.Minute))
		change(w)
		w.sign(t, 0)
		w.sign(t, 1)
		return w
	}
	honest := changed(func(*world) {})
	for name, other := range map[string]*world{
		"another attempt":             changed(func(w *world) { w.gates[0].Spec.Attempt = 2 }),
		"another release of the name": changed(func(w *world) { w.gates[0].Spec.ReleaseRef.UID = "before" }),
		"another release":             changed(func(w *world) { w.gates[0].Spec.ReleaseRef.Name = "db" }),
		"another namespace":           changed(func(w *world) { w.gates[0].Namespace = "test" }),
		"another revision": changed(func(w *world) {
			w.gates[0].Spec.Revision, w.release.Status.Resolved.Revision = "8a8a", "8a8a"
			w.gates[1].Spec.Revision = "8a8a"
		}),
		"another template": changed(func(w *world) { w.release.Status.Resolved.Digest = "0" }),
		"another commit": changed(func(w *world) {
			w.release.Status.Commit = strings.Repeat("ab", 20)
			w.gates[0].Spec.Commit, w.gates[1].Spec.Commit = w.release.Status.Commit, w.release.Status.Commit
		}),
	} {
		mixed := *honest.bundle
		mixed.Gates = []proof.BundledGate{other.bundle.Gates[0], honest.bundle.Gates[1]}
		if verdict := proof.Check(&mixed, k.roots()); verdict.Outcome == proof.Proven {
			t.Errorf("%s: want it not proven, got %+v", name, verdict)
		}
	}
	for name, gates := range map[string][]proof.BundledGate{
		"the first alone": honest.bundle.Gates[:1], "the second alone": honest.bundle.Gates[1:], "none": nil,
		"one twice": {honest.bundle.Gates[0], honest.bundle.Gates[0]},
	} {
		mixed := *honest.bundle
		mixed.Gates = gates
		if verdict := proof.Check(&mixed, k.roots()); verdict.Outcome == proof.Proven {
			t.Errorf("%s: want it not proven, got %+v", name, verdict)
		}
	}
}

// TestEnvelopes: JSON that parsers read in different ways is refused, or read in the one way that
// was signed.
func TestEnvelopes(t *testing.T) {
	t.Parallel()
	k := newKeys(t, rand.NewChaCha8([32]byte{9}))
	w := newWorld(t, k, template(1), soak(time.Minute))
	honest := string(w.bundle.Gates[0].Envelope)
	other := newWorld(t, newKeys(t, rand.NewChaCha8([32]byte{10})), template(1), soak(time.Minute))
	for name, text := range map[string]string{
		"empty": "", "null": "null", "a list": "[]", "a number": "1e999999", "deep": strings.Repeat("[", 1900), "two": honest + honest,
		"another's": string(other.bundle.Gates[0].Envelope), "large": `{"payload":"` + strings.Repeat("A", 1<<20) + `"}`,
		"another payload behind":  strings.TrimSuffix(honest, "}") + `,"PAYLOAD":"e30="}`,
		"other signatures behind": strings.TrimSuffix(honest, "}") + `,"signatures":[]}`,
		"another type":            strings.Replace(honest, proof.PayloadType, "application/json", 1),
		"base64 with a line":      strings.Replace(honest, `"payload":"`, `"payload":"\n`, 1),
	} {
		if _, _, err := k.trusted.Open([]byte(text)); err == nil {
			t.Errorf("%s: want an error, got none", name)
		}
	}
}

// TestBundles: a bundle that can't be read in one way only, or that takes long, is refused.
func TestBundles(t *testing.T) {
	t.Parallel()
	k := newKeys(t, rand.NewChaCha8([32]byte{11}))
	w := newWorld(t, k, template(1), soak(time.Minute))
	encoded, err := json.Marshal(w.bundle)
	if err != nil {
		t.Fatal(err)
	}
	honest := string(encoded)
	for name, text := range map[string]string{
		"null": "null", "empty": "", "two": honest + honest, "unknown": strings.Replace(honest, `{"pod"`, `{"verdict":"Proven","pod"`, 1),
		"unknown in a pod":          strings.Replace(honest, `"spec":{`, `"spec":{"hostGPU":true,`, 1),
		"no template":               strings.Replace(honest, `"template":{`, `"template":null,"pod":{`, 1),
		"an amount that takes ages": strings.Replace(honest, `"64Mi"`, `"1e1000000000"`, 1),
		"the least amount":          strings.Replace(honest, `"64Mi"`, `"1e-1000000000"`, 1),
		"an amount without quotes":  strings.Replace(honest, `"64Mi"`, `1E+1000000000`, 1),
		"an amount with an escape":  strings.Replace(honest, `"64Mi"`, `"1\u00651000000000"`, 1),
		"an amount before another":  strings.Replace(honest, `"requests":{`, `"Requests":{"memory":"1e1000000000"},"requests":{`, 1),
	} {
		if _, err := proof.ParseBundle([]byte(text)); err == nil {
			t.Errorf("%s: want an error, got none", name)
		}
	}
	if _, err := proof.ParseBundle([]byte(strings.Replace(honest, `"labels":{`, `"labels":{"commit":"12e4567",`, 1))); err != nil {
		t.Errorf("want a label that looks like an amount read, got: %v", err)
	}
	w.bundle.Template.Spec.Containers, w.bundle.Pod.Spec.Containers = nil, nil
	for i := range 100_000 {
		w.bundle.Template.Spec.Containers = append(w.bundle.Template.Spec.Containers, corev1.Container{Name: fmt.Sprint(i)})
	}
	w.bundle.Pod.Spec.Containers = w.bundle.Template.Spec.Containers
	if began := time.Now(); proof.Check(w.bundle, k.roots()).Outcome == proof.Proven || time.Since(began) > time.Minute {
		t.Errorf("want many containers refused in less than a minute, got it in %s", time.Since(began))
	}
}

// TestLateClock: a controller whose clock is behind the API server's proves what it has decided.
func TestLateClock(t *testing.T) {
	t.Parallel()
	k := newKeys(t, rand.NewChaCha8([32]byte{12}))
	w := newWorld(t, k, template(1), v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}})
	w.gates[0].Status.DecidedAt.Time = w.gates[0].CreationTimestamp.Add(-5 * time.Second)
	w.sign(t, 0)
	if verdict := proof.Check(w.bundle, k.roots()); verdict.Outcome != proof.Proven {
		t.Errorf("want it proven, got %+v", verdict)
	}
	w = newWorld(t, k, template(1), soak(time.Minute))
	w.gates[0].Status.DecidedAt.Time = w.gates[0].CreationTimestamp.Add(-5 * time.Second)
	w.sign(t, 0)
	if verdict := proof.Check(w.bundle, k.roots()); verdict.Outcome != proof.Refuted {
		t.Errorf("want a soak refuted that ended before it began, got %+v", verdict)
	}
}

// TestPolicyOfAJob: a policy is the same one in whatever way its Job is written.
func TestPolicyOfAJob(t *testing.T) {
	t.Parallel()
	k := newKeys(t, rand.NewChaCha8([32]byte{13}))
	job := v1alpha1.JobGate{Name: "smoke", Template: &runtime.RawExtension{Raw: []byte(`{"spec": {"template": {"x": "<\u0041>", "n": 9007199254740993}}, "metadata": {}}`)}}
	w := newWorld(t, k, template(1), v1alpha1.GatePolicy{Job: &job})
	if verdict := proof.Check(w.bundle, k.roots()); verdict.Outcome != proof.Proven {
		t.Errorf("want it proven, got %+v", verdict)
	}
}

// TestNamesWithoutRoom: a rule about names is not proven by a statement that had no room for them.
func TestNamesWithoutRoom(t *testing.T) {
	t.Parallel()
	k := newKeys(t, rand.NewChaCha8([32]byte{14}))
	for _, numbered := range []bool{false, true} {
		policy := approvals(10)
		for i := range policy.PullRequest.Approvers {
			policy.PullRequest.Approvers[i] = strings.Repeat("a", 60) + policy.PullRequest.Approvers[i]
			if numbered {
				policy.PullRequest.Approvers[i] += fmt.Sprintf("#%d", 99+i)
			}
		}
		w := newWorld(t, k, template(1), policy)
		for i := range w.gates[0].Status.Evidence[1:] {
			w.gates[0].Status.Evidence[1+i].Actor = strings.Repeat("a", 60) + reviewer(int32(i))
		}
		w.sign(t, 0)
		want := map[bool]proof.Outcome{false: proof.NotEnough, true: proof.Proven}[numbered]
		if got, words := outcomeOf(proof.Check(w.bundle, k.roots()), proof.Gates); got != want {
			t.Errorf("numbered %t: want it %s, got %s: %s", numbered, want, got, words)
		}
		w.gates[0].Status.Evidence[1].ActorID = 6666
		w.sign(t, 0)
		want = map[bool]proof.Outcome{false: proof.NotEnough, true: proof.Refuted}[numbered]
		if got, words := outcomeOf(proof.Check(w.bundle, k.roots()), proof.Gates); got != want {
			t.Errorf("numbered %t, by another: want it %s, got %s: %s", numbered, want, got, words)
		}
	}
}
