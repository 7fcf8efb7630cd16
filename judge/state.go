package judge

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// state is Evidence as it is kept: numbers of a fixed size, in this order.
type state struct {
	Version          uint8
	Looks            uint32
	New, Old         Count
	NewPods, OldPods uint32
	Claims           [len(ratios)]claim
	Spread           spread
	Single           single
}

const stateVersion = 1

// MarshalText returns the evidence in about 700 characters. Parse makes evidence of them that gives
// the same verdicts.
func (e Evidence) MarshalText() ([]byte, error) {
	s := state{stateVersion, uint32(e.Looks), e.New, e.Old, uint32(e.NewPods), uint32(e.OldPods), e.claims, e.spread, e.single}
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, s); err != nil {
		return nil, fmt.Errorf("encode evidence: %w", err)
	}
	return base64.RawStdEncoding.AppendEncode(nil, b.Bytes()), nil
}

// Parse returns the evidence of which MarshalText has made a text.
func Parse(text []byte) (Evidence, error) {
	b, err := base64.RawStdEncoding.AppendDecode(nil, text)
	if err != nil {
		return Evidence{}, fmt.Errorf("decode evidence: %w", err)
	}
	var s state
	n, err := binary.Decode(b, binary.LittleEndian, &s)
	switch {
	case err != nil:
		return Evidence{}, fmt.Errorf("decode evidence: %w", err)
	case n != len(b):
		return Evidence{}, fmt.Errorf("decode evidence: %d bytes are too many", len(b)-n)
	case s.Version != stateVersion:
		return Evidence{}, fmt.Errorf("decode evidence: version %d is not %d", s.Version, stateVersion)
	case !s.sound():
		return Evidence{}, errors.New("decode evidence: a number is not finite, or out of its range")
	}
	return Evidence{int(s.Looks), s.New, s.Old, int(s.NewPods), int(s.OldPods), s.Claims, s.Spread, s.Single}, nil
}

// sound reports whether Add can have come to these numbers.
func (s *state) sound() bool {
	all := []float32{s.Spread.Single, s.Spread.Within, s.Spread.Free, s.Single.New, s.Single.Old}
	add := func(b bets) { all = append(all, b[:]...) }
	add(s.Spread.Halves[0])
	add(s.Spread.Halves[1])
	for _, c := range s.Claims {
		add(c.AtMost)
		add(c.AtLeast)
		all = append(all, c.Excess.New, c.Excess.Old, max(c.Excess.Sum, -c.Excess.Sum))
	}
	for _, p := range s.Spread.Part {
		all = append(all, p.Errors, p.Expected)
	}
	return s.New.sum() && s.Old.sum() &&
		!slices.ContainsFunc(all, func(n float32) bool { return !(n >= 0 && n <= mostWealth) })
}

// sum reports whether a count may be the sum of looks.
func (c Count) sum() bool {
	return c.Errors >= 0 && c.Errors <= c.Requests && c.Requests <= mostWealth
}
