package journeys

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// byDigest is an image by its digest.
const byDigest = "web@sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"

// command builds the command, once.
var command = sync.OnceValues(func() (string, error) {
	source, err := controlplane.InCheckout("cmd/sluice")
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "sluice")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "sluice"), ".")
	build.Dir = source
	if out, err := build.CombinedOutput(); err != nil {
		return "", errors.Join(err, errors.New(string(out)))
	}
	return filepath.Join(dir, "sluice"), nil
})

// sluice runs the command and returns its exit code and what it printed.
func (w *world) sluice(args ...string) (int, string) {
	w.Helper()
	binary, err := command()
	if err != nil {
		w.Fatal(err)
	}
	cmd := exec.CommandContext(w.Context(), binary, append(args, "--namespace", w.namespace, "--kubeconfig", w.access.Kubeconfig)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		w.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// wantSluice requires an exit code, and words of what is printed.
func (w *world) wantSluice(code int, words []string, args ...string) {
	w.Helper()
	got, out := w.sluice(args...)
	if got != code {
		w.Errorf("sluice %s: want exit code %d, got %d:\n%s", strings.Join(args, " "), code, got, out)
	}
	for _, word := range words {
		if !strings.Contains(out, word) {
			w.Errorf("sluice %s: want %q in:\n%s", strings.Join(args, " "), word, out)
		}
	}
}

// TestProvenPod: a pod is proven from its image to the signature of the commit and to the reviewer,
// with the cluster and without; a bundle that was changed is refuted, and without a key nothing is
// proven. ssh-keygen and a page of shell find the same. Once the gates are gone, the repository has
// what they said.
func TestProvenPod(t *testing.T) {
	w := newForgeWorld(t, step(1, pullRequest(v1alpha1.PullRequestGate{MinApprovals: 1, ForbidSelfApproval: true, Approvers: []string{"grace"}})), step("50%", soak(time.Second)), step("100%"))
	s := w.sign("ada", "controller", "mallory")
	w.options = func(o *app.Options) { o.AttestationKey = s.keys["controller"].File }
	w.startWithForge(time.Second)
	s.signs("ada", s.image(byDigest))
	number := w.awaitPull(0)
	w.as("grace").Do(http.MethodPost, fmt.Sprintf("pulls/%d/reviews", number), map[string]string{"event": "APPROVE", "body": "Good."}, nil)
	w.as("grace").Merge(number, "merge")
	w.await(all(web.completed, web.serves(byDigest, 10)))
	s.git(s.folder, "fetch", "--quiet", "origin")

	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	controllers, signers := file("controllers", "sluice "+s.keys["controller"].Public+"\n"), file("signers", s.lines("ada"))
	others, bundle := file("others", s.keys["mallory"].Public+"\n"), filepath.Join(dir, "web.json")
	pod := w.podOf(byDigest)
	trace := func(args ...string) []string { return append([]string{"trace", "--verify"}, args...) }
	w.wantSluice(0, []string{"Proven   Image", "Proven   Commit", "signed by ada@example.com", "merged by grace, approved by grace", "gate 1 after batch 2 (soak)"},
		trace(pod, "--attestation-keys", controllers, "--signers", signers, "--repository", s.folder, "--save-bundle", bundle)...)
	w.wantSluice(2, []string{"give --signers"}, trace(pod, "--attestation-keys", controllers, "--repository", s.folder)...)
	w.wantSluice(2, []string{"which is not trusted"}, trace(pod, "--attestation-keys", others, "--signers", signers, "--repository", s.folder)...)
	w.wantSluice(0, []string{"Proven   Gates"}, trace("--bundle", bundle, "--attestation-keys", controllers, "--signers", signers)...)
	text, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	forged := file("forged.json", strings.ReplaceAll(string(text), "5891b5b5", "5891b5b6"))
	w.wantSluice(1, []string{"Refuted   Template"}, trace("--bundle", forged, "--attestation-keys", controllers, "--signers", signers)...)
	w.shellAgrees(s, controllers, signers)

	cptest.Eventually(w, soon, func() error {
		for _, gate := range w.now().gates {
			if gate.Spec.Commit != "" && !gate.Status.AttestationKept {
				return fmt.Errorf("want the statement about gate %s kept", gate.Name)
			}
		}
		return nil
	})
	if err := w.DeleteAllOf(t.Context(), &v1alpha1.Gate{}, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	cptest.Eventually(w, soon, func() error {
		if left := len(w.now().gates); left > 0 {
			return fmt.Errorf("want no gates, got %d", left)
		}
		return nil
	})
	checked := trace(pod, "--attestation-keys", controllers, "--signers", signers, "--repository", s.folder)
	w.wantSluice(2, []string{"no statement says"}, checked...)
	s.git(s.folder, "fetch", "--quiet", "origin", "refs/sluice/*:refs/sluice/*")
	w.wantSluice(0, []string{"approved by grace, ", "gate 1 after batch 2 (soak)"}, checked...)
}

// shellAgrees requires that the page of shell in docs/proof.md accepts the statement of the first
// gate, and not one that was changed.
func (w *forgeWorld) shellAgrees(s *signedWorld, controllers, signers string) {
	w.Helper()
	page, err := controlplane.InCheckout("docs/proof.md")
	if err != nil {
		w.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		w.Fatal(err)
	}
	_, script, _ := strings.Cut(string(text), "```sh\n#!/bin/sh\n")
	script, _, _ = strings.Cut(script, "```")
	dir := w.TempDir()
	var envelope string
	for _, gate := range w.now().gates {
		if gate.Spec.Type == v1alpha1.GatePullRequest {
			envelope = gate.Status.Attestation
		}
	}
	run := func(envelope string) error {
		for name, text := range map[string]string{"check": script, "envelope": envelope} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				w.Fatal(err)
			}
		}
		out, err := exec.CommandContext(w.Context(), "sh", filepath.Join(dir, "check"), filepath.Join(dir, "envelope"), controllers, s.folder, signers).CombinedOutput()
		if err != nil {
			return errors.Join(err, errors.New(string(out)))
		}
		if !strings.Contains(string(out), `"actor":"grace"`) {
			w.Errorf("want the reviewer in what the page prints, got:\n%s", out)
		}
		return nil
	}
	if err := run(envelope); err != nil {
		w.Errorf("want the page of shell to accept the statement, got: %v", err)
	}
	_, rest, _ := strings.Cut(envelope, `"payload":"`)
	if run(strings.Replace(envelope, rest[:100], rest[:99]+"B", 1)) == nil {
		w.Error("the page of shell accepts a statement that was changed")
	}
}
