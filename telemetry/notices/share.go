package notices

import (
	"cmp"
	"compress/flate"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// A record that is too large is cut namespace by namespace, as somebody who may write into one can
// fill it: each may have as much as the others, and what one does not need is for those that need
// more.

// share is the part of a record for one namespace, in the order in which it is kept: the states of
// releases, and then the newest notices.
type share struct {
	items []item
	// text is the size of the items as JSON, and packed what they take of the record.
	text, packed int
}

// item is the state of a release, or a notice.
type item struct {
	uid     types.UID
	pending *pending
	text    []byte
}

// fit returns a record of which what is kept is at most about so many bytes, packed. Each namespace
// loses its oldest notices first.
func (r *record) fit(shares map[string]*share, size int) *record {
	each := level(shares, size, func(s *share) int { return s.packed })
	kept := &record{Version: r.Version, Newest: r.Newest, Releases: map[types.UID]*entry{}}
	notices := map[*pending]bool{}
	for _, s := range shares {
		for _, one := range s.upTo(each) {
			if one.pending != nil {
				notices[one.pending] = true
			} else {
				kept.Releases[one.uid] = r.Releases[one.uid]
			}
		}
	}
	for _, p := range r.Pending {
		if notices[p] {
			kept.Pending = append(kept.Pending, p)
		}
	}
	return kept
}

// shares returns the parts of a record, by namespace. Together they have at most about so many
// bytes of JSON.
func (r *record) shares(text int) (map[string]*share, error) {
	shares := map[string]*share{}
	add := func(namespace string, value any, one item) error {
		var err error
		if one.text, err = json.Marshal(value); err != nil {
			return fmt.Errorf("write the record of notices: %w", err)
		}
		s := shares[namespace]
		if s == nil {
			s = &share{}
			shares[namespace] = s
		}
		s.items, s.text = append(s.items, one), s.text+len(one.text)
		return nil
	}
	for _, uid := range slices.Sorted(maps.Keys(r.Releases)) {
		one := r.Releases[uid]
		if err := add(one.Namespace, map[types.UID]*entry{uid: one}, item{uid: uid}); err != nil {
			return nil, err
		}
	}
	for _, p := range slices.Backward(r.Pending) {
		if err := add(p.Notice.Namespace, p, item{pending: p}); err != nil {
			return nil, err
		}
	}
	each := level(shares, text, func(s *share) int { return s.text })
	for _, s := range shares {
		s.packed = s.text
		s.items = s.upTo(each)
		s.text = 0
		for _, one := range s.items {
			s.text += len(one.text)
		}
	}
	return shares, measure(shares)
}

// measure finds out what each namespace takes of the record: text compresses better or worse.
func measure(shares map[string]*share) error {
	var size counter
	zipped, err := flate.NewWriter(&size, flate.DefaultCompression)
	if err != nil {
		return fmt.Errorf("pack the record of notices: %w", err)
	}
	for _, namespace := range slices.Sorted(maps.Keys(shares)) {
		s, before := shares[namespace], size
		for _, one := range s.items {
			if _, err := zipped.Write(one.text); err != nil {
				return fmt.Errorf("pack the record of notices: %w", err)
			}
		}
		if err := zipped.Flush(); err != nil {
			return fmt.Errorf("pack the record of notices: %w", err)
		}
		s.packed = int(size - before)
	}
	return nil
}

// counter counts what is written to it.
type counter int

// Write implements io.Writer.
func (c *counter) Write(text []byte) (int, error) {
	*c += counter(len(text))
	return len(text), nil
}

// upTo returns the first items that have at most so many packed bytes.
func (s *share) upTo(packed int) []item {
	if s.packed <= packed {
		return s.items
	}
	room := int(float64(packed) / float64(s.packed) * float64(s.text))
	for i, one := range s.items {
		if room -= len(one.text); room < 0 {
			return s.items[:i]
		}
	}
	return s.items
}

// level returns the most that each may have of what there is: who wants less than others leaves
// them the rest.
func level(shares map[string]*share, all int, wants func(*share) int) int {
	wanted := make([]int, 0, len(shares))
	for _, s := range shares {
		wanted = append(wanted, wants(s))
	}
	slices.SortFunc(wanted, cmp.Compare)
	for i, want := range wanted {
		if each := all / (len(wanted) - i); want > each {
			return each
		}
		all -= want
	}
	return math.MaxInt
}
