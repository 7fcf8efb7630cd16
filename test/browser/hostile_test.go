package browser_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/test/browser"
)

// hostile returns a text that would run in a page that does not escape it; where names the place.
func hostile(where string) string {
	return where + `"'><img src=x onerror="window.__pwned='` + where + `'"><script>window.__pwned=1</script><svg/onload=window.__pwned=2>` +
		`</title></noscript><a href="javascript:window.__pwned=3">{{.}}</a>` + "\u202e"
}

// hostileBranch returns a hostile name of a branch that git-check-ref-format takes.
func hostileBranch(where string) string {
	return strings.NewReplacer(" ", "/", ":", "").Replace(hostile(where))
}

// hostileLink returns an address that is none to follow.
func hostileLink(where string) string {
	return "javascript:window.__pwned='" + where + "'//https://example.com"
}

// attack fills a namespace with a release whose every text was written by an attacker, as far as
// Kubernetes lets one write it. No controller runs there.
func (s *stage) attack() {
	s.Helper()
	s.deployed("web", "web:1", 2)
	s.patch(&appsv1.Deployment{}, "web", string(encode(map[string]any{"spec": map[string]any{"template": template("web", hostile("image"), map[string]string{
		controlplane.BehaviourAnnotation: controlplane.ImagePullFailure,
	})}})))
	var revision string
	cptest.Eventually(s, soon, func() error { // KWOK may write the status, too
		var pod *corev1.Pod
		pod, revision = s.newPod()
		pod.Status.Reason, pod.Status.Message = hostile("pod-reason"), hostile("pod-message")
		pod.Status.ContainerStatuses[0].State.Waiting.Reason = hostile("waiting-reason")
		pod.Status.ContainerStatuses[0].State.Waiting.Message = hostile("waiting-message")
		return s.Status().Update(s.Context(), pod)
	})
	release := released("web", template("web", hostile("image"), nil), step(1, manual(), window()), step("50%", pullRequest()), step("100%"))
	release.Labels = map[string]string{v1alpha1.SourceLabel: "repo"}
	release.Annotations = map[string]string{
		v1alpha1.CommitAnnotation: hostile("commit"), v1alpha1.AuthorAnnotation: hostile("author"), v1alpha1.SubjectAnnotation: hostile("subject"),
		v1alpha1.FreezeAnnotation: hostile("freeze"), v1alpha1.PausePointAnnotation: hostile("pause"), v1alpha1.CurrentStableAnnotation: "stable",
	}
	release.Spec.Strategy.Traffic = &v1alpha1.Traffic{Routes: []v1alpha1.TrafficRoute{{Kind: v1alpha1.RouteHTTP, Name: "web", Service: "web"}}}

	release.Spec.Strategy.Steps[0].Traffic = "20%"
	s.create(release)
	s.hostileStatus(release, revision)
	s.hostileGate(release, revision)
	s.hostileHistory(release)
	s.hostileSource()
}

// newPod returns a pod that waits for a missing image.
func (s *stage) newPod() (*corev1.Pod, string) {
	s.Helper()
	var found *corev1.Pod
	cptest.Eventually(s, soon, func() error {
		var pods corev1.PodList
		if err := s.List(s.Context(), &pods, client.InNamespace(s.namespace)); err != nil {
			return err
		}
		for i := range pods.Items {
			if states := pods.Items[i].Status.ContainerStatuses; len(states) > 0 && states[0].State.Waiting != nil {
				found = &pods.Items[i]
				return nil
			}
		}
		return fmt.Errorf("no pod waits for its image")
	})
	return found, found.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
}

func window() v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{Window: &v1alpha1.WindowGate{Schedule: "0 0 * * *"}}
}

func pullRequest() v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{PullRequest: &v1alpha1.PullRequestGate{Approvers: []string{hostile("approver")[:60]}}}
}

