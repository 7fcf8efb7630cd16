package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// openedShop is a shop without a control plane: its forge, and the developer's clone.
func openedShop(t *testing.T, f fleet) *shop {
	t.Helper()
	s := &shop{lab: &lab{kit: &kit{logs: t.TempDir()}}, fleet: f, tokens: map[string]string{}}
	t.Cleanup(func() {
		for _, stop := range s.stops {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
	})
	if err := s.openForge(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestShop seeds a repository with what Sluice reads without a complaint, and pushes onto what a second
// user has merged.
func TestShop(t *testing.T) {
	t.Parallel()
	f := fleet{deployments: 1, pods: 10, steps: pullSteps("1", "30%", "100%")}
	s := openedShop(t, f)
	result := readManifests(t, s.work.dir)
	if len(result.Errors) > 0 || len(result.Releases) != 1 {
		t.Fatalf("want one release and no mistake, got %+v", result)
	}
	release := result.Releases[0]
	if template := fmt.Sprint(release.WorkloadObject().Object); !strings.Contains(template, image(1)) || !strings.Contains(template, versionAnnotation+":1") {
		t.Errorf("want a Deployment of version 1, got %s", template)
	}
	if steps := fmt.Sprint(release.Object().Object["spec"]); strings.Count(steps, "pullRequest") != 2 {
		t.Errorf("all steps but the last have a pull request: got %s", steps)
	}

	for _, args := range [][]string{{"switch", "--quiet", "--create", "topic"}, {"commit", "--quiet", "--allow-empty", "--message=Approve"}} {
		if _, err := s.work.git(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	approval, err := s.work.git(t.Context(), "rev-parse", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"push", "--quiet", "origin", "topic"}, {"switch", "--quiet", branch}} {
		if _, err := s.work.git(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.merge(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("there is no pull request to merge: got %v", err)
	}
	number := openPull(t, s)
	if err := s.merge(t.Context(), number); err != nil {
		t.Fatal(err)
	}
	commit, err := s.push(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.work.git(t.Context(), "merge-base", "--is-ancestor", approval, commit); err != nil {
		t.Errorf("the push must be on top of what was merged: %v", err)
	}
	if content, err := os.ReadFile(filepath.Join(s.work.dir, shopDeployment)); err != nil || !strings.Contains(string(content), image(2)) {
		t.Errorf("want version 2 pushed, got %s (%v)", content, err)
	}
	for _, r := range s.forge.Requests() {
		if r.API && r.Method == http.MethodPut && r.User != approver {
			t.Errorf("%s merges, not %s", r.User, approver)
		}
	}
}

func openPull(t *testing.T, s *shop) int64 {
	t.Helper()
	body := strings.NewReader(fmt.Sprintf(`{"title":"Approve","head":"topic","base":%q}`, branch))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.forge.APIURL()+"repos/"+shopRepository+"/pulls", body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.tokens[releaser])
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		said, _ := io.ReadAll(answer.Body)
		t.Fatalf("open pull request: %s: %s", answer.Status, said)
	}
	return 1
}

// TestDoorbell has a push and what is none come to a controller, which gets both as they were sent.
func TestDoorbell(t *testing.T) {
	t.Parallel()
	var got []string
	controller := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.URL.Path+" "+r.Header.Get("X-Hub-Signature-256")+" "+string(body))
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(controller.Close)
	bell := newDoorbell(strings.TrimPrefix(controller.URL, "http://"))
	t.Cleanup(func() { bell.close() })
	before := time.Now()
	for _, event := range []string{"push", "status"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, bell.URL+"/hooks/a/b", strings.NewReader(`{"after":"`+event+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Github-Event", event)
		request.Header.Set("X-Hub-Signature-256", "sha256=1")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusAccepted {
			t.Errorf("%s: got %s", event, answer.Status)
		}
	}
	if want := `[/hooks/a/b sha256=1 {"after":"push"} /hooks/a/b sha256=1 {"after":"status"}]`; fmt.Sprint(got) != want {
		t.Errorf("the controller got %v, want %s", got, want)
	}
	if r, err := bell.of(t.Context(), "push"); err != nil || r.came.Before(before) || r.answered <= 0 {
		t.Errorf("want when the push came and how long the answer took, got %+v, %v", r, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := bell.of(ended, "status"); err == nil {
		t.Error("only pushes ring")
	}
}
