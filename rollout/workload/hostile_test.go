package workload

import (
	"encoding/json"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// TestRevisionsOfAStatefulSet: of two ControllerRevisions none is taken for the other, whatever their names, and each can be part of the
// name of another object.
func TestRevisionsOfAStatefulSet(t *testing.T) {
	t.Parallel()
	for _, set := range []string{"web", "web.x", "other", strings.Repeat("w", 240)} {
		s := &StatefulSet{&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: set}}}
		prefix, of := s.revisionPrefix(), map[string]string{}
		for _, name := range []string{
			prefix + "abc", "abc", "other-abc", prefix + "other-abc", prefix, prefix + "x.abc", "x.abc", "x.lock", "web-abc-d", prefix + "abc-d",
			prefix + s.Revision("abc"), s.Revision("abc"), strings.Repeat("x", 253),
		} {
			revision := s.Revision(name)
			if before, taken := of[revision]; taken && before != name {
				t.Errorf("%s and %s are both revision %s of %s", before, name, revision, set)
			}
			if problems := validation.IsDNS1123Label(revision); len(problems) > 0 {
				t.Errorf("revision %s of %s: %v", revision, name, problems)
			}
			of[revision], s.Status.CurrentRevision = name, name
			if back := s.RevisionName(revision); back != name {
				t.Errorf("revision %s of %s is ControllerRevision %s, want %s", revision, set, back, name)
			}
		}
		s.Status.CurrentRevision = ""
		if got := s.Revision(prefix + "abc2"); got != "abc2" || s.RevisionName(got) != prefix+"abc2" {
			t.Errorf("a hash of %s is %s, want it as it is", set, got)
		}
		if got := s.Revision(""); got != "" {
			t.Errorf("no revision of %s is %q", set, got)
		}
	}
}

// TestStrategiesThatAreNone: what no API server takes for a strategy is the default one; what it takes is left as it is.
func TestStrategiesThatAreNone(t *testing.T) {
	t.Parallel()
	for text, taken := range map[string]struct{ deployment, stateful, daemon bool }{
		`{"type":"RollingUpdate"}`: {true, true, true},
		`{"type":"OnDelete"}`:      {false, true, true},
		`{"type":"Recreate"}`:      {true, false, false},
		`{"type":"Recreate","rollingUpdate":{"maxUnavailable":1}}`:                        {false, false, false},
		`{"type":"rollingupdate"}`:                                                        {false, false, false},
		`{"rollingUpdate":{"maxUnavailable":1}}`:                                          {false, false, false},
		`{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":1}}`:                   {true, true, true},
		`{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"50%"}}`:               {true, true, true},
		`{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"0%"}}`:                {true, false, false},
		`{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":0,"maxSurge":0}}`:      {false, false, false},
		`{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":0,"maxSurge":2}}`:      {true, false, true},
		`{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":1,"maxSurge":2}}`:      {true, true, false},
		`{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"101%"}}`:              {false, false, false},
		`{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":0,"maxSurge":"200%"}}`: {true, false, false},
		`{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":-1}}`:                  {false, false, false},
		`{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"x"}}`:                 {false, false, false},
		`{"type":"RollingUpdate","rollingUpdate":{"partition":-1}}`:                       {true, false, true},
		`{"type":"RollingUpdate","rollingUpdate":{"partition":2147483647}}`:               {true, true, true},
		`{"type":"RollingUpdate","rollingUpdate":{"partition":99999999999}}`:              {true, false, true},
	} {
		rolling := `{"type":"RollingUpdate"}`
		for kind, is := range map[string]struct {
			taken    bool
			strategy any
			read     string
		}{
			"Deployment":  {taken.deployment, &appsv1.DeploymentStrategy{}, encode(deploymentStrategy(text))},
			"StatefulSet": {taken.stateful, &appsv1.StatefulSetUpdateStrategy{}, encode(statefulSetStrategy(text))},
			"DaemonSet":   {taken.daemon, &appsv1.DaemonSetUpdateStrategy{}, encode(daemonSetStrategy(text))},
		} {
			want := rolling
			if is.taken {
				if err := json.Unmarshal([]byte(text), is.strategy); err != nil {
					t.Fatal(err)
				}
				want = encode(is.strategy)
			}
			if is.read != want {
				t.Errorf("the strategy %s of a %s is read as %s, want %s", text, kind, is.read, want)
			}
		}
	}
}
