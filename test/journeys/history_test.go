package journeys

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// The commits that history journeys release from.
const (
	secondCommit = "2222222222aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	thirdCommit  = "3333333333aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
)

// fromCommit says which commit brings a template, as a source does.
func fromCommit(commit, author, subject string) map[string]string {
	return map[string]string{
		v1alpha1.CommitAnnotation: commit, v1alpha1.AuthorAnnotation: author, v1alpha1.SubjectAnnotation: subject,
	}
}

// wantHistory compares what kubectl get controllerrevisions lists, the oldest first.
func (w *world) wantHistory(want ...string) {
	w.Helper()
	column := func(annotation string) string {
		return ".metadata.annotations." + strings.ReplaceAll(v1alpha1.Prefix, ".", `\.`) + annotation
	}
	out := w.kubectl("get", "controllerrevisions", "-l", v1alpha1.ReleaseLabel+"=web", "--sort-by=.revision", "--no-headers", "-o",
		"custom-columns=IMAGE:.data.spec.containers[0].image,OUTCOME:"+column("outcome")+",COMMIT:"+column("commit")+
			",SUBJECT:"+column("commit-subject")+",BY:"+column("approved-by"))
	var got []string
	for line := range strings.Lines(out) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("history (-want +got):\n%s", diff)
	}
}

// approveAs answers the gate that the release "web" waits for, as sluice approve does.
func (w *world) approveAs(who string, s *scene) {
	w.Helper()
	gates := s.releases["web"].Status.Gates
	uid := w.kubectl("get", "gate", gates[0].Name, "-o", "jsonpath={.metadata.uid}")
	w.kubectl("patch", "batchrelease", "web", "--type=merge", "--subresource=status",
		"-p", fmt.Sprintf(`{"status":{"answers":[{"gate":%q,"verdict":"Approve","by":%q}]}}`, uid, who))
}

// TestKubectlRolloutHistory: kubectl rollout history says of a Deployment in a release, and after
// it, what it says of any: each revision with the change cause that the Deployment had then.
func TestKubectlRolloutHistory(t *testing.T) {
	w := newWorld(t)
	w.startController()
	d := deployment(2)
	d.Annotations = map[string]string{changeCause: "the first"}
	w.deployed(d)
	w.create(release("web:2", step(1), step("100%")))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 1, "web:2": 1})))
	w.kubectl("annotate", "deployment", "web", "--overwrite", changeCause+"=the second")
	w.awaitRollouts("1 the first", "2 the second")
	if _, err := w.tryKubectl("", "rollout", "status", "deployment/web", "--timeout=2s"); err == nil {
		t.Error("kubectl rollout status does not wait for the end of the release")
	}
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 2)))
	w.awaitRollouts("1 the first", "2 the second")
	if out := w.kubectl("rollout", "history", "deployment/web", "--revision=2"); !strings.Contains(out, "web:2") {
		t.Errorf("revision 2 has not web:2: %s", out)
	}

	w.rollBack()
	w.await(all(web.rolledBack(v1alpha1.TriggerAnnotation, "rollback=true"), web.serves("web:1", 2)))
	w.kubectl("annotate", "deployment", "web", "--overwrite", changeCause+"=back to the first")
	w.awaitRollouts("2 the second", "3 back to the first")
}

