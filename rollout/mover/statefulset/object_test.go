package statefulset

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// TestRevisionsOfAStatefulSet: of two ControllerRevisions none is taken for the other, whatever
// their names, and each can be part of the name of another object.
func TestRevisionsOfAStatefulSet(t *testing.T) {
	t.Parallel()
	for _, set := range []string{"web", "web.x", "other", strings.Repeat("w", 240)} {
		s := &Object{&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: set}}}
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