func (s *stage) hostileStatus(release *v1alpha1.BatchRelease, revision string) {
	s.Helper()
	now := metav1.Now()
	release.Status = v1alpha1.BatchReleaseStatus{
		Phase: v1alpha1.PhaseRollingUpdate, State: v1alpha1.StateBlocked, CurrentStepState: v1alpha1.StepBlocking, Reason: "GateWaiting",
		Message: hostile("message"), UpdateRevision: revision, StableRevision: hostile("stable"), Commit: hostile("status-commit"),
		CommitAuthor: hostile("status-author"), CommitSubject: hostile("status-subject"), Attempt: 1, StartedAt: &now, StepStartedAt: &now, LastUpdateTime: &now,
		Replicas: 2, TargetReplicas: 1, UpdatedReplicas: 1, AvailableReplicas: 2,
		Gates:        []v1alpha1.GateReference{{Name: "hostile", Type: v1alpha1.GateManual, Decision: v1alpha1.DecisionWaiting}},
		Queued:       &v1alpha1.QueuedTemplate{Commit: hostile("queued"), ResolvedTemplate: v1alpha1.ResolvedTemplate{Revision: hostile("queued-revision")}, Since: now},
		RefusedWrite: &v1alpha1.RefusedWrite{Write: hostile("refused-write"), Message: hostile("refused-message"), Since: now},
		Revert:       &v1alpha1.Revert{Attempt: 1, State: v1alpha1.RevertOpen, PullRequest: &v1alpha1.PullRequestReference{Number: 7, URL: hostileLink("revert")}},
		Traffic: &v1alpha1.TrafficStatus{
			Weight: 20, TargetWeight: 50, StableRevision: hostile("traffic-stable"), CanaryRevision: hostile("traffic-canary"), Awaits: v1alpha1.AwaitedRoutes,
			AwaitsObject: hostile("awaits"), Problem: &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficNotAccepted, Object: hostile("problem-object"), Message: hostile("problem")},
		},
		Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionDrifted, Status: metav1.ConditionTrue, Reason: "Changed", Message: hostile("drifted"), LastTransitionTime: now},
			{Type: v1alpha1.ConditionPreflightFailed, Status: metav1.ConditionTrue, Reason: "Failed", Message: hostile("preflight"), LastTransitionTime: now},
		},
	}
	if err := s.Status().Update(s.Context(), release); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) hostileGate(release *v1alpha1.BatchRelease, revision string) {
	s.Helper()
	for i, policy := range []v1alpha1.GatePolicy{manual(), window()} {
		gate := &v1alpha1.Gate{
			ObjectMeta: metav1.ObjectMeta{Name: []string{"hostile", "hostile-window"}[i], Labels: map[string]string{v1alpha1.ReleaseLabel: release.Name}},
			Spec: v1alpha1.GateSpec{
				ReleaseRef: v1alpha1.ReleaseReference{Name: release.Name, UID: release.UID}, Revision: revision, Attempt: 1, Index: int32(i),
				Type: policy.Type(), Policy: policy, Nonce: "n",
			},
		}
		s.create(gate)
		decided := metav1.Now()
		gate.Status = v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionWaiting, Message: hostile("gate-message"),
			PullRequest: &v1alpha1.PullRequestReference{Number: 3, URL: hostileLink("pull")},
			Record:      &v1alpha1.RecordFile{Path: hostile("record")},
			Evidence: []v1alpha1.Evidence{
				{Kind: hostile("evidence-kind"), Actor: hostile("evidence-actor"), Detail: hostile("evidence-detail"), URL: hostileLink("evidence")},
				{Kind: "data", URL: "data:text/html,<script>window.__pwned=4</script>"},
				{Kind: "honest", URL: "https://example.com/?a=%22%3E&b='"},
			},
		}
		if i == 1 {
			gate.Status.Decision, gate.Status.DecidedAt = v1alpha1.DecisionPassed, &decided
			gate.Status.Evidence[0] = v1alpha1.Evidence{Kind: v1alpha1.EvidenceForced, Actor: hostile("forced-by"), Detail: hostile("forced-reason")}
		}
		if err := s.Status().Update(s.Context(), gate); err != nil {
			s.Fatal(err)
		}
	}
}

// hostileHistory keeps three templates.
func (s *stage) hostileHistory(release *v1alpha1.BatchRelease) {
	s.Helper()
	for i, outcome := range []string{string(v1alpha1.OutcomeReleased), string(v1alpha1.OutcomeRolledBackTo), hostile("outcome")} {
		s.keep(release, fmt.Sprintf("revision-%d", i), outcome, hostile("kept-subject"),
			template("web", hostile(fmt.Sprintf("kept-image-%d", i)), map[string]string{"note": hostile("kept-note")}))
	}
}

