package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// charted returns what the third act releases: the chart of examples/chart, as Helm upgrades it.
func charted() cast {
	return cast{kind: "Deployment", name: "web", images: []string{"nginx:1.27", "nginx:1.28"}}
}

// third plays the act without a repository: Helm upgrades a chart, and the release in the chart
// holds the new version until somebody approves it.
func third(ctx context.Context, o options, env *environment) error {
	begun := time.Now()
	env.screen.chapter("Third act: helm upgrade, without a repository")
	s, err := env.rehearse(ctx, o, &stage{namespace: "charts"}, charted(), "chart: ")
	if err != nil {
		return err
	}
	defer s.panel(ctx)()
	if err := env.cluster.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}); err != nil {
		return fmt.Errorf("create namespace: %w", err)
	}
	s.versions = append(s.versions, &version{number: 1, image: s.images[0], pushed: time.Now()})
	if err := s.helm(ctx, "install", s.name, "examples/chart"); err != nil {
		return err
	}
	if err := s.deployed(ctx, s.latest()); err != nil {
		return err
	}
	s.claims.images[""] = s.images[1]
	s.versions = append(s.versions, &version{number: 2, image: s.images[1], pushed: time.Now()})
	if err := s.upgrade(ctx, s.latest()); err != nil {
		return err
	}
	found := s.claims.check(s.watch.all())
	env.screen.chapter("Summary of the third act")
	env.screen.print(kindSummary(env.screen.start, []*story{s}, []findings{found}))
	env.screen.say("the third act took %s", since(begun, time.Now()))
	return verdict(env.screen, found.broken, len(s.watch.all()))
}

// upgrade has Helm write a version, and follows it through its gate.
func (s *story) upgrade(ctx context.Context, v *version) error {
	if err := s.helm(ctx, "upgrade", s.name, "examples/chart", "--set", "image="+v.image); err != nil {
		return err
	}
	gate, err := s.awaitGate(ctx, v, 0)
	if err != nil {
		return err
	}
	if err := s.options.lookAround(ctx); err != nil {
		return err
	}
	if err := s.claim(ctx, v, gate, approver, "sluice approve"); err != nil {
		return err
	}
	if err := s.answer(ctx, gate); err != nil {
		return err
	}
	s.screen.say("%s: $ sluice approve %s -n %s", approver, s.name, s.namespace)
	_, err = s.await(ctx, fmt.Sprintf("%s is released", v), func(scene *scene) bool {
		release := scene.release
		return release.Status.Phase == v1alpha1.PhaseCompleted && scene.tallies()[v.image].available == s.claims.replicas && scene.total().ending == 0
	})
	if err != nil {
		return err
	}
	v.finished = time.Now()
	s.screen.say("%s is released to all %d pods; the %s has the strategy of its chart again", v, s.claims.replicas, s.kind)
	return nil
}

// answer approves a gate as sluice approve does.
func (s *story) answer(ctx context.Context, gate *v1alpha1.Gate) error {
	config := rest.CopyConfig(s.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: approver, Groups: []string{"system:masters"}}
	as, err := client.New(config, client.Options{Scheme: s.cluster.Scheme()})
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	scene, _ := s.watch.now()
	answered := scene.release.DeepCopy()
	answered.Status.Answers = []v1alpha1.Answer{{Gate: gate.UID, Verdict: v1alpha1.VerdictApprove, By: approver}}
	if err := as.Status().Patch(ctx, answered, client.MergeFrom(scene.release)); err != nil {
		return fmt.Errorf("approve: %w", err)
	}
	return nil
}

// helmProgram returns the path of the real Helm, which make demo builds.
var helmProgram = sync.OnceValues(func() (string, error) {
	return controlplane.GoOutput(context.Background(), "helm", "tool", "-n", "helm")
})

// helm runs Helm from the root of the checkout.
func (s *story) helm(ctx context.Context, args ...string) error {
	program, err := helmProgram()
	if err != nil {
		return err
	}
	begun := time.Now()
	cmd := exec.CommandContext(ctx, program, append(args, "--namespace", s.namespace)...)
	if cmd.Dir, err = controlplane.InCheckout("."); err != nil {
		return fmt.Errorf("find chart: %w", err)
	}
	home := s.state.join("helm")
	cmd.Env = append(cmd.Environ(), "KUBECONFIG="+s.plane.Kubeconfig, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("helm %s: %w: %s", strings.Join(args, " "), err, said.String())
	}
	s.screen.say("%s: $ helm %s -n %s   # returned after %s", developer, strings.Join(args, " "), s.namespace, since(begun, time.Now()))
	return nil
}
