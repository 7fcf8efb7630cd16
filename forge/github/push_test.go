package github_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// pushMany pushes a number of commits to a branch at once.
func (w *world) pushMany(login, branch string, commits int) {
	w.t.Helper()
	repo, err := gittest.Init(w.t.TempDir(), "many")
	if err != nil {
		w.t.Fatal(err)
	}
	git := func(stdin *bytes.Buffer, args ...string) {
		w.t.Helper()
		if _, err := repo.Git(stdin, args...); err != nil {
			w.t.Fatal(err)
		}
	}
	ref := "refs/heads/" + branch
	url := strings.Replace(w.forge.CloneURL("shop/web"), "http://", "http://x-access-token:ghp_"+login+"@", 1)
	git(nil, "fetch", "--quiet", url, "+"+ref+":"+ref)
	var stream bytes.Buffer
	for i := range commits {
		data, from := fmt.Sprintf("image: %d\n", i), ""
		if i == 0 {
			from = "from " + ref + "^0\n"
		}
		fmt.Fprintf(&stream, "commit %s\ncommitter Ada <ada@example.com> 1750000000 +0000\ndata 6\nchange\n%sM 100644 inline deploy/web.yaml\ndata %d\n%s\n",
			ref, from, len(data), data)
	}
	git(&stream, "fast-import", "--quiet")
	git(nil, "push", "--quiet", url, ref)
}
