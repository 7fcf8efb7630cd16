package gate

import (
	"fmt"
	"testing"
	"time"
	_ "time/tzdata" // the zones below are there on every machine

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// made is when the gates of these tests were made.
var made = time.Date(2026, time.October, 5, 12, 0, 0, 0, time.UTC) // a Monday

func manualPolicy() v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}}
}

func soakPolicy(d time.Duration) v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{Soak: &v1alpha1.SoakGate{Duration: metav1.Duration{Duration: d}}}
}

func windowPolicy(schedule, zone string) v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{Window: &v1alpha1.WindowGate{Schedule: schedule, TimeZone: zone}}
}

// newGate returns the gate after step 1 of attempt 3 at revision 7f9c.
func newGate(policy v1alpha1.GatePolicy) *v1alpha1.Gate {
	gateType := v1alpha1.GateManual
	if set := typesOf(&policy); len(set) > 0 {
		gateType = set[0]
	}
	return &v1alpha1.Gate{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-7f9c-3-1-0", CreationTimestamp: metav1.NewTime(made),
		},
		Spec: v1alpha1.GateSpec{
			ReleaseRef: v1alpha1.ReleaseReference{Name: "web", UID: "uid-web"},
			Revision:   "7f9c", Attempt: 3, Step: 1, Type: gateType, Policy: policy,
		},
	}
}

// blockedOn returns the release that waits for g.
func blockedOn(g *v1alpha1.Gate) *v1alpha1.BatchRelease {
	return &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid-web"},
		Status: v1alpha1.BatchReleaseStatus{
			Attempt: 3, UpdateRevision: "7f9c", CurrentStepIndex: 1,
			CurrentStepState: v1alpha1.StepBlocking,
			Gates:            []v1alpha1.GateReference{{Name: g.Name, Type: g.Spec.Type, Decision: v1alpha1.DecisionWaiting}},
		},
	}
}

// beside adds a second gate to the batch.
func beside(gateType v1alpha1.GateType, decision v1alpha1.Decision) func(*v1alpha1.Gate, *v1alpha1.BatchRelease) {
	return func(_ *v1alpha1.Gate, release *v1alpha1.BatchRelease) {
		release.Status.Gates = append(release.Status.Gates, v1alpha1.GateReference{Name: "web-7f9c-3-1-1", Type: gateType, Decision: decision})
	}
}

// confirm sets the step's state to Completed, as the named field managers.
func confirm(release *v1alpha1.BatchRelease, managers ...string) {
	release.Status.CurrentStepState = v1alpha1.StepCompleted
	for i, manager := range managers {
		release.ManagedFields = append(release.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: manager, Subresource: "status",
			Time:     new(metav1.NewTime(made.Add(time.Duration(i) * time.Minute))),
			FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:currentStepState":{}}}`),
		})
	}
}

