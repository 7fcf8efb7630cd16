package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// errUnfinished says that the release did not complete in time.
var errUnfinished = errors.New("the release has not completed")

// show releases v2, and draws what happens to the requests until it is done.
func (s *stand) show(ctx context.Context) error {
	p := &picture{before: "v1", after: "v2"}
	if _, _, err := s.look(ctx); err != nil {
		return err
	}
	fmt.Printf("\n%s pushes a commit with v2, whose release has these steps:\n\n%s\n%s", developer, steps(), p.heading())
	commit, err := s.push(ctx, "v2")
	if err != nil {
		return err
	}
	p.last = moment{counts: s.load.Counts()}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	end := time.After(2 * patience)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end:
			return errUnfinished
		case <-ticker.C:
		}
		now, done, err := s.look(ctx)
		if err != nil {
			return err
		}
		fmt.Print(p.line(now))
		if done == commit {
			break
		}
	}
	fmt.Printf("\nThe release is complete, and the route is as it was. While each step stood, v2 answered:\n\n%s", p.summary())
	if failed := p.last.counts.Failed; failed > 0 {
		return fmt.Errorf("%d requests have failed: %v", failed, p.last.counts.Failures)
	}
	return nil
}

// steps returns the lines of the release with its steps.
func steps() string {
	var lines []string
	for line := range strings.Lines(release) {
		if strings.Contains(line, "replicas:") || strings.Contains(line, "soak") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// push commits a version as the developer does, and returns the commit.
func (s *stand) push(ctx context.Context, version string) (string, error) {
	s.began = time.Now()
	work := filepath.Join(s.dir, "work")
	address := strings.Replace(s.forge.CloneURL(repository), "://", "://"+developer+":"+s.token+"@", 1)
	if err := command(ctx, "", "", "git", "clone", "--quiet", address, work); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(work, "workload.yaml"), []byte(of(version)), 0o600); err != nil {
		return "", fmt.Errorf("write manifest: %w", err)
	}
	if err := command(ctx, work, "", "git", "commit", "--quiet", "--all", "--message", version); err != nil {
		return "", err
	}
	if err := command(ctx, work, "", "git", "push", "--quiet"); err != nil {
		return "", err
	}
	head, err := os.ReadFile(filepath.Join(work, ".git", "refs", "heads", "main"))
	if err != nil {
		return "", fmt.Errorf("read commit: %w", err)
	}
	return strings.TrimSpace(string(head)), nil
}

// look returns what there is to be seen now, and the commit whose release is complete.
func (s *stand) look(ctx context.Context) (moment, string, error) {
	pods, err := s.pods(ctx)
	if err != nil {
		return moment{}, "", err
	}
	r := &v1alpha1.BatchRelease{}
	if err := s.cluster.Get(ctx, client.ObjectKey{Namespace: name, Name: name}, r); err != nil {
		return moment{}, "", fmt.Errorf("read release: %w", err)
	}
	now := moment{at: time.Since(s.began), counts: s.load.Counts(), pods: pods, stands: r.Status.CurrentStepState == v1alpha1.StepBlocking}
	route := &gatewayv1.HTTPRoute{}
	if err := s.cluster.Get(ctx, client.ObjectKey{Namespace: name, Name: name}, route); err != nil {
		return moment{}, "", fmt.Errorf("read route: %w", err)
	}
	now.weight, now.shared = weightOf(route.Spec.Rules[0].BackendRefs)
	if r.Status.Phase == v1alpha1.PhaseCompleted && r.Status.Traffic == nil {
		return now, r.Status.Commit, nil
	}
	return now, "", nil
}

// weightOf returns the percentage that a rule gives the new version, and whether it tells versions
// apart.
func weightOf(backends []gatewayv1.HTTPBackendRef) (weight int32, shared bool) {
	var all, canary int32
	for _, b := range backends {
		all += *b.Weight
		switch b.Name {
		case name + "-canary":
			canary, shared = *b.Weight, true
		case name + "-stable":
			shared = true
		}
	}
	return 100 * canary / max(all, 1), shared
}
