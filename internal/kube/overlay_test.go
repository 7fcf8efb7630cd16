package kube_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/kube"
)

const unseen = 10 * time.Second

var names = []string{"a", "b"}

// change is one write to a model of an API server: the object that a name has from then on, nil if
// none.
type change struct {
	name   string
	object *corev1.ConfigMap
}

// model is an API server, a cache that lags behind it, and what a process has been shown.
type model struct {
	*rapid.T
	overlay *kube.Overlay[*corev1.ConfigMap]
	clock   *clocktesting.FakePassiveClock
	history []change
	cached  int // how many changes the cache has
	uids    int
	// shown is the newest object of each name that the process has read, and when; deleted are its
	// own deletions.
	shown   map[string]*corev1.ConfigMap
	when    map[string]time.Time
	deleted map[types.UID]bool
}

// at returns the object of a name after a number of changes, nil if there is none.
func (m *model) at(changes int, name string) *corev1.ConfigMap {
	for _, c := range slices.Backward(m.history[:changes]) {
		if c.name == name {
			return c.object
		}
	}
	return nil
}

func (m *model) live(name string) *corev1.ConfigMap { return m.at(len(m.history), name) }

// write changes what a name has: a new object if there was none.
func (m *model) write(name string) *corev1.ConfigMap {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if was := m.live(name); was != nil {
		object = was.DeepCopy()
	} else {
		m.uids++
		object.UID = types.UID(fmt.Sprint("uid-", m.uids))
	}
	object.ResourceVersion = fmt.Sprint(len(m.history) + 1)
	m.history = append(m.history, change{name, object})
	return object
}

func (m *model) remove(name string) { m.history = append(m.history, change{name, nil}) }

// show shows an object to the process.
func (m *model) show(object *corev1.ConfigMap) {
	m.overlay.Saw(object)
	m.noteShown(object)
}

func (m *model) noteShown(object *corev1.ConfigMap) {
	m.shown[object.Name], m.when[object.Name] = object, m.clock.Now()
}

// check lists what the process sees and holds it against what it was shown.
func (m *model) check() {
	var cached []*corev1.ConfigMap
	for _, name := range names {
		if object := m.at(m.cached, name); object != nil {
			cached = append(cached, object)
		}
	}
	seen := map[string]*corev1.ConfigMap{}
	for _, object := range m.overlay.List(cached) {
		if seen[object.Name] != nil {
			m.Fatalf("%s is listed twice", object.Name)
		}
		seen[object.Name] = object
	}
	for _, name := range names {
		m.checkOne(name, seen[name])
	}
}

func (m *model) checkOne(name string, seen *corev1.ConfigMap) {
	shown := m.shown[name]
	switch {
	case seen != nil && m.deleted[seen.UID]:
		m.Fatalf("%s is the object %s, which the process has deleted", name, seen.UID)
	case seen != nil && shown != nil && version(seen) < version(shown):
		m.Fatalf("%s is read in version %d, and was shown in %d", name, version(seen), version(shown))
	case seen == nil && shown != nil && !m.deleted[shown.UID] && !m.cacheHasPassed(shown) && m.clock.Since(m.when[name]) < unseen:
		m.Fatalf("%s is not there, was shown in version %d, and the cache has not heard of a deletion", name, version(shown))
	case seen == nil && m.at(m.cached, name) != nil && !m.deleted[m.at(m.cached, name).UID] && (shown == nil || !m.deleted[shown.UID]):
		m.Fatalf("%s is not there, and the cache has it", name)
	}
}

// cacheHasPassed reports whether the cache has heard of something later than an object of its name.
func (m *model) cacheHasPassed(object *corev1.ConfigMap) bool {
	for i, c := range m.history[:m.cached] {
		if c.name == object.Name && i+1 > version(object) {
			return true
		}
	}
	return false
}

func version(object *corev1.ConfigMap) int {
	n := 0
	_, _ = fmt.Sscan(object.ResourceVersion, &n) // it was printed from a number
	return n
}

