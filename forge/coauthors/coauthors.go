// Package coauthors finds the people whom the messages of commits name beside the author.
package coauthors

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/forge"
)

// maxAddresses is how many addresses of co-authors the forge is asked about for one release. With
// more it is not known who is behind it.
const maxAddresses = 30

var coAuthor = regexp.MustCompile(`(?mi)^\s*(?:co-authored-by|argocd-reference-commit-author):[^<\n]*<([^<>\s]+)>\s*$`)

// Of returns the addresses of a message's Co-authored-by lines, and of the author of the commit
// that it says it was made from.
func Of(message string) []string {
	var addresses []string
	for _, found := range coAuthor.FindAllStringSubmatch(message, -1) {
		addresses = append(addresses, found[1])
	}
	return addresses
}

// Addresses finds the accounts of the co-authors of a release: by addresses that the forge itself
// gives out and that name their account, by other commits of the same release, or by what the forge
// says of an address.
func Addresses(
	ctx context.Context, origin *forge.ReleaseOrigin,
	own func(string) (forge.Account, bool), find func(context.Context, string) (forge.Account, error),
) (map[string]forge.Account, error) {
	commits := slices.Clone(origin.Commits)
	for _, proposal := range origin.Proposals {
		commits = append(commits, proposal.All()...)
	}
	addresses := map[string]forge.Account{}
	for _, made := range commits {
		if made.AuthorAddress != "" && made.Author.Known() {
			addresses[strings.ToLower(made.AuthorAddress)] = made.Author
		}
	}
	asked := 0
	for _, made := range commits {
		for _, address := range made.CoAuthors {
			address = strings.ToLower(address)
			if _, known := addresses[address]; known {
				continue
			}
			if who, named := own(address); named {
				addresses[address] = who
				continue
			}
			if asked == maxAddresses {
				continue
			}
			asked++
			who, err := find(ctx, address)
			if err != nil {
				return nil, err
			}
			addresses[address] = who
		}
	}
	return addresses, nil
}
