package notices

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/telemetry/story"
)

// record is what outlives a process: what was seen of each release, and the notices that are not delivered.
type record struct {
	Version int `json:"version"`
	// Newest is the youngest release that was seen, as the Unix time of its creation: one without an entry that is younger
	// was not there, and an older one was not watched.
	Newest   int64                `json:"newest,omitempty"`
	Releases map[types.UID]*entry `json:"releases,omitempty"`
	Pending  []*pending           `json:"pending,omitempty"`
}

// recordVersion is the format of the record. Another one is not read.
const recordVersion = 1

// entry is what was seen of one release.
type entry struct {
	Seen story.Seen `json:"s,omitzero"`
	// Count counts the notices of this attempt of kinds that repeat.
	Count int64 `json:"n,omitempty"`
	// Gates are those of the release that were seen, and what was decided.
	Gates map[types.UID]v1alpha1.Decision `json:"g,omitempty"`
}

// pending is a notice that some receivers do not have yet.
type pending struct {
	ID     string `json:"id"`
	Notice Notice `json:"notice"`
	// Receivers are those who are still to get it. In memory the queues say so.
	Receivers []string `json:"receivers,omitempty"`

	// number is its place among all notices.
	number int64
}

// release tells the release of a notice from others.
func (p *pending) release() string { return p.Notice.Namespace + "/" + p.Notice.Release }

// Sizes of a record, in bytes: a ConfigMap takes 1 MiB.
const (
	maxRecord   = 900 << 10
	maxInflated = 64 << 20
)

// encodeRecord packs a record. Of one that is too large, it leaves out the older half of what is pending until it fits, and then what was seen:
// then some notices are lost if the process ends. Cut says so.
func encodeRecord(r *record) (packed []byte, cut bool, err error) {
	fitting := *r
	for {
		packed, err = pack(&fitting)
		if err != nil || len(packed) <= maxRecord {
			return packed, cut, err
		}
		cut = true
		switch {
		case len(fitting.Pending) > 0:
			fitting.Pending = fitting.Pending[(len(fitting.Pending)+1)/2:]
		case len(fitting.Releases) > 0:
			fitting.Releases = nil
		default:
			return nil, true, errors.New("the record does not fit into a ConfigMap")
		}
	}
}

func pack(r *record) ([]byte, error) {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	if err := json.NewEncoder(zipped).Encode(r); err != nil {
		return nil, err
	}
	if err := zipped.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// decodeRecord is what encodeRecord has packed.
func decodeRecord(packed []byte) (*record, error) {
	zipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(zipped, maxInflated))
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, errors.New("it is not the JSON of a record")
	}
	if r.Version != recordVersion {
		return nil, fmt.Errorf("its version is %d, not %d", r.Version, recordVersion)
	}
	if r.Releases == nil {
		r.Releases = map[types.UID]*entry{}
	}
	for uid, one := range r.Releases {
		if one == nil {
			delete(r.Releases, uid)
		}
	}
	r.Pending = slices.DeleteFunc(r.Pending, func(p *pending) bool { return p == nil || kinds[p.Notice.Kind].event == "" })
	return &r, nil
}
