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

// record is the state that survives a restart: the last state of each release, and the undelivered
// notices.
type record struct {
	Version int `json:"version"`
	// Newest is the youngest release that was seen, as the Unix time of its creation: one without an
	// entry that is younger was not there, and an older one was not watched.
	Newest   int64                `json:"newest,omitempty"`
	Releases map[types.UID]*entry `json:"releases,omitempty"`
	Pending  []*pending           `json:"pending,omitempty"`
}

// recordVersion is the format of the record. Another one is not read.
const recordVersion = 1

// entry is the last seen state of one release.
type entry struct {
	// Namespace is that of the release.
	Namespace string `json:"m,omitempty"`

	Seen story.Seen `json:"s,omitzero"`
	// Count counts the notices of this attempt of kinds that repeat.
	Count int64 `json:"n,omitempty"`
	// Gates holds the seen gates of the release, and their decisions.
	Gates map[types.UID]v1alpha1.Decision `json:"g,omitempty"`
}

// pending is a notice that some receivers do not have yet.
type pending struct {
	ID     string `json:"id"`
	Notice Notice `json:"notice"`
	// Receivers are the receivers that do not have it yet. In memory, the queues have them.
	Receivers []string `json:"receivers,omitempty"`

	// number is its place among all notices.
	number int64
}

// release tells the release of a notice from others.
func (p *pending) release() string { return p.Notice.Namespace + "/" + p.Notice.Release }

// Sizes of a record, in bytes: a ConfigMap takes 1 MiB. What is packed is at most maxText, so that
// it takes moments.
const (
	maxRecord   = 900 << 10
	maxText     = 16 << 20
	maxInflated = 64 << 20
)

// encodeRecord packs a record. Of one that is too large it leaves a part out, so that some notices
// are lost if the process ends. Cut says so. Namespaces have shares in it: one with many notices
// loses its own.
func encodeRecord(r *record) (packed []byte, cut bool, err error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, false, fmt.Errorf("write the record of notices: %w", err)
	}
	if len(text) <= maxText {
		if packed, err = pack(text); err != nil || len(packed) <= maxRecord {
			return packed, false, err
		}
	}
	shares, err := r.shares(maxText)
	if err != nil {
		return nil, true, err
	}
	for size := maxRecord; ; size = size * 4 / 5 {
		if text, err = json.Marshal(r.fit(shares, size)); err != nil {
			return nil, true, fmt.Errorf("write the record of notices: %w", err)
		}
		if packed, err = pack(text); err != nil || len(packed) <= maxRecord || size == 0 {
			return packed, true, err
		}
	}
}

func pack(text []byte) ([]byte, error) {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	if _, err := zipped.Write(text); err != nil {
		return nil, fmt.Errorf("pack the record of notices: %w", err)
	}
	if err := zipped.Close(); err != nil {
		return nil, fmt.Errorf("pack the record of notices: %w", err)
	}
	return packed.Bytes(), nil
}

// decodeRecord returns what encodeRecord has packed.
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
