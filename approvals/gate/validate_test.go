package gate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	longWindow := windowPolicy("0 9 * * *", "")
	longWindow.Window.Duration = &metav1.Duration{Duration: 721 * time.Hour}
	both := soakPolicy(time.Minute)
	both.Manual, both.None = &v1alpha1.ManualGate{}, &v1alpha1.NoGate{}

	const duration = "must be more than 0s and at most 720h"
	cases := map[string]struct {
		reason string
		policy v1alpha1.GatePolicy
		want   []string
	}{
		"Manual":       {"manual has no options", manualPolicy(), nil},
		"Soak":         {"the longest soak", soakPolicy(720 * time.Hour), nil},
		"Window":       {"names and steps are cron's", windowPolicy("*/10 9-17 ? jan-mar MON-FRI", "Europe/Berlin"), nil},
		"LeapDay":      {"a schedule may name a rare day", windowPolicy("0 0 29 2 *", ""), nil},
		"Empty":        {"a gate needs a type", v1alpha1.GatePolicy{}, []string{"gate: Required value: one of manual, none, soak, window, pullRequest, commitStatus, checkRun, job, metrics"}},
		"SoakZero":     {"no time is no soak", soakPolicy(0), []string{`gate.soak.duration: Invalid value: "0s": ` + duration}},
		"SoakLong":     {"more than 30 days is a mistake", soakPolicy(721 * time.Hour), []string{`gate.soak.duration: Invalid value: "721h0m0s": ` + duration}},
		"WindowLong":   {"so it is for a window", longWindow, []string{`gate.window.duration: Invalid value: "721h0m0s": ` + duration}},
		"NoSchedule":   {"a window needs a schedule", windowPolicy("", ""), []string{`gate.window.schedule: Invalid value: "": empty spec string`}},
		"SixFields":    {"seconds are not standard", windowPolicy("0 0 9 * * *", ""), []string{`gate.window.schedule: Invalid value: "0 0 9 * * *": expected exactly 5 fields, found 6: [0 0 9 * * *]`}},
		"Descriptor":   {"nor are words", windowPolicy("@daily", ""), []string{`gate.window.schedule: Invalid value: "@daily": parser does not accept descriptors: @daily`}},
		"Never":        {"a day that does not exist", windowPolicy("0 0 30 2 *", ""), []string{`gate.window.schedule: Invalid value: "0 0 30 2 *": matches no time`}},
		"ZoneInside":   {"there is one place for the zone", windowPolicy("TZ=UTC 0 9 * * *", ""), []string{`gate.window.schedule: Invalid value: "TZ=UTC 0 9 * * *": must not name a time zone: it has a field of its own`}},
		"ZoneNoSpace":  {"which the parser would panic on", windowPolicy("CRON_TZ=UTC", ""), []string{`gate.window.schedule: Invalid value: "CRON_TZ=UTC": must not name a time zone: it has a field of its own`}},
		"ZoneLocal":    {"the zone of the controller's machine is nobody's business", windowPolicy("0 9 * * *", "Local"), []string{`gate.window.timeZone: Invalid value: "Local": unknown time zone Local: name one such as Europe/Berlin`}},
		"ZonePath":     {"a zone is no way into the file system", windowPolicy("0 9 * * *", "../etc/passwd"), []string{`gate.window.timeZone: Invalid value: "../etc/passwd": unknown time zone ../etc/passwd: name one such as Europe/Berlin`}},
		"ScheduleLong": {"the length is limited before anything is parsed", windowPolicy(strings.Repeat("1,", 200)+"1 * * * *", ""), []string{`gate.window.schedule: Too long: may not be more than 256 bytes`}},
		"ZoneLong":     {"of the zone too", windowPolicy("0 9 * * *", strings.Repeat("x", 65)), []string{`gate.window.timeZone: Too long: may not be more than 64 bytes`}},
		"PullRequest":  {"the merge alone is the approval", pullPolicy(v1alpha1.PullRequestGate{}), nil},
		"PullRequestAll": {"users, apps and teams can be named", pullPolicy(v1alpha1.PullRequestGate{
			MinApprovals: 10, Approvers: []string{"octocat", "renovate[bot]", "ada_corp"}, Teams: []string{"sre", "octo-org/sre.core", "octo-org/sre#4711"}, ForbidSelfApproval: true, TrustedPushers: []string{"renovate[bot]", "tidy[bot]#7"},
		}), nil},
		"PushersAlone": {"nobody is excluded, so that nothing is accepted", pullPolicy(v1alpha1.PullRequestGate{TrustedPushers: []string{"renovate[bot]"}}), []string{
			`gate.pullRequest.trustedPushers: Invalid value: ["renovate[bot]"]: has no effect without forbidSelfApproval: set that too, or remove trustedPushers`,
		}},
		"ApprovalsNegative": {"fewer than none", pullPolicy(v1alpha1.PullRequestGate{MinApprovals: -1}), []string{
			`gate.pullRequest.minApprovals: Invalid value: -1: must be from 0 to 10`,
		}},
		"ApprovalsMany": {"more than anybody gets", pullPolicy(v1alpha1.PullRequestGate{MinApprovals: 11}), []string{
			`gate.pullRequest.minApprovals: Invalid value: 11: must be from 0 to 10`,
		}},
		"Logins": {"what nobody can be called", pullPolicy(v1alpha1.PullRequestGate{Approvers: []string{"", "@ada", "a b", "octo/sre", strings.Repeat("a", 101)}}), []string{
			`gate.pullRequest.approvers[0]: Required value: must not be empty`,
			`gate.pullRequest.approvers[1]: Invalid value: "@ada": ` + noLogin,
			`gate.pullRequest.approvers[2]: Invalid value: "a b": ` + noLogin,
			`gate.pullRequest.approvers[3]: Invalid value: "octo/sre": ` + noLogin,
			`gate.pullRequest.approvers[4]: Too long: may not be more than 100 characters`,
		}},
		"Teams": {"what no team can be called", pullPolicy(v1alpha1.PullRequestGate{Teams: []string{"@octo/sre", "a//b", "/sre", "octo/", strings.Repeat("a", 201)}}), []string{
			`gate.pullRequest.teams[0]: Invalid value: "@octo/sre": ` + noTeam,
			`gate.pullRequest.teams[1]: Invalid value: "a//b": ` + noTeam,
			`gate.pullRequest.teams[2]: Invalid value: "/sre": ` + noTeam,
			`gate.pullRequest.teams[3]: Invalid value: "octo/": ` + noTeam,
			`gate.pullRequest.teams[4]: Too long: may not be more than 200 characters`,
		}},
		"ManyPeople": {"lists have an end", pullPolicy(v1alpha1.PullRequestGate{Approvers: slices.Repeat([]string{"a"}, 51), Teams: slices.Repeat([]string{"a"}, 21)}), []string{
			`gate.pullRequest.approvers: Too many: 51: must have at most 50 items`,
			`gate.pullRequest.teams: Too many: 21: must have at most 20 items`,
		}},
		"CommitStatus": {"a context can say anything", statusPolicy("größe / ci", "ci[bot]"), nil},
		"CommitStatusNothing": {"a context and a creator", statusPolicy(""), []string{
			`gate.commitStatus.context: Required value: must not be empty`,
			`gate.commitStatus.creators: Required value: anyone with write access to the repository can post any status: name whose statuses count`,
		}},
		"CommitStatusLong": {"as long as a forge takes, in characters", statusPolicy(strings.Repeat("ü", 256), slices.Repeat([]string{"-"}, 21)...), append([]string{
			`gate.commitStatus.context: Too long: may not be more than 255 characters`,
			`gate.commitStatus.creators: Too many: 21: must have at most 20 items`,
		}, eachOf(21, `gate.commitStatus.creators[%d]: Invalid value: "-": `+noLogin)...)},
		"CheckRun": {"conclusions that pass", checkPolicy(v1alpha1.CheckSuccess, v1alpha1.CheckNeutral, v1alpha1.CheckSkipped), nil},
		"CheckRunNothing": {"a name and an app", v1alpha1.GatePolicy{CheckRun: &v1alpha1.CheckRunGate{}}, []string{
			`gate.checkRun.name: Required value: must not be empty`,
			`gate.checkRun.app: Required value: must not be empty`,
		}},
		"CheckRunNoApp": {"an app has a slug", v1alpha1.GatePolicy{CheckRun: &v1alpha1.CheckRunGate{Name: strings.Repeat("n", 256), App: "github-actions[bot]"}}, []string{
			`gate.checkRun.name: Too long: may not be more than 255 characters`,
			`gate.checkRun.app: Invalid value: "github-actions[bot]": ` + noApp,
		}},
		"Conclusions": {"each once, and none that is a failure", checkPolicy(v1alpha1.CheckSuccess, "failure", v1alpha1.CheckSuccess, v1alpha1.CheckNeutral), []string{
			`gate.checkRun.conclusions: Too many: 4: must have at most 3 items`,
			`gate.checkRun.conclusions[1]: Unsupported value: "failure": supported values: "success", "neutral", "skipped"`,
			`gate.checkRun.conclusions[2]: Duplicate value: "success"`,
		}},
		"SeveralOnForge": {"each type is named once", v1alpha1.GatePolicy{PullRequest: &v1alpha1.PullRequestGate{}, CheckRun: checkPolicy().CheckRun}, []string{
			"gate.checkRun: Forbidden: a gate has one type, and pullRequest is set: give each a gate of its own",
		}},
		"Several": {"each type is named once", both, []string{
			"gate.none: Forbidden: a gate has one type, and manual is set: give each a gate of its own",
			"gate.soak: Forbidden: a gate has one type, and manual is set: give each a gate of its own",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, problem := range Validate(&tc.policy, field.NewPath("gate")) {
				got = append(got, problem.Error())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: Validate(...): -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func pullPolicy(policy v1alpha1.PullRequestGate) v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{PullRequest: &policy}
}

func eachOf(n int, format string) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(format, i))
	}
	return all
}

// FuzzWindow: no schedule and no zone makes validation or evaluation panic or hang, and what
// is refused never opens.
func FuzzWindow(f *testing.F) {
	for _, seed := range [][2]string{
		{"0 9-17 * * 1-5", "Europe/Berlin"}, {"TZ=", ""}, {"CRON_TZ=0", ""}, {"*/0 * * * *", ""}, {"@every 1ns", ""},
		{"0-59/18446744073709551615 * * * *", "Asia/Beirut"}, {", , , , ,", "Local"}, {"* * 31 2 *", "/etc/localtime"},
	} {
		f.Add(seed[0], seed[1], int64(1790000000))
	}
	f.Fuzz(func(t *testing.T, schedule, zone string, unix int64) {
		policy := windowPolicy(schedule, zone)
		g := newGate(policy)
		now := time.Unix(unix%(1<<33), 0)
		got := Evaluate(g, Facts{Release: blockedOn(g)}, now)
		refused := len(Validate(&policy, field.NewPath("gate"))) > 0
		if refused && got.Status.Decision == v1alpha1.DecisionPassed {
			t.Errorf("%q in %q is refused by Validate, but opens", schedule, zone)
		}
	})
}
