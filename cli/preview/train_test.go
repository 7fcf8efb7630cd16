package preview_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/cli/preview"
)

// train is a train of three services, of which web comes after db.
const train = `apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata: {name: shop}
spec:
  members:
  - name: web
    after: [{member: db, reached: 1}]
  - {name: db}
  - {name: api}
  strategy:
    onFailure: Rollback
    lockstep: {maxSkew: 0}
    steps:
    - replicas: 1
      gates: [{manual: {}}]
    - replicas: 100%
`

// services returns the files of a train's services, each in a version.
func services(versions ...int) files {
	all := files{"shop.yaml": train}
	for i, name := range []string{"db", "web", "api"} {
		manifest := strings.NewReplacer("name: web", "name: "+name, "app: web", "app: "+name, "nginx:1.28", fmt.Sprintf("%s:%d", name, versions[i])).Replace(deployment)
		member, _, _ := strings.Cut(release, "  strategy:")
		all[name+".yaml"] = manifest + "---\n" + strings.ReplaceAll(member, "name: web", "name: "+name)
	}
	return all
}

// TestTrain: the plan of a train says which members the change releases together, in which order,
// and which gates are asked once for all of them.
func TestTrain(t *testing.T) {
	t.Parallel()
	limited := strings.Replace(train, "    onFailure: Rollback\n", "    maxMembers: 1\n", 1)
	cases := map[string]struct {
		before, after files
		earlier       []files
	}{
		"train":             {before: services(1, 1, 1), after: services(2, 2, 1)},
		"train-of-one":      {before: services(1, 1, 1), after: services(1, 1, 2)},
		"train-rolled-back": {before: services(2, 2, 1), after: services(1, 1, 1), earlier: []files{services(1, 1, 1)}},
		"train-added":       {before: files{}, after: services(1, 1, 1)},
		"train-removed":     {before: services(1, 1, 1), after: files{}},
		"train-too-many":    {before: services(1, 1, 1), after: services(2, 2, 1).with(files{"shop.yaml": limited})},
		"train-held":        {before: services(1, 1, 1), after: services(2, 2, 1).with(files{"api.yaml": strings.Replace(services(2, 2, 1)["api.yaml"], "kind: Deployment, name: api", "kind: Deployment, name: apis", 1)})},
		"train-late":        {before: services(1, 1, 1), after: services(2, 2, 1).with(files{"shop.yaml": strings.NewReplacer(", reached: 1", "", "    lockstep: {maxSkew: 0}\n", "").Replace(train)})},
		"train-wrong":       {before: services(1, 1, 1), after: services(2, 2, 1).with(files{"db.yaml": ""})},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var earlier []*preview.State
			for _, of := range tc.earlier {
				earlier = append(earlier, at(t, "c", of))
			}
			shown, err := preview.Compare(at(t, "a", tc.before), at(t, "b", tc.after), earlier)
			if err != nil {
				t.Fatalf("compare: %v", err)
			}
			goldenOf(t, shown, name)
		})
	}
}