// TestOverlayReadsItsOwnWrites: for any writes of others, and any lag of the cache, no read is
// older than an earlier one; once the cache has caught up it alone counts.
func TestOverlayReadsItsOwnWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		clock := clocktesting.NewFakePassiveClock(time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC))
		m := &model{
			T: t, clock: clock, overlay: kube.NewOverlay[*corev1.ConfigMap](clock, unseen),
			shown: map[string]*corev1.ConfigMap{}, when: map[string]time.Time{}, deleted: map[types.UID]bool{},
		}
		name := func() string { return rapid.SampledFrom(names).Draw(t, "name") }
		t.Repeat(map[string]func(*rapid.T){
			"we write":     func(*rapid.T) { m.show(m.write(name())) },
			"others write": func(*rapid.T) { m.write(name()) },
			"we delete": func(t *rapid.T) {
				name := name()
				object := m.live(name)
				if object == nil || m.shown[name] == nil || m.shown[name].UID != object.UID {
					t.Skip("the process does not know of it")
				}
				m.remove(name)
				m.overlay.Deleted(types.NamespacedName{Name: name})
				m.deleted[object.UID] = true
			},
			"others delete": func(t *rapid.T) {
				name := name()
				if m.live(name) == nil {
					t.Skip("there is none")
				}
				m.remove(name)
			},
			"we read live": func(t *rapid.T) {
				object := m.live(name())
				if object == nil {
					t.Skip("there is none")
				}
				m.show(object)
			},
			"the cache hears more": func(t *rapid.T) { m.cached = rapid.IntRange(m.cached, len(m.history)).Draw(t, "changes") },
			"time passes":          func(*rapid.T) { clock.SetTime(clock.Now().Add(time.Second)) },
			"":                     func(*rapid.T) { m.check() },
		})
		m.cached = len(m.history)
		m.check()
		clock.SetTime(clock.Now().Add(unseen))
		m.checkCaughtUp()
	})
}

// checkCaughtUp checks that only the cache counts once it has caught up.
func (m *model) checkCaughtUp() {
	var live []*corev1.ConfigMap
	for _, name := range names {
		if object := m.live(name); object != nil {
			live = append(live, object)
		}
	}
	if diff := cmp.Diff(live, m.overlay.List(live)); diff != "" && len(live) > 0 {
		m.Fatalf("the cache has caught up, and is not believed (-cache +read):\n%s", diff)
	}
	for _, object := range live {
		if newest, found := m.overlay.Newest(object); !found || newest != object {
			m.Fatalf("the cache has caught up, and %s is %v, %t", object.Name, newest, found)
		}
	}
}

// TestOverlayForOneObject: the overlay works for objects that are read by name, and never listed.
func TestOverlayForOneObject(t *testing.T) {
	t.Parallel()
	object := func(uid, version string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: types.UID(uid), ResourceVersion: version}}
	}
	key := client.ObjectKey{Name: "a"}
	overlay := kube.NewOverlay[*corev1.ConfigMap](clocktesting.NewFakePassiveClock(time.Time{}), 0)
	want := func(reason string, cached *corev1.ConfigMap, version string) {
		t.Helper()
		got, found := overlay.Newest(cached)
		if found != (version != "") || found && got.ResourceVersion != version {
			t.Errorf("%s: got %v, %t; want version %q", reason, got, found, version)
		}
	}
	want("nothing was seen", object("1", "3"), "3")
	answer := object("1", "5")
	overlay.Saw(answer)
	answer.ResourceVersion = "changed by the caller"
	want("the cache lags", object("1", "3"), "5")
	overlay.Saw(object("1", "4"))
	want("an answer that comes late is older", object("1", "3"), "5")
	want("the cache is ahead", object("1", "6"), "6")
	want("the cache is not believed to go back", object("1", "6"), "6")
	overlay.Saw(object("2", "8"))
	want("another object has the name by now", object("1", "6"), "8")
	overlay.Deleted(key)
	want("it is deleted", object("2", "7"), "")
	want("so is the one before it", object("1", "6"), "")
	want("one that was made since is not", object("3", "9"), "9")
	overlay.Saw(object("3", "11"))
	overlay.Forget(key)
	want("what is forgotten", object("3", "9"), "9")
	overlay.Saw(object("3", "x"))
	want("versions that can't be compared: the cache is right", object("3", "9"), "9")
}

