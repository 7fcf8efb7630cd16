package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

// speed is a bench of a StatefulSet whose server has the feature gate off with which the native
// controller replaces several pods at a time, as most servers have, and of the native controller
// with it on.
type speed struct {
	fleet
	// limits are Sluice's time limits with each policy; zero means none.
	limits []policyLimit
}

type policyLimit struct {
	policy appsv1.PodManagementPolicyType
	limit  time.Duration
}

// maxUnavailableGate is off by default.
const maxUnavailableGate = "MaxUnavailableStatefulSet"

func gateArg(on bool) string { return fmt.Sprintf("--feature-gates=%s=%t", maxUnavailableGate, on) }

// policyTimes are the samples of one policy, one for each run.
type policyTimes struct {
	policyLimit
	native, gated, sluice []sample
}

func (s speed) run(ctx context.Context, k *kit, runs int) (report, error) {
	var all []policyTimes
	for _, limit := range s.limits {
		times, err := s.measure(ctx, k, runs, limit)
		if err != nil {
			return report{}, fmt.Errorf("measure %s: %w", limit.policy, err)
		}
		all = append(all, times)
	}
	return speedReport(all), nil
}

// measure takes the three sides in turn.
func (s speed) measure(ctx context.Context, k *kit, runs int, limit policyLimit) (policyTimes, error) {
	c := comparison{fleet: s.fleet}
	c.policy = limit.policy
	times := policyTimes{policyLimit: limit}
	inSteps := func(ctx context.Context, l *lab) (sample, error) { return c.inSteps(ctx, l, c.sluice()) }
	for _, side := range []struct {
		name  string
		gate  bool
		do    func(context.Context, *lab) (sample, error)
		taken *[]sample
	}{{"native", false, c.native, &times.native}, {"native with the gate", true, c.native, &times.gated}, {"Sluice", false, inSteps, &times.sluice}} {
		for run := range runs {
			err := k.inLabOf(ctx, c.lab(gateArg(side.gate)), func(ctx context.Context, l *lab) error {
				got, err := side.do(ctx, l)
				*side.taken = append(*side.taken, got)
				return err
			})
			if err != nil {
				return times, err
			}
			k.say("  run %d of %d, %s, %s: %s", run+1, runs, limit.policy, side.name, (*side.taken)[run].headline())
		}
	}
	return times, nil
}

func speedReport(all []policyTimes) report {
	var rows []row
	for _, times := range all {
		ours := median(of(times.sluice, wallOf))
		first := row{label: "wall time, " + string(times.policy), native: seconds(median(of(times.native, wallOf))), sluice: seconds(ours)}
		if times.limit > 0 {
			first.wanted, first.verdict = "<= "+seconds(times.limit), atMost(ours, times.limit)
		}
		counted := func(s sample) int { return total(s.requests) }
		typical := middle(times.sluice, counted)
		rows = append(
			rows, first, row{label: "  with " + maxUnavailableGate, native: seconds(median(of(times.gated, wallOf)))},
			row{label: "  API requests", sluice: fmt.Sprintf("%d (%s)", counted(typical), verbs(typical.requests))},
		)
	}
	return report{rows: rows}
}
