package proof_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/pem"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/gitsync/verify"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/proof"
)

// noon is when the release of a world began.
var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// keys of a world.
type keys struct {
	controller *proof.Key
	trusted    proof.Trusted
	signer     ssh.Signer
	signers    *verify.Keys
}

func newKeys(t testing.TB, random *rand.ChaCha8) keys {
	t.Helper()
	_, private, err := ed25519.GenerateKey(random)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	k := keys{}
	if k.controller, err = proof.ParseKey(pem.EncodeToMemory(block)); err != nil {
		t.Fatal(err)
	}
	public, err := ssh.NewPublicKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	if k.trusted, err = proof.ParseTrusted("sluice " + string(ssh.MarshalAuthorizedKey(public))); err != nil {
		t.Fatal(err)
	}
	_, person, err := ed25519.GenerateKey(random)
	if err != nil {
		t.Fatal(err)
	}
	if k.signer, err = ssh.NewSignerFromKey(person); err != nil {
		t.Fatal(err)
	}
	line := "ada@example.com " + string(ssh.MarshalAuthorizedKey(k.signer.PublicKey()))
	if k.signers, err = verify.Read(map[string][]byte{"allowed_signers": []byte(line)}); err != nil {
		t.Fatal(err)
	}
	return k
}

func (k keys) roots() proof.Roots { return proof.Roots{Controllers: k.trusted, Signers: k.signers} }

// commit returns a signed commit.
func (k keys) commit(t testing.TB, subject string) []byte {
	t.Helper()
	header := fmt.Sprintf("tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor Ada <ada@example.com> %d +0000\ncommitter Ada <ada@example.com> %d +0000\n",
		noon.Unix(), noon.Unix())
	message := "\n" + subject + "\n"
	signature, err := sshsig.Sign(strings.NewReader(header+message), k.signer, sshsig.HashSHA512, "git")
	if err != nil {
		t.Fatal(err)
	}
	armored := strings.TrimSuffix(string(bytes.TrimSpace(sshsig.Armor(signature))), "\n")
	return []byte(header + "gpgsig " + strings.ReplaceAll(armored, "\n", "\n ") + "\n" + message)
}

const pinned = "registry.example.com/web@sha256:"

// digest returns a digest of an image.
func digest(n int) string { return fmt.Sprintf("%064x", n+1) }

// template returns one with the API server's defaults.
func template(containers int) *corev1.PodTemplateSpec {
	made := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyAlways, DNSPolicy: corev1.DNSClusterFirst, SchedulerName: "default-scheduler",
			TerminationGracePeriodSeconds: new(int64(30)), SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true)},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		},
	}
	for i := range containers {
		made.Spec.Containers = append(made.Spec.Containers, corev1.Container{
			Name: fmt.Sprintf("c%d", i), Image: pinned + digest(i), Command: []string{"/web"}, Args: []string{"--listen", ":8080"},
			Env: []corev1.EnvVar{{Name: "MODE", Value: "production"}}, ImagePullPolicy: corev1.PullIfNotPresent,
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile,
			Ports:        []corev1.ContainerPort{{ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
			VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
			Resources:    corev1.ResourceRequirements{Requests: corev1.ResourceList{"memory": resource.MustParse("64Mi")}},
		})
	}
	return made
}

// podOf returns a pod of a template, as the API server, the scheduler and the kubelet leave it.
func podOf(template *corev1.PodTemplateSpec) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-7f9c-x2x4", UID: "pod", Labels: map[string]string{"pod-template-hash": "7f9c"}},
		Spec:       *template.Spec.DeepCopy(),
	}
	maps.Copy(pod.Labels, template.Labels)
	pod.Spec.NodeName, pod.Spec.ServiceAccountName, pod.Spec.DeprecatedServiceAccount = "node-1", "default", "default"
	pod.Spec.EnableServiceLinks, pod.Spec.Priority = new(true), new(int32(0))
	pod.Spec.Tolerations = []corev1.Toleration{{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists}}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "kube-api-access-abcde", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(3607))}},
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
			{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}},
		}}},
	}}}})
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "kube-api-access-abcde", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"})
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: container.Name, ImageID: container.Image})
	}
	return pod
}

// world is a release whose gates have passed.
type world struct {
	keys
	release *v1alpha1.BatchRelease
	source  *v1alpha1.ReleaseSource
	gates   []*v1alpha1.Gate
	bundle  *proof.Bundle
}