func TestEvaluate(t *testing.T) {
	t.Parallel()
	type args struct {
		gate    *v1alpha1.Gate
		release *v1alpha1.BatchRelease
		now     time.Time
	}
	// given builds the arguments from a policy; change, if any, gets at both objects.
	given := func(policy v1alpha1.GatePolicy, now time.Time, change func(*v1alpha1.Gate, *v1alpha1.BatchRelease)) args {
		g := newGate(policy)
		release := blockedOn(g)
		if change != nil {
			change(g, release)
		}
		return args{gate: g, release: release, now: now}
	}
	at := func(d time.Duration) *metav1.Time { return new(metav1.NewTime(made.Add(d))) }
	waits := func(message string, wakeUp time.Time) Decision {
		return Decision{
			Status: v1alpha1.GateStatus{Decision: v1alpha1.DecisionWaiting, Message: message},
			WakeUp: wakeUp,
		}
	}
	passes := func(message string, decided *metav1.Time, fact v1alpha1.Evidence) Decision {
		return Decision{Status: v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionPassed, Message: message, DecidedAt: decided,
			Evidence: []v1alpha1.Evidence{fact},
		}}
	}
	const unconfirmed = "waits for approval: sluice approve web -n shop"
	patched := v1alpha1.Evidence{Kind: EvidenceStatusPatch, Detail: "status.currentStepState was set to Completed"}
	patchedBy := func(manager string, when *metav1.Time) v1alpha1.Evidence {
		fact := patched
		fact.Detail += fmt.Sprintf(" through field manager %q", manager)
		fact.Time = when
		return fact
	}

	cases := map[string]struct {
		reason string
		args   args
		want   Decision
	}{
		"ManualUnconfirmed": {
			reason: "a manual gate waits while the step blocks, and time alone won't change that",
			args:   given(manualPolicy(), made.Add(100*time.Hour), nil),
			want:   waits(unconfirmed, time.Time{}),
		},
		"ManualConfirmed": {
			reason: "setting the state to Completed passes the gate and is recorded with the field manager",
			args: given(manualPolicy(), made.Add(time.Hour), func(_ *v1alpha1.Gate, r *v1alpha1.BatchRelease) {
				confirm(r, "kubectl-patch")
			}),
			want: passes(`confirmed through field manager "kubectl-patch"`, at(time.Hour), patchedBy("kubectl-patch", at(0))),
		},
		"ManualConfirmedByUnknown": {
			reason: "managed fields may be missing: the confirmation counts, and nobody is named",
			args: given(manualPolicy(), made, func(_ *v1alpha1.Gate, r *v1alpha1.BatchRelease) {
				confirm(r)
			}),
			want: passes("confirmed", at(0), patched),
		},
		"ManualSharedField": {
			reason: "where the rollout part owns the state as well, the other owner has confirmed",
			args: given(manualPolicy(), made, func(_ *v1alpha1.Gate, r *v1alpha1.BatchRelease) {
				confirm(r, "kubectl-patch", v1alpha1.OwnerRollout)
			}),
			want: passes(`confirmed through field manager "kubectl-patch"`, at(0), patchedBy("kubectl-patch", at(0))),
		},
		"ManualLatestOwner": {
			reason: "of several owners the latest is named",
			args: given(manualPolicy(), made, func(_ *v1alpha1.Gate, r *v1alpha1.BatchRelease) {
				confirm(r, "kubectl-patch", "sluice-cli")
			}),
			want: passes(`confirmed through field manager "sluice-cli"`, at(0), patchedBy("sluice-cli", at(time.Minute))),
		},
		"ManualCompletedByRollout": {
			reason: "a state that the rollout part wrote itself confirms nothing",
			args: given(manualPolicy(), made, func(_ *v1alpha1.Gate, r *v1alpha1.BatchRelease) {
				confirm(r, v1alpha1.OwnerRollout)
			}),
			want: waits(unconfirmed, time.Time{}),
		},
		"SoakEarly": {
			reason: "a soak waits until its end and asks to be looked at then",
			args:   given(soakPolicy(10*time.Minute), made.Add(10*time.Minute), nil),
			want:   waits("soaks for 10m0s, until 2026-10-05T12:10:01Z", made.Add(10*time.Minute+time.Second)),
		},
		"SoakElapsed": {
			reason: "creation times have whole seconds, so the end is a second later than their sum",
			args:   given(soakPolicy(10*time.Minute), made.Add(10*time.Minute+time.Second), nil),
			want: passes("soaked for 10m0s", at(10*time.Minute+time.Second), v1alpha1.Evidence{
				Kind: EvidenceSoakElapsed, Detail: "10m0s since the step was done", Time: at(10*time.Minute + time.Second),
			}),
		},
		"SoakConfirmed": {
			reason: "a status patch passes manual gates only",
			args: given(soakPolicy(time.Hour), made, func(_ *v1alpha1.Gate, r *v1alpha1.BatchRelease) {
				confirm(r, "kubectl-patch")
			}),
			want: waits("soaks for 1h0m0s, until 2026-10-05T13:00:01Z", made.Add(time.Hour+time.Second)),
		},
		"SoakNeverStored": {
			reason: "without a creation time there is no start to count from",
			args: given(soakPolicy(time.Minute), made, func(g *v1alpha1.Gate, _ *v1alpha1.BatchRelease) {
				g.CreationTimestamp = metav1.Time{}
			}),
		},
		"SoakWithoutDuration": {
			reason: "a soak of no time is no policy",
			args:   given(soakPolicy(0), made.Add(time.Hour), nil),
			want: waits(`can't pass until the release's strategy is corrected: spec.policy.soak.duration: `+
				`Invalid value: "0s": must be more than 0s and at most 720h`, time.Time{}),
		},
		"WindowClosed": {
			reason: "the zone counts: 12:00 UTC is 14:00 in Berlin, and the window opens on the next working day",
			args:   given(windowPolicy("0 9-12 * * 1-5", "Europe/Berlin"), made, nil),
			want: waits("waits for the window that opens at 2026-10-06T09:00:00+02:00",
				time.Date(2026, time.October, 6, 7, 0, 0, 0, time.UTC)),
		},
		"WindowOpen": {
			reason: "0 9-14 is open from 9:00 to 15:00",
			args:   given(windowPolicy("0 9-14 * * 1-5", "Europe/Berlin"), made.Add(59*time.Minute), nil),
			want: passes("the window is open", at(59*time.Minute), v1alpha1.Evidence{
				Kind: EvidenceWindowOpen, Time: at(0),
				Detail: `opened at 2026-10-05T14:00:00+02:00 ("0 9-14 * * 1-5" in Europe/Berlin) for 1h0m0s`,
			}),
		},
		"WindowOpenBesideAGateThatWaits": {
			reason: "the next batch starts when all gates have passed, which may be at night",
			args:   given(windowPolicy("0 9-14 * * 1-5", "Europe/Berlin"), made.Add(59*time.Minute), beside(v1alpha1.GateSoak, v1alpha1.DecisionWaiting)),
			want:   waits("the window is open, and waits: gate web-7f9c-3-1-1 (soak) has not passed", made.Add(time.Hour)),
		},
		"WindowOpenBesideAGateThatHasPassed": {
			reason: "nothing else keeps the next batch from starting",
			args:   given(windowPolicy("0 12 * * *", ""), made, beside(v1alpha1.GatePullRequest, v1alpha1.DecisionPassed)),
			want: passes("the window is open", at(0), v1alpha1.Evidence{
				Kind: EvidenceWindowOpen, Time: at(0), Detail: `opened at 2026-10-05T12:00:00Z ("0 12 * * *" in UTC) for 1h0m0s`,
			}),
		},
		"WindowClosedBesideAGateThatHasPassed": {
			reason: "a soak that ended after the window closed waits for the next one",
			args:   given(windowPolicy("0 12 * * *", ""), made.Add(time.Hour), beside(v1alpha1.GateSoak, v1alpha1.DecisionPassed)),
			want:   waits("waits for the window that opens at 2026-10-06T12:00:00Z", made.Add(24*time.Hour)),
		},
		"WindowsDontWaitForEachOther": {
			reason: "two windows that are open together pass",
			args:   given(windowPolicy("0 12 * * *", ""), made, beside(v1alpha1.GateWindow, v1alpha1.DecisionWaiting)),
			want: passes("the window is open", at(0), v1alpha1.Evidence{
				Kind: EvidenceWindowOpen, Time: at(0), Detail: `opened at 2026-10-05T12:00:00Z ("0 12 * * *" in UTC) for 1h0m0s`,
			}),
		},
		"WindowOpenInASuspension": {
			reason: "the release may be resumed at night",
			args: given(windowPolicy("0 12 * * *", ""), made, func(_ *v1alpha1.Gate, release *v1alpha1.BatchRelease) {
				release.Spec.Suspend = true
			}),
			want: waits("the window is open, and waits: the release is suspended", made.Add(time.Hour)),
		},
		"WindowOpenInAFreeze": {
			reason: "the freeze may end at night",
			args: given(windowPolicy("0 12 * * *", ""), made, func(_ *v1alpha1.Gate, release *v1alpha1.BatchRelease) {
				release.Annotations = map[string]string{v1alpha1.FreezeAnnotation: `{"reason":"quarter end"}`}
			}),
			want: waits("the window is open, and waits: the release is frozen", made.Add(time.Hour)),
		},
		"WindowOpenInAFreezeThatEnds": {
			reason: "the freeze ends before the window closes, and the batch starts then",
			args: given(windowPolicy("0 12 * * *", ""), made, func(_ *v1alpha1.Gate, release *v1alpha1.BatchRelease) {
				release.Annotations = map[string]string{v1alpha1.FreezeAnnotation: `{"reason":"quarter end","until":"2026-10-05T12:30:00Z"}`}
			}),
			want: waits("the window is open, and waits: the release is frozen", made.Add(30*time.Minute)),
		},
		"WindowJustClosed": {
			reason: "a window is closed again at the end of its duration",
			args:   given(windowPolicy("0 12 * * *", ""), made.Add(time.Hour), nil),
			want:   waits("waits for the window that opens at 2026-10-06T12:00:00Z", made.Add(24*time.Hour)),
		},
		"WindowInvalidSchedule": {
			reason: "a schedule that can't be read keeps the gate closed, and only a change helps",
			args:   given(windowPolicy("61 * * * *", ""), made, nil),
			want: waits(`can't pass until the release's strategy is corrected: spec.policy.window.schedule: `+
				`Invalid value: "61 * * * *": end of range (61) above maximum (59): 61`, time.Time{}),
		},
		"WindowInvalidZone": {
			reason: "so does a zone that nobody knows",
			args:   given(windowPolicy("0 9 * * *", "Europe/Atlantis"), made, nil),
			want: waits(`can't pass until the release's strategy is corrected: spec.policy.window.timeZone: `+
				`Invalid value: "Europe/Atlantis": unknown time zone Europe/Atlantis: name one such as Europe/Berlin`, time.Time{}),
		},
		"None": {
			reason: "a gate that asks for nothing passes at once",
			args:   given(v1alpha1.GatePolicy{None: &v1alpha1.NoGate{}}, made, nil),
			want: passes("nothing to wait for", at(0), v1alpha1.Evidence{
				Kind: EvidenceNoGate, Detail: "the step goes on at once", Time: at(0),
			}),
		},
		"TypeIsNotPolicy": {
			reason: "a gate whose type and policy differ is nothing to decide on",
			args: given(manualPolicy(), made, func(g *v1alpha1.Gate, r *v1alpha1.BatchRelease) {
				g.Spec.Type, r.Status.Gates[0].Type = v1alpha1.GateNone, v1alpha1.GateNone
			}),
			want: waits("can't pass until the release's strategy is corrected: spec.type is none but spec.policy.manual is set", time.Time{}),
		},
		"ForeignType": {
			reason: "other controllers may implement gate types of their own, which are not ours to write",
			args: given(manualPolicy(), made, func(g *v1alpha1.Gate, r *v1alpha1.BatchRelease) {
				g.Spec.Type, r.Status.Gates[0].Type = "analysis", "analysis"
				confirm(r, "kubectl-patch")
			}),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Evaluate(tc.args.gate, Facts{Release: tc.args.release}, tc.args.now)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: Evaluate(...): -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestBinding: a confirmation counts for the one gate that the release waits for.
func TestBinding(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.BatchRelease)
	}{
		"Attempt":  {"an earlier attempt at the same revision", func(r *v1alpha1.BatchRelease) { r.Status.Attempt = 4 }},
		"Revision": {"another template", func(r *v1alpha1.BatchRelease) { r.Status.UpdateRevision = "58d4" }},
		"Step":     {"another step", func(r *v1alpha1.BatchRelease) { r.Status.CurrentStepIndex = 2 }},
		"UID":      {"a release that was deleted and made again", func(r *v1alpha1.BatchRelease) { r.UID = "uid-other" }},
		"Unnamed":  {"a step that does not block yet", func(r *v1alpha1.BatchRelease) { r.Status.Gates = nil }},
		"OtherGate": {"a step that waits for another gate", func(r *v1alpha1.BatchRelease) {
			r.Status.Gates[0].Name = "web-7f9c-3-1-1"
		}},
		"OtherType": {"a gate of that name, but of another type", func(r *v1alpha1.BatchRelease) {
			r.Status.Gates[0].Type = v1alpha1.GateSoak
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(manualPolicy())
			release := blockedOn(g)
			confirm(release, "kubectl-patch")
			tc.change(release)
			if diff := cmp.Diff(Decision{}, Evaluate(g, Facts{Release: release}, made)); diff != "" {
				t.Errorf("%s leaves the gate as it is: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
	t.Run("NoRelease", func(t *testing.T) {
		t.Parallel()
		if diff := cmp.Diff(Decision{}, Evaluate(newGate(manualPolicy()), Facts{}, made)); diff != "" {
			t.Errorf("a gate without a release is left as it is: -want +got:\n%s", diff)
		}
	})
}