// keep puts a template into the history of a release.
func (s *stage) keep(release *v1alpha1.BatchRelease, revision, outcome, subject string, pods corev1.PodTemplateSpec) {
	s.Helper()
	ended := time.Now().Add(-time.Hour)
	s.create(&appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: release.Name + "-" + revision, Labels: map[string]string{v1alpha1.ReleaseLabel: release.Name, v1alpha1.RevisionLabel: revision},
			Annotations: map[string]string{
				v1alpha1.OutcomeAnnotation: outcome, v1alpha1.CommitAnnotation: hostile("kept-commit"), v1alpha1.AuthorAnnotation: hostile("kept-author"),
				v1alpha1.SubjectAnnotation: subject, v1alpha1.ApprovedByAnnotation: hostile("approved-by"), v1alpha1.ForcedAnnotation: hostile("kept-forced"),
				v1alpha1.StartedAtAnnotation: ended.Add(-time.Hour).UTC().Format(time.RFC3339), v1alpha1.ReleasedAtAnnotation: ended.UTC().Format(time.RFC3339),
			},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(release, v1alpha1.GroupVersion.WithKind("BatchRelease"))},
		},
		Revision: int64(len(revision)),
		Data:     runtime.RawExtension{Raw: encode(pods)},
	})
}

func (s *stage) hostileSource() {
	s.Helper()
	source := &v1alpha1.ReleaseSource{
		ObjectMeta: metav1.ObjectMeta{Name: "repo"},
		Spec:       v1alpha1.ReleaseSourceSpec{URL: hostileLink("source"), Path: hostile("path"), Ref: v1alpha1.GitReference{Branch: hostileBranch("branch")}},
	}
	s.create(source)
	now := metav1.Now()
	source.Status = v1alpha1.ReleaseSourceStatus{
		ObservedCommit: hostile("source-commit"), RefusedHead: hostile("refused-head"), LastSyncTime: &now, ErrorCount: 2, Errors: []v1alpha1.FileError{
			{File: hostile("file"), Line: 3, Message: hostile("file-error")}, {File: "b.yaml", Message: strings.Repeat("long ", 1000)},
		},
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "FilesInvalid", Message: hostile("source-message"), LastTransitionTime: now}},
	}
	if err := s.Status().Update(s.Context(), source); err != nil {
		s.Fatal(err)
	}
}

// hostileQuery returns an attacker's query in a link to the dashboard.
func hostileQuery(names ...string) string {
	values := url.Values{}
	for _, name := range names {
		values.Set(name, hostile(name))
	}
	return "?" + values.Encode()
}

// TestHostileTexts: texts of Git, the forge, pods and people are text on every page, and no page
// runs any of it or leads to it. The same pages keep no person out.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.attack()
	dash := s.dashboard(cptest.Config(t), s.namespace)
	tab := dash.visit(t, "/")
	for _, tc := range []struct {
		path   string
		status int
		// texts are places whose text must be on the page, as it was written.
		texts []string
	}{
		{"/", 200, []string{"status-author", "status-subject", "message"}},
		{"/" + hostileQuery("search", "namespace", "phase", "page", "mine"), 200, []string{"search"}},
		{s.page("web"), 200, []string{
			"status-subject", "status-author", "gate-message", "evidence-kind", "evidence-actor", "evidence-detail", "record", "drifted", "preflight", "problem",
			"kept-subject", "approved-by", "kept-forced", "forced-by", "forced-reason", "refused-message", "image",
		}},
		{s.page("web") + "?by=zone", 200, nil},
		{s.page("web") + "/diff?from=revision-0&to=revision-1", 200, []string{"kept-image-0", "kept-image-1"}},
		{s.page("web") + "/diff" + hostileQuery("from", "to"), 404, nil},
		{"/sources", 200, []string{"file", "file-error", "branch", "path"}},
		{"/history", 200, []string{"kept-subject", "kept-author"}},
		{"/history" + hostileQuery("namespace", "days"), 200, nil},
		{"/releases/" + s.namespace + "/" + url.PathEscape(hostile("name")), 404, nil},
		{"/" + url.PathEscape(hostile("nowhere")), 404, nil},
	} {
		t.Run(tc.path[:min(len(tc.path), 60)], func(t *testing.T) {
			tab := tab.In(t)
			tab.Open(dash.at(tab, tc.path))
			settled(tab)
			for _, text := range tc.texts {
				if !strings.Contains(browser.Ask[string](tab, `document.body.textContent + [...document.querySelectorAll("input")].map((i) => i.value)`), text+`"'><img`) {
					t.Errorf("%s is not on the page as it was written", text)
				}
			}
			harmless(t, tab, tc.status)
			withoutBarriers(t, tab)
		})
	}
	asks := 0
	for _, address := range actionsOf(tab, dash.at(tab, s.page("web"))) {
		asks++
		t.Run("asks "+address[strings.LastIndex(address, "/")+1:], func(t *testing.T) {
			tab := tab.In(t)
			tab.Open(address)
			settled(tab)
			harmless(t, tab, 200)
			withoutBarriers(t, tab)
		})
	}
	if asks < 3 {
		t.Errorf("the release offers %d actions, want some", asks)
	}
}