// TestOverlayCaughtUp: only the very object that was seen counts as caught up with. A reader that
// took an older one from the cache a moment before still gets the newer one.
func TestOverlayCaughtUp(t *testing.T) {
	t.Parallel()
	object := func(uid, version string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: types.UID(uid), ResourceVersion: version}}
	}
	overlay := kube.NewOverlay[*corev1.ConfigMap](clocktesting.NewFakePassiveClock(time.Time{}), 0)
	want := func(reason string, cached *corev1.ConfigMap, want bool) {
		t.Helper()
		if got := overlay.CaughtUp(cached); got != want {
			t.Errorf("%s: got %t", reason, got)
		}
	}
	want("nothing was seen", object("1", "3"), false)
	overlay.Saw(object("1", "5"))
	want("an older version", object("1", "4"), false)
	want("a newer version", object("1", "6"), false)
	want("another object of that name", object("2", "5"), false)
	want("what was seen", object("1", "5"), true)
	if newest, found := overlay.Newest(object("1", "4")); !found || newest.ResourceVersion != "5" {
		t.Errorf("a reader with an older object gets %v, %t", newest, found)
	}
	if listed := overlay.List([]*corev1.ConfigMap{object("1", "4")}); len(listed) != 1 || listed[0].ResourceVersion != "5" {
		t.Errorf("a reader with an older list gets %v", listed)
	}
	if _, found := overlay.Newest(object("1", "5")); !found || overlay.Ahead() {
		t.Errorf("the cache has it: found %t, kept %t", found, overlay.Ahead())
	}
	overlay.Saw(object("1", "7"))
	overlay.Deleted(client.ObjectKey{Name: "a"})
	want("it is deleted meanwhile", object("1", "7"), false)
}

// TestOverlayAfterALiveList: an object that a live list lacks is dropped, unless the cache has it.
func TestOverlayAfterALiveList(t *testing.T) {
	t.Parallel()
	object := func(name, version string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: version}}
	}
	clock := clocktesting.NewFakePassiveClock(time.Time{})
	overlay := kube.NewOverlay[*corev1.ConfigMap](clock, unseen)
	listed := func(cached ...*corev1.ConfigMap) (names []string) {
		for _, object := range overlay.List(cached) {
			names = append(names, object.Name+"@"+object.ResourceVersion)
		}
		return names
	}
	want := func(reason string, got []string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
	overlay.Saw(object("made", "5"))
	want("the cache lacks one", listed(object("old", "2")), "old@2", "made@5")
	overlay.SawAll([]*corev1.ConfigMap{object("old", "6"), object("other", "7")})
	want("after a live list", listed(object("old", "2")), "old@6", "other@7")
	want("one is deleted, as the cache had it once", listed(), "other@7")
	clock.SetTime(clock.Now().Add(unseen))
	want("one is given up, as the cache never had it", listed())
}

// TestOverlayHoldsNothingOfTheCache: there are several Overlays for each release, and what they
// held would stay in memory when the cache has newer objects.
func TestOverlayHoldsNothingOfTheCache(t *testing.T) {
	t.Parallel()
	for reason, deleted := range map[string]bool{"listed": false, "listed and deleted": true} {
		overlay := kube.NewOverlay[*corev1.ConfigMap](clocktesting.NewFakePassiveClock(time.Time{}), 0)
		held := func() weak.Pointer[corev1.ConfigMap] {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1", ResourceVersion: "2"}}
			overlay.List([]*corev1.ConfigMap{object})
			if deleted {
				overlay.Deleted(client.ObjectKeyFromObject(object))
			}
			return weak.Make(object)
		}()
		runtime.GC()
		if object := held.Value(); object != nil {
			t.Errorf("the Overlay holds %v, which was %s, want it to remember names and versions only", object, reason)
		}
		newer := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1", ResourceVersion: "3"}}
		if newest, found := overlay.Newest(newer); found == deleted {
			t.Errorf("the Overlay hands out %v, %t, of an object that was %s", newest, found, reason)
		}
	}
}
