package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestMembersEndTogether: a workload that is handed back before all members are through is found.
func TestMembersEndTogether(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason string
		// order of the hold and the new pod of each member, and its hand-back.
		events []string
		want   string
	}{
		"Together":  {"both are through, and then both are handed back", []string{"hold a", "hold b", "new a", "new b", "back a", "back b"}, ""},
		"One ahead": {"a is handed back before b is through", []string{"hold a", "hold b", "new a", "back a", "new b", "back b"}, "a was handed back at revision 4, when b had 0 of 1 pods of nginx:1.28"},
		"Not held":  {"b has no release", []string{"hold a", "new a", "new b", "back a"}, "b was never held and handed back"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var merged log
			members := []member{{name: "a"}, {name: "b"}}
			for i := range members {
				members[i].replicas, members[i].last = 1, newImage
			}
			for _, event := range tc.events {
				what, of, _ := strings.Cut(event, " ")
				switch what {
				case "hold":
					merged.deployment(true, true)
				case "new":
					merged.pod(of, newImage, available)
				default:
					merged.deployment(false, false)
				}
				i := int(of[0] - 'a')
				members[i].records = append(members[i].records, merged.records[len(merged.records)-1])
			}
			if got := strings.Join(endsTogether(members), "\n"); (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s: want a finding with %q, got:\n%s", tc.reason, tc.want, got)
			}
		})
	}
}

// TestOnePullRequest: a second pull request is found, and one that lacks a member or its images.
func TestOnePullRequest(t *testing.T) {
	t.Parallel()
	casts := []cast{{name: "web", images: []string{oldImage, newImage}}}
	listing := func(from, to string) pull {
		return pull{Number: 1, Body: fmt.Sprintf("| Member | From |\n|---|\n| `web` | `%s` | `%s` | 1 of 6 | 1 |\n", from, to)}
	}
	tests := map[string]struct {
		pulls []pull
		want  string
	}{
		"One":           {[]pull{listing(oldImage, newImage)}, ""},
		"None":          {nil, "0 pull requests were opened"},
		"Two":           {[]pull{listing(oldImage, newImage), listing(oldImage, newImage)}, "2 pull requests were opened"},
		"Another image": {[]pull{listing(newImage, newImage)}, "does not list web from nginx:1.27 to nginx:1.28"},
		"No members":    {[]pull{{Number: 1, Body: v1alpha1.ReasonBlocking}}, "does not list web"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(onePull(tc.pulls, casts), "\n"); (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("want a finding with %q, got:\n%s", tc.want, got)
			}
		})
	}
}
