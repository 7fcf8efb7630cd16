package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

const secondCommit = "2222222222aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// TestList: the releases of a namespace, as somebody who may only look, in the formats that kubectl
// has.
func TestList(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	viewer := s.viewer()
	s.deploy("web")
	s.deploy("api")
	s.push("web", 2, secondCommit)
	s.awaitGate("web")

	got := regexp.MustCompile(` {2,}`).ReplaceAllString(s.ok(viewer, "list"), "|")
	s.want(got, "NAME|STATUS|BATCH|UPDATED|UPDATED-AVAILABLE|WAITS FOR|VERSION|COMMIT|AGE\n",
		"web|Waiting|1/2|1/4|1/4|manual|2|2222222|", "api|Completed|2/2|4/4|4/4|<none>|1|<none>|")
	s.want(s.ok(viewer, "list", "-o", "wide"), "WORKLOAD", "deployment/web", "web:2")
	if got := s.ok(viewer, "list", "-o", "name"); got != "batchrelease.rollouts.sluice.dev/api\nbatchrelease.rollouts.sluice.dev/web\n" {
		t.Errorf("want names that kubectl takes, got %q", got)
	}
	var releases v1alpha1.BatchReleaseList
	if err := json.Unmarshal([]byte(s.ok(viewer, "list", "-o", "json")), &releases); err != nil || len(releases.Items) != 2 || releases.Items[1].Kind != "BatchRelease" {
		t.Errorf("want the releases as JSON, got %d, %v", len(releases.Items), err)
	}
	if got := s.as(viewer, "list", "-l", "app=none"); got.stdout != "" || got.stderr != "no releases in namespace "+s.namespace+"\n" {
		t.Errorf("want nothing found to be said beside the output, got %q, %q", got.stdout, got.stderr)
	}
	s.want(s.completes(viewer, "list", "-o", ""), "wide", "jsonpath")
	s.patch("api", map[string]any{"spec": map[string]any{"suspend": true}})
	s.push("api", 2, "3333333333aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
	s.await("api", "waiting", func(status *v1alpha1.BatchReleaseStatus) bool { return status.Queued != nil })
	held := regexp.MustCompile(` {2,}`).ReplaceAllString(s.ok(viewer, "list"), "|")
	s.want(held, "api|OnHold|2/2|4/4|4/4|resume|1|<none>|")
	if got := s.as(viewer, "status", "api", "--watch=false"); got.code != exitUnderWay {
		t.Errorf("want exit code %d while the newest template waits, got %+v", exitUnderWay, got)
	}
	said, stop := s.start(viewer, "list", "--watch")
	said.await(s, "manual")
	s.confirm("web")
	said.await(s, "web    Completed")
	if code, got := stop(), said.String(); code != exitOK || strings.Count(got, "NAME") != 1 || strings.Count(got, "\napi ") != 1 {
		t.Errorf("want one line of headers, and a row of a release only when it changes, got %d:\n%s", code, got)
	}
	if got := s.as(s.person("stranger"), "list"); got.code != exitError {
		t.Errorf("want exit code %d for who may see nothing, got %d", exitError, got.code)
	}
}
