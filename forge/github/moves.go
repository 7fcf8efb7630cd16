package github

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

// moves lists moves of a branch as the forge has them, newest first, each following on the next.
type moves struct {
	pushes []forge.Push
	// told is false if the forge does not list moves at all.
	told bool
	// whole is set if the last one made the branch, and the forge lists none before it.
	whole bool
	// cut is set if there are more than were read.
	cut bool
}

// maxPushPages limits the pages of moves that are read.
const maxPushPages = 3

// moves reads who moved a branch, until that is enough.
func (c *Client) moves(ctx context.Context, branch string, enough func([]forge.Push) bool) (moves, error) {
	if err := wire.CheckBranch(branch); err != nil {
		return moves{}, err
	}
	found := moves{told: true}
	query := url.Values{"ref": {"refs/heads/" + branch}, "per_page": {strconv.Itoa(pageSize)}}
	for range maxPushPages {
		listed, resp, err := get[[]activity](ctx, c, "activity?"+query.Encode())
		if err := c.explain(err, "read who pushed to branch %s", branch); err != nil {
			if kind := forge.KindOf(err); kind == forge.NotFound || kind == forge.Forbidden {
				return moves{}, nil
			}
			return moves{}, err
		}
		for _, one := range listed {
			if one.Ref == "refs/heads/"+branch {
				found.pushes = append(found.pushes, one.push())
			}
		}
		if whole := unbroken(found.pushes); whole < len(found.pushes) {
			found.pushes = found.pushes[:whole]
			return found, nil
		}
		if resp.After == "" {
			last := len(found.pushes) - 1
			found.whole = last >= 0 && found.pushes[last].Kind == forge.PushCreated
			return found, nil
		}
		if enough(found.pushes) {
			return found, nil
		}
		query.Set("after", resp.After)
	}
	found.cut = true
	return found, nil
}

// unbroken returns how many of the moves follow on one another: each begins where the one before it
// ended. Moves before a gap prove nothing.
func unbroken(pushes []forge.Push) int {
	for i := 1; i < len(pushes); i++ {
		made := pushes[i-1].Kind == forge.PushCreated && pushes[i].Kind == forge.PushDeleted
		if !made && pushes[i-1].Before != pushes[i].After {
			return i
		}
	}
	return len(pushes)
}

// activity is a move of a branch, for which the library has no type.
type activity struct {
	Before string       `json:"before"`
	After  string       `json:"after"`
	Ref    string       `json:"ref"`
	Kind   string       `json:"activity_type"`
	Actor  *github.User `json:"actor"`
	At     time.Time    `json:"timestamp"`
}

func (a activity) push() forge.Push {
	return forge.Push{Before: a.Before, After: a.After, Kind: forge.PushKind(a.Kind), Actor: account(a.Actor), At: a.At}
}