// actionsOf returns the addresses of the pages that ask before they do something.
func actionsOf(tab *browser.Tab, page string) []string {
	tab.Open(page)
	settled(tab)
	return browser.Ask[[]string](tab, `[...document.querySelectorAll("nav.actions a")].map((a) => a.href)`)
}

// settled waits until a page is whole, and opens what is folded.
func settled(tab *browser.Tab) {
	tab.Await(`document.readyState === "complete"`, soon)
	browser.Ask[*string](tab, `document.querySelectorAll("details").forEach((d) => { d.open = true; })`)
}

// harmless wants that nothing on a page has run, or would.
func harmless(t *testing.T, tab *browser.Tab, status int) {
	t.Helper()
	if pwned := browser.Ask[bool](tab, `"__pwned" in window`); pwned {
		t.Errorf("a text was run: %s", browser.Ask[string](tab, `String(window.__pwned)`))
	}
	for _, bad := range browser.Ask[[]string](tab, `[...document.querySelectorAll("*")].flatMap((e) => [
		...(["IMG", "IFRAME", "OBJECT", "EMBED", "STYLE", "BASE"].includes(e.tagName) ? [e.outerHTML] : []),
		...(e.tagName === "SCRIPT" && (e.textContent || !e.getAttribute("src").startsWith("/assets/")) ? [e.outerHTML] : []),
		...[...e.attributes].filter((a) => /^on|^style$/i.test(a.name) || ["href", "src", "action"].includes(a.name) && !/^(https?:\/\/|\/(?!\/)|#|\?)/.test(a.value)).map((a) => a.name + "=" + a.value),
	])`) {
		t.Errorf("on the page is %.300s", bad)
	}
	for _, fault := range tab.Faults() {
		if status == 404 && strings.Contains(fault, "404") {
			continue
		}
		t.Errorf("the browser complains: %s", fault)
	}
}

// withoutBarriers wants that a page keeps nobody out, whatever they look through; all if none is
// named.
func withoutBarriers(t *testing.T, tab *browser.Tab, looks ...browser.Look) {
	t.Helper()
	if len(looks) == 0 {
		looks = browser.Looks
	}
	for _, look := range looks {
		tab.Through(look)
		for _, barrier := range tab.Barriers() {
			t.Errorf("%s: %s", look.Name, barrier)
		}
		if wide := browser.Ask[int](tab, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
			t.Errorf("%s: the page is %d px wider than its window, for: %v", look.Name, wide, browser.Ask[[]string](tab,
				`[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map((e) => e.outerHTML.slice(0, 120))`))
		}
		for _, text := range browser.Ask[[]string](tab, squeezed) {
			t.Errorf("%s: a column is too narrow to read: %q", look.Name, text)
		}
	}
}

// squeezed are texts of more than a word in a column of a few letters.
const squeezed = `[...document.querySelectorAll("main *:not(.vh, option)")].filter((e) => {
	const text = [...e.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE).map((n) => n.data.trim()).join(" ");
	const box = e.getBoundingClientRect();
	return text.length > 15 && box.width > 0 && box.width < 60 && box.height > box.width;
}).slice(0, 5).map((e) => e.textContent.trim().slice(0, 80))`