// TestKubectlRolloutInPlace: kubectl rollout status and history of the other kinds say in
// mid-release what docs/batchrelease.md has.
func TestKubectlRolloutInPlace(t *testing.T) {
	for kind, c := range map[string]struct {
		place  func(*world)
		status func(out string, err error) bool
	}{
		"statefulset": {
			func(w *world) { w.halfOfOrdinals(4) },
			func(out string, err error) bool {
				return err == nil && strings.Contains(out, "partitioned roll out complete")
			},
		},
		"daemonset": {
			func(w *world) {
				w.ownNodes(2)
				w.startController()
				w.placed(w.daemonSet(), 2)
				w.create(w.toDaemon(step(1), step("100%")))
				w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 1, "web:2": 1})))
			},
			func(_ string, err error) bool {
				return err != nil && strings.Contains(err.Error(), "only available for RollingUpdate strategy type")
			},
		},
	} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			c.place(w)
			if out, err := w.tryKubectl("", "rollout", "status", kind+"/web", "--timeout=1m"); !c.status(out, err) {
				t.Errorf("kubectl rollout status says %q, %v", out, err)
			}
			for number, image := range map[string]string{"1": "web:1", "2": "web:2"} {
				if out := w.kubectl("rollout", "history", kind+"/web", "--revision="+number); !strings.Contains(out, image) {
					t.Errorf("revision %s has not %s: %s", number, image, out)
				}
			}
			w.awaitConfirming(web.completed)
			w.kubectl("rollout", "status", kind+"/web", "--timeout="+soon.String())
		})
	}
}

const changeCause = "kubernetes.io/change-cause"

// awaitRollouts waits for the revisions and change causes that kubectl rollout history prints.
func (w *world) awaitRollouts(want ...string) {
	w.Helper()
	w.await(func(*scene) error {
		var got []string
		for line := range strings.Lines(w.kubectl("rollout", "history", "deployment/web")) {
			if fields := strings.Fields(line); len(fields) > 1 && isNumber(fields[0]) {
				got = append(got, strings.Join(fields, " "))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("kubectl rollout history (-want +got):\n%s", diff)
		}
		return nil
	})
}

// nextFrom brings the release another image by a commit.
func (p workloadKind) nextFrom(w *world, image, commit string) {
	w.Helper()
	w.patchRelease(fmt.Sprintf(`{"metadata":{"annotations":%s},"spec":{"template":%s}}`,
		encode(fromCommit(commit, "Ada", image)), encode(p.template(w, image, nil))))
}

// TestHistoryAndDrift: the history names the author and the approver of each template, and what
// became of it. Any of them can be rolled back to by its commit. Changes at rest are reverted in
// steps where the release asks for it. A restart is no drift.
func TestHistoryAndDrift(t *testing.T) {
	onEachKind(t, func(w *world, p workloadKind) {
		before := p.served(w, 4)
		r := p.to(w, step(1), step("100%"))
		r.Annotations = fromCommit(secondCommit, "Ada", "web:2")
		w.create(r)
		w.approveAs("grace", w.await(web.blocksAt(0)))
		w.wantUntouched(before, all(web.completed, web.serves("web:2", 4)))
		p.nextFrom(w, "web:3", thirdCommit)
		w.wantUntouched(before, all(web.attempt(2), web.completed, web.serves("web:3", 4)))
		w.wantHistory("web:1 Adopted <none> <none> <none>", "web:2 Released "+secondCommit+" web:2 grace",
			"web:3 Released "+thirdCommit+" web:3 <none>")
		w.kubectl("annotate", "batchrelease", "web", "rollback="+secondCommit[:10])
		w.wantUntouched(before, all(web.rolledBack(v1alpha1.TriggerAnnotation, secondCommit[:10]), web.serves("web:2", 4)))

		w.patchRelease(`{"spec":{"drift":"Revert"}}`)
		w.kubectl("set", "image", strings.ToLower(p.kind)+"/web", "web=web:9")
		w.wantUntouched(before, all(web.rolledBack(v1alpha1.TriggerDrift, "web:2 -> web:9"), web.serves("web:2", 4)))
		released := w.now().uids()
		w.kubectl("rollout", "restart", strings.ToLower(p.kind), "web")
		w.await(all(web.serves("web:2", 4), seenNatively, noneOf(released), web.withoutCondition(v1alpha1.ConditionDrifted)))
	})
}

// noneOf wants none of these pods to be there any more.
func noneOf(uids map[string]string) check {
	return func(s *scene) error {
		for _, uid := range uids {
			for _, pod := range s.pods {
				if string(pod.UID) == uid {
					return fmt.Errorf("want another pod than %s", pod.Name)
				}
			}
		}
		return nil
	}
}