// newWorld returns the release of a template through gates of some policies, one after each batch.
func newWorld(t testing.TB, k keys, tmpl *corev1.PodTemplateSpec, policies ...v1alpha1.GatePolicy) *world {
	t.Helper()
	raw := k.commit(t, "Release web")
	digest, err := podtemplate.Digest(tmpl)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		keys: k,
		source: &v1alpha1.ReleaseSource{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "main"}, Spec: v1alpha1.ReleaseSourceSpec{URL: "https://github.com/example/shop"},
		},
		release: &v1alpha1.BatchRelease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid-web"},
			Status:     v1alpha1.BatchReleaseStatus{Commit: verify.NameOf(raw), Resolved: &v1alpha1.ResolvedTemplate{Digest: digest, Revision: "7f9c"}},
		},
		bundle: &proof.Bundle{Pod: podOf(tmpl), Revision: "7f9c", Template: tmpl, Release: "shop/web", Commit: raw},
	}
	for _, policy := range policies {
		w.release.Spec.Strategy.Steps = append(w.release.Spec.Strategy.Steps, v1alpha1.Step{Gates: []v1alpha1.GatePolicy{policy}})
	}
	w.release.Spec.Strategy.Steps = append(w.release.Spec.Strategy.Steps, v1alpha1.Step{})
	for i, policy := range policies {
		g := &v1alpha1.Gate{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("web-7f9c-3-%d-0", i), CreationTimestamp: metav1.NewTime(noon.Add(time.Duration(i) * time.Hour))},
			Spec: v1alpha1.GateSpec{
				ReleaseRef: v1alpha1.ReleaseReference{Name: "web", UID: types.UID("uid-web")}, Revision: "7f9c", Attempt: 3,
				Commit: verify.NameOf(raw), Step: int32(i), Type: policy.Type(), Policy: policy,
			},
		}
		g.Status = passedBy(g)
		w.gates = append(w.gates, g)
		w.sign(t, i)
	}
	return w
}

// sign puts the statement about a gate, as it is now, into the bundle.
func (w *world) sign(t testing.TB, i int) {
	t.Helper()
	statement, found := proof.StatementOf(w.gates[i], w.gates[i].Status, w.release, w.source)
	if !found {
		t.Fatal("want a statement, got none")
	}
	envelope, err := w.controller.Sign(statement)
	if err != nil {
		t.Fatal(err)
	}
	made := proof.BundledGate{Envelope: envelope, Policy: &w.gates[i].Spec.Policy}
	if i < len(w.bundle.Gates) {
		w.bundle.Gates[i] = made
		return
	}
	w.bundle.Gates = append(w.bundle.Gates, made)
}

// passedBy returns the status of a gate that passed by its policy.
func passedBy(g *v1alpha1.Gate) v1alpha1.GateStatus {
	at := g.CreationTimestamp.Add(30 * time.Minute)
	status := v1alpha1.GateStatus{Decision: v1alpha1.DecisionPassed, DecidedAt: new(metav1.NewTime(at))}
	add := func(kind, actor string, actorID, id int64, sha string) {
		status.Evidence = append(status.Evidence, v1alpha1.Evidence{
			Kind: kind, Actor: actor, ActorID: actorID, ID: id, SHA: sha, Time: new(metav1.NewTime(at.Add(-time.Minute))),
			URL: "https://github.com/example/shop/pull/12", Detail: "put a file onto a branch",
		})
	}
	switch policy := g.Spec.Policy; {
	case policy.PullRequest != nil:
		add(gate.EvidencePullRequestMerged, "grace", 7, 12, strings.Repeat("ab", 20))
		for i := range policy.PullRequest.MinApprovals {
			add(gate.EvidenceReview, reviewer(i), int64(100+i), 987654321+int64(i), strings.Repeat("cd", 20))
		}
		if policy.PullRequest.ForbidSelfApproval {
			status.Contributors = []int64{1, 2}
		}
	case policy.CommitStatus != nil:
		add(gate.EvidenceCommitStatus, "ci", 9, 1234, g.Spec.Commit)
	case policy.CheckRun != nil:
		add(gate.EvidenceCheckRun, "github-actions", 15368, 1234, g.Spec.Commit)
	case policy.Soak != nil:
		add(gate.EvidenceSoakElapsed, "", 0, 0, "")
	case policy.Window != nil:
		add(gate.EvidenceWindowOpen, "", 0, 0, "")
	case policy.Job != nil:
		add(gate.EvidenceJobSucceeded, "", 0, 0, "")
	case policy.Manual != nil:
		add(gate.EvidenceAnswer, "grace", 0, 0, "")
	}
	return status
}

func reviewer(i int32) string { return fmt.Sprintf("reviewer-%d", i) }

// approvals returns the policy of an approval by so many reviewers.
func approvals(least int32) v1alpha1.GatePolicy {
	policy := &v1alpha1.PullRequestGate{MinApprovals: least, ForbidSelfApproval: true, Approvers: []string{"grace"}}
	for i := range least {
		policy.Approvers = append(policy.Approvers, reviewer(i))
	}
	return v1alpha1.GatePolicy{PullRequest: policy}
}

func soak(d time.Duration) v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{Soak: &v1alpha1.SoakGate{Duration: metav1.Duration{Duration: d}}}
}

func status() v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{CommitStatus: &v1alpha1.CommitStatusGate{Context: "ci/smoke", Creators: []string{"CI"}, SinceOpened: true}}
}
