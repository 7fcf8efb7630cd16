package notices

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/telemetry/story"
)

// random returns text that does not compress.
func random(from *rand.ChaCha8, size int) string {
	bytes := make([]byte, size/2)
	from.Read(bytes)
	return fmt.Sprintf("%x", bytes)
}

// flood puts as much as a tenant can into a record: releases with many gates, and notices with long
// messages.
func (r *record) flood(namespace string, notices, gates int) {
	source := rand.NewChaCha8([32]byte{})
	one := &entry{Namespace: namespace, Gates: map[types.UID]v1alpha1.Decision{}}
	for range gates {
		one.Gates[types.UID(random(source, 32))] = v1alpha1.DecisionPassed
	}
	r.Releases[types.UID(namespace)] = one
	for i := range notices {
		n := Notice{Kind: story.ReleaseStopped, Namespace: namespace, Release: "web", Message: random(source, sizeMessage)}
		r.Pending = append(r.Pending, &pending{ID: fmt.Sprint(namespace, i), Notice: n, Receivers: []string{"all"}})
	}
}

// TestRecordIsFair: for any records of one namespace, all records of the others stay, and the
// newest of its own.
func TestRecordIsFair(t *testing.T) {
	t.Parallel()
	for name, flood := range map[string]func(*record){
		"notices":               func(r *record) { r.flood("flood", 5_000, 0) },
		"more than is packed":   func(r *record) { r.flood("flood", 30_000, 0) },
		"gates":                 func(r *record) { r.flood("flood", 100, 60_000) },
		"two who have too much": func(r *record) { r.flood("flood", 4_000, 0); r.flood("flood2", 4_000, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &record{Version: recordVersion, Newest: 7, Releases: map[types.UID]*entry{}}
			for i := range 1000 {
				namespace := fmt.Sprint("team-", i%100)
				one := &entry{Namespace: namespace, Seen: story.Seen{Attempt: int64(i), Phase: v1alpha1.PhaseRollingUpdate, Revision: fmt.Sprint(i)}}
				r.Releases[types.UID(fmt.Sprint("release-", i))] = one
				if i < 300 {
					r.Pending = append(r.Pending, &pending{ID: fmt.Sprint("notice-", i), Notice: Notice{Kind: story.ReleaseStarted, Namespace: namespace}})
				}
			}
			flood(r)
			packed, cut, err := encodeRecord(r)
			if err != nil || !cut || len(packed) > maxRecord {
				t.Fatalf("want a part of it, got %d bytes, cut: %t, %v", len(packed), cut, err)
			}
			last, err := decodeRecord(packed)
			if err != nil {
				t.Fatalf("unpack: %v", err)
			}
			count := map[string]int{}
			for _, one := range last.Releases {
				count[one.Namespace]++
			}
			for _, p := range last.Pending {
				count[p.Notice.Namespace]++
			}
			for i := range 100 {
				if namespace := fmt.Sprint("team-", i); count[namespace] != 13 {
					t.Errorf("%s: want 10 releases and 3 notices, got %d of both", namespace, count[namespace])
				}
			}
			t.Logf("%d bytes, %d of the flood", len(packed), count["flood"])
			if name != "gates" && (len(packed) < maxRecord/2 || last.Pending[len(last.Pending)-1].ID != r.Pending[len(r.Pending)-1].ID) {
				t.Errorf("want the newest notices of the flood, as many as there is room for: got %d bytes", len(packed))
			}
		})
	}
}

// TestNothingFits: a record in which no part is small enough is empty, and not an error for ever.
func TestNothingFits(t *testing.T) {
	t.Parallel()
	r := &record{Version: recordVersion, Newest: 7, Releases: map[types.UID]*entry{}}
	r.flood("flood", 0, 80_000)
	packed, cut, err := encodeRecord(r)
	if err != nil || !cut {
		t.Fatalf("want a cut, got %t, %v", cut, err)
	}
	if last, err := decodeRecord(packed); err != nil || last.Newest != 7 || len(last.Releases) != 0 {
		t.Errorf("want an empty record, got %v, %v", last, err)
	}
}

// TestForgedGateIsNoNotice: a Gate that names a release of another namespace puts nothing into what
// is known of that, and is not told.
func TestForgedGateIsNoNotice(t *testing.T) {
	t.Parallel()
	d := bench(nil)
	d.settle()
	web := releaseAt("web", 0, 1, v1alpha1.PhaseRollingUpdate)
	d.release(nil, web, false, at)
	d.told()
	forged := gateOf(web, "gate", v1alpha1.DecisionPassed)
	forged.Namespace = "evil"
	d.gate(forged, nil, false, at)
	want(t, "forged gate", d.told())
	if known := len(d.seen[web.UID].Gates); known != 0 {
		t.Errorf("want nothing noted of a forged gate, got %d", known)
	}
	genuine := gateOf(web, "gate", "")
	d.gate(genuine, web, false, at)
	forged.UID = genuine.UID
	d.gateGone(forged)
	want(t, "genuine gate", d.told(), "web GateOpened")
	if known := len(d.seen[web.UID].Gates); known != 1 {
		t.Errorf("want the gate known, got %d", known)
	}
}
