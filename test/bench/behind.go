package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals"
	"github.com/sluice-dev/sluice/forge/connect"
	"github.com/sluice-dev/sluice/internal/dialer"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// behind is a bench of many releases whose statuses a forge has no room for. The forge enforces
// GitHub's two kinds of limit in windows of seconds. The reports are the product's own; the bench
// plays the rollouts.
type behind struct {
	fleet
	// requests and writes are the forge's limits in a window, and ceiling is the controller's own limit
	// on writes in an hour.
	requests, writes, ceiling int
	window, outage            time.Duration
}

// heard counts the statuses that a forge has in the end.
type heard struct {
	// statuses that were posted, contexts with an outcome, and statuses after the outcome of theirs.
	statuses, outcomes, late int
	// refused are requests that met a limit of the forge.
	refused int
	took    time.Duration
}

// run releases once, whatever the number of runs.
func (b behind) run(ctx context.Context, k *kit, _ int) (report, error) {
	var h heard
	err := k.inLab(ctx, func(ctx context.Context, l *lab) (err error) {
		s := &shop{lab: l, fleet: b.fleet, tokens: map[string]string{}}
		defer func() {
			for _, stop := range s.stops {
				err = errors.Join(err, stop())
			}
		}()
		h, err = b.measure(ctx, s)
		return err
	})
	if err != nil {
		return report{}, err
	}
	return b.report(h), nil
}

func (b behind) measure(ctx context.Context, s *shop) (h heard, err error) {
	if err := s.openForge(ctx); err != nil {
		return h, err
	}
	commit, err := s.push(ctx, 2)
	if err != nil {
		return h, err
	}
	stop, err := b.startApprovals(ctx, s.lab)
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := b.createSource(ctx, s); err != nil {
		return h, err
	}
	s.forge.SetLimits(devforge.Limits{Window: b.window}) // another program has used up the hour
	begin := time.Now()
	if err := b.atOnce(ctx, func(ctx context.Context, name string) error { return b.begin(ctx, s, name, commit) }); err != nil {
		return h, fmt.Errorf("begin releases: %w", err)
	}
	s.say("  %d releases have begun after %s", b.deployments, seconds(time.Since(begin)))
	s.forge.SetLimits(b.limits())
	if err := b.atOnce(ctx, func(ctx context.Context, name string) error { return b.complete(ctx, s, name) }); err != nil {
		return h, fmt.Errorf("complete releases: %w", err)
	}
	s.say("  they have completed after %s", seconds(time.Since(begin)))
	s.forge.SetLimits(devforge.Limits{Window: b.window}) // and again
	if err := pass(ctx, b.outage); err != nil {
		return h, err
	}
	s.forge.SetLimits(b.limits())
	if err := b.awaitReports(ctx, s, commit); err != nil {
		return h, err
	}
	took := time.Since(begin)
	for _, r := range s.asked() {
		if r.Status == http.StatusForbidden {
			h.refused++
		}
	}
	s.forge.SetLimits(devforge.Limits{Requests: 1 << 30, Window: time.Hour})
	err = h.read(ctx, s, commit)
	h.took = took
	return h, err
}

func (b behind) limits() devforge.Limits {
	return devforge.Limits{Requests: b.requests, Window: b.window, Writes: b.writes, WritesWindow: b.window}
}

// startApprovals runs the product's approvals, and no other part of it.
func (b behind) startApprovals(ctx context.Context, l *lab) (stop func() error, err error) {
	cfg, err := l.plane.Config()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	cfg.QPS = -1
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: l.client.Scheme(), Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		return nil, fmt.Errorf("make manager: %w", err)
	}
	forges := connect.New(connect.Common{AllowHTTP: true, Networks: dialer.Rules{Allowed: dialer.Loopback()}, WritesPerHour: b.ceiling})
	if err := approvals.Setup(mgr, approvals.Options{Forges: forges}); err != nil {
		return nil, fmt.Errorf("set up approvals: %w", err)
	}
	life, end := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- mgr.Start(life) }()
	return func() error {
		end()
		return <-done
	}, nil
}

func (b behind) createSource(ctx context.Context, s *shop) error {
	for _, object := range []client.Object{
		secretNamed("forge", map[string]string{"token": s.tokens[releaser]}),
		&v1alpha1.ReleaseSource{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: shopSource},
			Spec: v1alpha1.ReleaseSourceSpec{
				URL: s.forge.CloneURL(shopRepository), Ref: v1alpha1.GitReference{Branch: branch},
				Forge: &v1alpha1.Forge{
					BaseURL: s.forge.URL(), Owner: shopOwner, Repo: shopName, SecretRef: v1alpha1.LocalReference{Name: "forge"},
				},
			},
		},
	} {
		if err := s.client.Create(ctx, object); err != nil {
			return fmt.Errorf("create %s: %w", object.GetName(), err)
		}
	}
	return nil
}

