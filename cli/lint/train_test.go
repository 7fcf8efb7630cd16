package lint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// train is a train of db and web.
const train = `apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata: {name: shop}
spec:
  members:
  - name: db
  - name: web
    after: [{member: db}]
  strategy:
    steps:
    - replicas: 50%
    - replicas: 100%
`

// member returns a Deployment and its release, with what else that has in spec.strategy.
func member(name, strategy string) string {
	text := strings.ReplaceAll(deployment, "web", name) + "---\n" + strings.ReplaceAll(release, "web", name)
	before, _, _ := strings.Cut(text, "  strategy:\n")
	if strategy == "" {
		return before
	}
	return before + "  strategy: " + strategy + "\n"
}

// TestTrain: each mistake with a train is found once, where it stands, and does not make mistakes
// of its members.
func TestTrain(t *testing.T) {
	t.Parallel()
	replaced := func(old, with string) string { return strings.Replace(train, old, with, 1) }
	const dbStrategy = "db.yaml:18:"
	cases := map[string]struct {
		reason    string
		train, db string
		want      []string
	}{
		"good":       {"members need no strategy", train, "", nil},
		"none":       {"a train has members", "apiVersion: rollouts.sluice.dev/v1alpha1\nkind: BatchRelease\nmetadata: {name: shop}\nspec:\n  members: []\n  strategy: {steps: [{replicas: 100%}]}\n", "", []string{"shop.yaml:5:3: error: spec.members: Required value: at least one member"}},
		"unknown":    {"of this repository", replaced("name: db", "name: cache"), "{}", []string{`shop.yaml:8:14: error: spec.members[1].after[0].member: Invalid value: "db": must be the name of an entry in spec.members: cache, web`}},
		"missing":    {"each of them", replaced("  - name: web\n", "  - name: cache\n  - name: web\n"), "{}", []string{"shop.yaml:7:5: error: train shop: spec.members[1]: BatchRelease cache is not in namespace shop of this repository, or has an error of its own"}},
		"cycle":      {"none waits for itself", replaced("name: db\n", "name: db\n    after: [{member: web, reached: 1}]\n"), "{}", []string{`shop.yaml:7:5: error: spec.members[0].after: Invalid value: "db": these wait for each other, and none could do all steps: db, web`}},
		"itself":     {"nor for itself", replaced("member: db", "member: web"), "{}", []string{`shop.yaml:8:5: error: spec.members[1].after: Invalid value: "web": waits for itself`}},
		"lockstep":   {"nor with lockstep", replaced("  strategy:\n", "  strategy:\n    lockstep: {maxSkew: 0}\n"), "{}", []string{`shop.yaml:6:5: error: spec.members[0].after: Invalid value: "db": these wait for each other, and none could do all steps: db, web; strategy.lockstep.maxSkew of 0 counts, too`}},
		"percent":    {"nor may they be in step by percent", replaced("  strategy:\n", "  strategy:\n    lockstep: {maxSkew: 10%}\n"), "{}", []string{`shop.yaml:10:16: error: spec.strategy.lockstep.maxSkew: Invalid value: "10%": must be a number of steps, or take after out of the members: a percentage does not go with an order`}},
		"skew":       {"an order is in steps", replaced("  strategy:\n", "  strategy:\n    lockstep: {maxSkew: 51}\n"), "{}", []string{`shop.yaml:10:16: error: spec.strategy.lockstep.maxSkew: Invalid value: "51": must be a number of steps from 0 to 50, or a percentage of pods from 1% to 99%`}},
		"surge":      {"which members have", replaced("  strategy:\n", "  strategy:\n    maxSurge: 1\n"), "{}", []string{"shop.yaml:10:5: error: spec.strategy.maxSurge: Forbidden: is not for a train: its members have it"}},
		"reached":    {"steps are those of the train", replaced("member: db", "member: db, reached: 3"), "{}", []string{"shop.yaml:8:26: error: spec.members[1].after[0].reached: Invalid value: 3: must be a step of the train, from 1 to 2, or Completed"}},
		"selector":   {"a group has members", replaced("name: web", "name: web\n    selector: {tier: frontend}"), "{}", []string{"shop.yaml:7:5: error: train shop: spec.members[1]: selector: no BatchRelease in namespace shop of this repository has these labels; those of workloads do not count"}},
		"two trains": {"a release has one train", train + "---\n" + strings.Replace(replaced("name: shop", "name: mall"), "  - name: web\n    after: [{member: db}]\n", "", 1), "{}", []string{"shop.yaml:6:5: error: train shop: spec.members[0]: db is a member of train mall too: a release has one train"}},
		"a train":    {"that is no train itself", train + "---\n" + strings.Replace(strings.Replace(replaced("name: shop", "name: mall"), "name: db", "name: shop", 1), "  - name: web\n    after: [{member: db}]\n", "", 1), "{}", []string{"shop.yaml:19:5: error: train mall: spec.members[0]: shop is a train: a train can't be a member"}},
		"own steps":  {"members have the steps of the train", train, "{steps: [{replicas: 100%}]}", []string{dbStrategy + "14: error: spec.strategy.steps: Forbidden: db is a member of train shop (shop.yaml:1), which has the steps: remove these"}},
		"own policy": {"and its policies", train, "{onFailure: Rollback, supersede: Queue}", []string{
			dbStrategy + "14: warning: spec.strategy.onFailure: has no effect: train shop decides it for all its members",
			dbStrategy + "35: warning: spec.strategy.supersede: has no effect: train shop decides it for all its members",
		}},
		"traffic": {"routes are those of members", replaced("replicas: 50%", "replicas: 50%\n      traffic: 50%"), "{}", []string{
			"shop.yaml:11:7: warning: spec.strategy.steps[0]: has traffic or matches, and no member of the train has routes in strategy.traffic: requests go wherever there are pods",
		}},
		"unknown field": {"an error does not hide what else is wrong", train, "{onFailures: Pause}", []string{
			"db.yaml:18:14: error: spec.strategy.onFailures: unknown field; did you mean onFailure?",
			"shop.yaml:6:5: error: train shop: spec.members[0]: BatchRelease db is not in namespace shop of this repository, or has an error of its own",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := findings(check(t, map[string]string{"shop.yaml": tc.train, "db.yaml": member("db", tc.db), "web.yaml": member("web", "{}")}))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	t.Run("no train", func(t *testing.T) {
		t.Parallel()
		got := findings(check(t, map[string]string{"db.yaml": member("db", "")}))
		want := []string{"db.yaml:16:3: error: spec.strategy.steps: Required value: at least one step, here or in a train that has the release in spec.members"}
		if len(got) != 1 || !strings.HasSuffix(got[0], want[0][len("db.yaml:16:3: "):]) {
			t.Errorf("a release without steps is a member: want %q, got %q", want, got)
		}
	})
	t.Run("a broken file of the group", func(t *testing.T) {
		t.Parallel()
		group := strings.Replace(train, "  - name: web\n    after: [{member: db}]\n", "  - name: all\n    selector: {tier: frontend}\n", 1)
		api := strings.Replace(member("api", ""), "kind: BatchRelease\nmetadata: {name: api", "kind: BatchRelease\nmetadata: {labels: {tier: frontend}, name: api", 1)
		got := findings(check(t, map[string]string{"shop.yaml": group, "db.yaml": member("db", ""), "api.yaml": api, "web.yaml": member("web", "{") + "  a: [\n"}))
		want := "shop.yaml:7:5: error: train shop: spec.members[1]: selector: may select a release in web.yaml, which can't be parsed"
		if !slices.Contains(got, want) {
			t.Errorf("the train would release its group without web: want %q, got %q", want, got)
		}
	})
	for name, broken := range map[string]string{
		"an error of the group":   strings.Replace(member("web", "{onFailures: Pause}"), "kind: BatchRelease\nmetadata: {name: web", "kind: BatchRelease\nmetadata: {labels: {tier: frontend}, name: web", 1),
		"one of the group, twice": strings.Repeat("---\n"+strings.Replace(member("web", ""), "kind: BatchRelease\nmetadata: {name: web", "kind: BatchRelease\nmetadata: {labels: {tier: frontend}, name: web", 1), 2),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			group := strings.Replace(train, "  - name: web\n    after: [{member: db}]\n", "  - name: all\n    selector: {tier: frontend}\n", 1)
			api := strings.Replace(member("api", ""), "kind: BatchRelease\nmetadata: {name: api", "kind: BatchRelease\nmetadata: {labels: {tier: frontend}, name: api", 1)
			got := findings(check(t, map[string]string{"shop.yaml": group, "db.yaml": member("db", ""), "api.yaml": api, "web.yaml": broken}))
			if !slices.ContainsFunc(got, func(f string) bool {
				return strings.HasPrefix(f, "shop.yaml:7:5: error: train shop: spec.members[1]: selector: selects a BatchRelease that has an error (web.yaml:")
			}) {
				t.Errorf("the train would release its group without web: want an error, got %q", got)
			}
		})
	}
	t.Run("many", func(t *testing.T) {
		t.Parallel()
		files := map[string]string{"shop.yaml": strings.Replace(train, "name: web\n", "name: all\n    selector: {tier: frontend}\n", 1)}
		for i := range 50 {
			name := fmt.Sprintf("service-%d", i)
			files[name+".yaml"] = strings.Replace(member(name, ""), "kind: BatchRelease\nmetadata: {name: "+name, "kind: BatchRelease\nmetadata: {labels: {tier: frontend}, name: "+name, 1)
		}
		if got := findings(check(t, files)); len(got) != 1 {
			t.Errorf("want one error for a train whose member db is missing, got %q", got)
		}
	})
}
