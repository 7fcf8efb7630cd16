package notices

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-dev/sluice/telemetry/story"
)

// Tried is the result of sending a sample to a receiver.
type Tried struct {
	Receiver string
	// Problem says why it was not delivered; empty if it was.
	Problem string
}

// Try sends a sample of a kind once to the receiver of that name, or to all if the name is empty,
// whatever kinds they want.
func (c *Config) Try(ctx context.Context, name string, of story.Kind, now time.Time) ([]Tried, error) {
	if _, known := kinds[of]; !known {
		return nil, fmt.Errorf("%q is not one of %v", string(of), Kinds())
	}
	var all []Tried
	for i, r := range c.receivers {
		if name != "" && r.name != name {
			continue
		}
		client, err := newClient(r)
		if err != nil {
			return nil, fmt.Errorf("receivers[%d].caFile: %w", i, err)
		}
		sample := &pending{ID: fmt.Sprintf("test/%d/%s", now.UnixNano(), of), Notice: Sample(of)}
		sample.Notice.Time = now.UTC().Truncate(time.Second)
		all = append(all, Tried{Receiver: r.name, Problem: deliver(ctx, client, r, sample, now).words})
		client.CloseIdleConnections()
	}
	if len(all) == 0 && name != "" {
		return nil, fmt.Errorf("no receiver has the name %q", name)
	}
	return all, nil
}