// begin makes a release that is in its first batch.
func (b behind) begin(ctx context.Context, s *shop, name, commit string) error {
	release := &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name,
			Labels: map[string]string{v1alpha1.SourceLabel: shopSource}, Annotations: map[string]string{v1alpha1.CommitAnnotation: commit},
		},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			Strategy:    v1alpha1.ReleaseStrategy{Steps: b.steps},
		},
	}
	if err := s.client.Create(ctx, release); err != nil {
		return fmt.Errorf("create release: %w", err)
	}
	return b.change(ctx, s, name, func(status *v1alpha1.BatchReleaseStatus) {
		status.Phase, status.CurrentStepState, status.State = v1alpha1.PhaseRollingUpdate, v1alpha1.StepUpgrade, v1alpha1.StateRolling
		status.Commit, status.UpdateRevision, status.Attempt, status.StepStartedAt = commit, "7f9c", 1, new(metav1.Now())
		status.Replicas, status.TargetReplicas = b.pods, 1
	})
}

// complete ends a release.
func (b behind) complete(ctx context.Context, s *shop, name string) error {
	return b.change(ctx, s, name, func(status *v1alpha1.BatchReleaseStatus) {
		status.Phase, status.State, status.UpdatedReplicas = v1alpha1.PhaseCompleted, v1alpha1.StateCompleted, b.pods
	})
}

// change changes the fields of a status that are the rollout's.
func (b behind) change(ctx context.Context, s *shop, name string, to func(*v1alpha1.BatchReleaseStatus)) error {
	changed := releaseNamed(name)
	before := changed.DeepCopy()
	to(&changed.Status)
	if err := s.client.Status().Patch(ctx, changed, client.MergeFrom(before), client.FieldOwner(v1alpha1.OwnerRollout)); err != nil {
		return fmt.Errorf("write status of %s: %w", name, err)
	}
	return nil
}

// awaitReports waits until the outcome of each release is recorded as posted.
func (b behind) awaitReports(ctx context.Context, s *shop, commit string) error {
	for {
		var all v1alpha1.BatchReleaseList
		if err := s.client.List(ctx, &all, client.InNamespace(namespace)); err != nil {
			return fmt.Errorf("list releases: %w", err)
		}
		told := 0
		for i := range all.Items {
			if last := all.Items[i].Status.Report; last != nil && last.State == "success" && last.Commit == commit {
				told++
			}
		}
		s.say("  %d of %d outcomes are posted", told, b.deployments)
		if told == b.deployments {
			return nil
		}
		if err := pass(ctx, 5*settle); err != nil {
			return err
		}
	}
}

// read reads all statuses of a commit, newest first.
func (h *heard) read(ctx context.Context, s *shop, commit string) error {
	type status struct{ Context, State string }
	ended := map[string]bool{}
	begun := map[string]bool{}
	for page := 1; ; page++ {
		address := fmt.Sprintf("%srepos/%s/commits/%s/statuses?per_page=100&page=%d", s.forge.APIURL(), shopRepository, commit, page)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
		if err != nil {
			return fmt.Errorf("read statuses: %w", err)
		}
		request.Header.Set("Authorization", "Bearer "+s.tokens[approver])
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return fmt.Errorf("read statuses: %w", err)
		}
		var listed []status
		err = errors.Join(json.NewDecoder(answer.Body).Decode(&listed), answer.Body.Close())
		if err != nil {
			return fmt.Errorf("read statuses: %w", err)
		}
		if len(listed) == 0 {
			break
		}
		for _, one := range listed {
			h.statuses++
			switch {
			case one.State == "success":
				ended[one.Context] = true
			case !ended[one.Context] && !begun[one.Context]: // nothing newer has an outcome
				h.late++
			}
			begun[one.Context] = true
		}
	}
	delete(ended, "sluice/sync")
	h.outcomes = len(ended)
	return nil
}

func (b behind) report(h heard) report {
	missing := b.deployments - h.outcomes
	return report{rows: []row{
		{label: "outcomes that the forge lacks", sluice: fmt.Sprint(missing), wanted: "0", verdict: atMost(missing, 0)},
		{label: "statuses after the outcome of their release", sluice: fmt.Sprint(h.late), wanted: "0", verdict: atMost(h.late, 0)},
		{label: "statuses posted", sluice: fmt.Sprint(h.statuses)},
		{label: "requests that met a limit of the forge", sluice: fmt.Sprint(h.refused)},
		{label: "from the first release to the last status", sluice: seconds(h.took)},
	}}
}
