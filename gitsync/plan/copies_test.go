package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/podtemplate"
)

func owner(kind, uid string) metav1.OwnerReference {
	return metav1.OwnerReference{Kind: kind, Name: "web", UID: types.UID(uid)}
}

// copied returns a copy of app for the release web, with owners.
func copied(hash string, owners ...metav1.OwnerReference) *metav1.PartialObjectMetadata {
	c := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "app-" + strings.Repeat(hash, 16), Labels: map[string]string{v1alpha1.ReleaseLabel: "web"},
		Annotations: map[string]string{v1alpha1.CopyOfAnnotation: "app"}, OwnerReferences: owners,
	}}
	c.Kind = podtemplate.ConfigMap
	return c
}

// TestTend: a copy gets its owners, and goes once no template names it.
func TestTend(t *testing.T) {
	t.Parallel()
	release, workload := owner("BatchRelease", "r1"), owner("Deployment", "w1")
	change := func(do func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
		c := copied("b", release, workload)
		do(c)
		return c
	}
	gone := metav1.NewTime(time.Unix(0, 0))
	for name, tt := range map[string]struct {
		found    *metav1.PartialObjectMetadata
		workload *metav1.OwnerReference
		want     string
	}{
		"named":                            {copied("a", release, workload), &workload, ""},
		"named by none":                    {copied("b", release, workload), &workload, "delete"},
		"new":                              {copied("a"), &workload, "own r1 w1"},
		"named by none, not owned yet":     {copied("b"), &workload, "own r1 w1"},
		"the workload is missing":          {copied("b", release, workload), nil, ""},
		"the workload is not there yet":    {copied("a"), nil, "own r1"},
		"the workload was made again":      {copied("a", release, owner("Deployment", "w0")), &workload, "own r1 w1 w0"},
		"the release was made again":       {copied("b", owner("BatchRelease", "r0"), workload), &workload, "own r1 w1 r0"},
		"somebody else owns it too":        {copied("a", workload, owner("App", "x"), release), &workload, ""},
		"it is being deleted":              {change(func(c *metav1.PartialObjectMetadata) { c.DeletionTimestamp = &gone }), &workload, ""},
		"without the annotation":           {change(func(c *metav1.PartialObjectMetadata) { c.Annotations = nil }), &workload, ""},
		"of another release":               {change(func(c *metav1.PartialObjectMetadata) { c.Labels[v1alpha1.ReleaseLabel] = "other" }), &workload, ""},
		"with a name that is not a copy's": {change(func(c *metav1.PartialObjectMetadata) { c.Name = "app" }), &workload, ""},
		"a Secret of the name":             {change(func(c *metav1.PartialObjectMetadata) { c.Kind, c.Name = podtemplate.Secret, copied("a").Name }), &workload, "delete"},
	} {
		copies := Copies{
			Found: []*metav1.PartialObjectMetadata{tt.found}, Release: release, Workload: tt.workload,
			Named: map[podtemplate.Reference]bool{{Kind: podtemplate.ConfigMap, Name: copied("a").Name}: true},
		}
		before := tt.found.DeepCopy()
		if got := wordsOf(Tend(copies)); got != tt.want {
			t.Errorf("%s: want %q, got %q", name, tt.want, got)
		}
		if diff := cmp.Diff(before, tt.found); diff != "" {
			t.Errorf("%s: the copy was changed:\n%s", name, diff)
		}
		for range tendsUntilRest {
			carryOutCopies(&copies, Tend(copies))
		}
		if writes := Tend(copies); len(writes) > 0 {
			t.Errorf("%s: there is no rest: %s", name, wordsOf(writes))
		}
	}
}

// tendsUntilRest counts the rounds: copies get owners, and are deleted.
const tendsUntilRest = 2

func carryOutCopies(copies *Copies, writes []CopyWrite) {
	for _, write := range writes {
		switch w := write.(type) {
		case OwnCopy:
			w.Copy.OwnerReferences = w.Owners
		case DeleteCopy:
			copies.Found = slices.DeleteFunc(copies.Found, func(c *metav1.PartialObjectMetadata) bool { return c == w.Copy })
		}
	}
}

func wordsOf(writes []CopyWrite) string {
	var words []string
	for _, write := range writes {
		switch w := write.(type) {
		case OwnCopy:
			word := "own"
			for _, owner := range w.Owners {
				word += " " + string(owner.UID)
			}
			words = append(words, word)
		case DeleteCopy:
			words = append(words, "delete")
		default:
			words = append(words, fmt.Sprintf("%T", write))
		}
	}
	return strings.Join(words, ", ")
}

// TestCopyOfALongName: a name that was cut is still that of a copy.
func TestCopyOfALongName(t *testing.T) {
	t.Parallel()
	c := copied("a")
	c.Annotations[v1alpha1.CopyOfAnnotation] = strings.Repeat("x", 253)
	c.Name = strings.Repeat("x", 236) + "-" + strings.Repeat("a", 16)
	if !IsCopy(c, "web") {
		t.Error("want it to be known as a copy")
	}
	c.Name = "y-" + strings.Repeat("a", 16)
	if IsCopy(c, "web") {
		t.Error("want a copy of something else not to be known")
	}
}
