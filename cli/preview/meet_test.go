package preview_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/preview"
	"github.com/sluice-dev/sluice/rollout/hold"
	deployed "github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/preflight"
	"github.com/sluice-dev/sluice/rollout/workload"
)

var (
	noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	web  = types.NamespacedName{Namespace: "shop", Name: "web"}
)

// rested returns a cluster in which the release of the Deployment is at its end, with two pods more
// than the manifest says.
func rested() *preview.Live {
	release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name, UID: "release-1"}}
	release.Spec.WorkloadRef = v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: web.Name}
	release.Status.Phase, release.Status.Message = v1alpha1.PhaseCompleted, "all pods run revision `v1`"
	return &preview.Live{
		Release: release, Running: &corev1.PodTemplateSpec{}, Workload: &plan.Workload{Name: "web", Replicas: 12, Mover: hold.Mover(workload.New("Deployment"))},
	}
}

// rolling returns one in the middle of a release.
func rolling() *preview.Live {
	live := rested()
	status := &live.Release.Status
	status.Phase, status.State, status.StepStartedAt = v1alpha1.PhaseRollingUpdate, v1alpha1.StateBlocked, &metav1.Time{Time: time.Unix(1, 0)}
	status.Message = "batch 1/3 done with 1 pod of 12"
	live.Workload.Hold = &plan.Hold{Release: "web", UID: "release-1"}
	return live
}

func (f files) meets(t *testing.T, before files, live *preview.Live) *preview.Preview {
	t.Helper()
	shown, err := preview.Compare(at(t, "a", before), at(t, "b", f), nil)
	if err != nil {
		t.Fatalf("compare: %v", err)
	}
	if err := shown.Meet(map[types.NamespacedName]*preview.Live{web: live}, noon); err != nil {
		t.Fatalf("meet: %v", err)
	}
	return shown
}

// TestMeet shows what a release comes upon in the cluster.
func TestMeet(t *testing.T) {
	t.Parallel()
	base := files{"web/deployment.yaml": deployment, "web/release.yaml": release}
	next := base.with(files{"web/deployment.yaml": strings.Replace(deployment, "1.28", "1.29", 1)})
	full := preflight.Namespace{Quotas: []corev1.ResourceQuota{{
		ObjectMeta: metav1.ObjectMeta{Name: "team"},
		Status: corev1.ResourceQuotaStatus{
			Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("12")},
			Used: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("12")},
		},
	}}}
	crowded := rested()
	crowded.Namespace = full
	recreate := rested()
	recreate.Workload.Mover = deployed.Mover{Recreate: true}
	cases := map[string]struct {
		before, after files
		live          *preview.Live
	}{
		"cluster-recreate": {base, next, recreate},
		"cluster":          {base, next.with(files{"web/release.yaml": strings.Replace(release, "strategy:", "strategy:\n    maxUnavailable: 0", 1)}), crowded},
		"cluster-rolling":  {base, next, rolling()},
		"cluster-absent":   {files{}, base, &preview.Live{Missing: []string{"not there: *Deployment*"}}},
		"cluster-removed":  {base, files{"web/deployment.yaml": deployment}, rolling()},
		"cluster-rescaled": {base, base.with(files{"web/release.yaml": strings.Replace(release, "5%", "50%", 1)}), rested()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown := tc.after.meets(t, tc.before, tc.live)
			goldenOf(t, shown, name)
		})
	}
}

// TestProspects: whether a new template begins is decided by the cluster and by what the commit
// says together.
func TestProspects(t *testing.T) {
	t.Parallel()
	base := files{"web/deployment.yaml": deployment, "web/release.yaml": release}
	next := base.with(files{"web/deployment.yaml": strings.Replace(deployment, "1.28", "1.29", 1)})
	digest := at(t, "b", next).Read.Releases[0].TemplateDigest
	but := func(live *preview.Live, change func(*v1alpha1.BatchRelease)) *preview.Live {
		change(live.Release)
		return live
	}
	suspended := func(r *v1alpha1.BatchRelease) { r.Spec.Suspend = true }
	frozen := func(text string) func(*v1alpha1.BatchRelease) {
		return func(r *v1alpha1.BatchRelease) { r.Annotations = map[string]string{v1alpha1.FreezeAnnotation: text} }
	}
	saying := func(field string) files {
		return next.with(files{"web/release.yaml": strings.Replace(release, "spec:\n", "spec:\n  "+field+"\n", 1)})
	}
	queueing := next.with(files{"web/release.yaml": strings.Replace(release, "strategy:", "strategy:\n    supersede: Queue", 1)})
	cases := map[string]struct {
		after files
		live  *preview.Live
		want  plan.Admission
	}{
		"at its end":                        {next, rested(), plan.Begins},
		"under way":                         {next, rolling(), plan.Supersedes},
		"under way, and to be finished":     {queueing, rolling(), plan.Queues},
		"suspended by a person":             {next, but(rested(), suspended), plan.Waits},
		"... until the commit":              {saying("suspend: false"), but(rested(), suspended), plan.Begins},
		"suspended by the commit":           {saying("suspend: true"), rested(), plan.Waits},
		"frozen by a person":                {next, but(rested(), frozen(`{"reason":"sale"}`)), plan.Waits},
		"frozen until a time that has been": {next, but(rested(), frozen(`{"reason":"sale","until":"2026-03-02T11:00:00Z"}`)), plan.Begins},
		"frozen by files that do no longer": {next, but(rested(), frozen(`{"reason":"sale","commit":"c0de"}`)), plan.Begins},
		"frozen by the commit":              {next.with(files{".sluice/freeze.yaml": "reason: sale\n"}), rested(), plan.Waits},
		"given already":                     {next, but(rested(), func(r *v1alpha1.BatchRelease) { r.Status.Resolved = &v1alpha1.ResolvedTemplate{Given: digest} }), plan.Known},
		"rolled back":                       {next, but(rested(), func(r *v1alpha1.BatchRelease) { r.Status.Quarantined = []string{digest} }), plan.Quarantined},
		"not there":                         {next, &preview.Live{}, plan.Begins},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.after.meets(t, base, tc.live).Releases[0].Cluster; got.Prospect != tc.want {
				t.Errorf("want %s, got %s: %s", tc.want, got.Prospect, got.Why)
			}
		})
	}
}

// TestObstacles: each obstacle to a commit's release is reported, in any state of the cluster.
func TestObstacles(t *testing.T) {
	t.Parallel()
	base := files{"web/deployment.yaml": deployment, "web/release.yaml": release}
	next := base.with(files{"web/deployment.yaml": strings.Replace(deployment, "1.28", "1.29", 1)})
	rules := base.with(files{"web/release.yaml": strings.Replace(release, "5%", "50%", 1)})
	there := func(change func(*preview.Live)) *preview.Live {
		live := rested()
		change(live)
		return live
	}
	held := func(by string, uid types.UID) func(*preview.Live) {
		return func(l *preview.Live) { l.Workload.Hold = &plan.Hold{Release: by, UID: uid} }
	}
	cases := map[string]struct {
		live *preview.Live
		want string
	}{
		"nothing":                          {there(func(*preview.Live) {}), ""},
		"the release is being deleted":     {there(func(l *preview.Live) { l.Release.DeletionTimestamp = &metav1.Time{Time: noon} }), "BatchRelease web is being deleted"},
		"the workload is being deleted":    {there(func(l *preview.Live) { l.Workload.Deleting = true }), "Deployment web is being deleted"},
		"another workload":                 {there(func(l *preview.Live) { l.Release.Spec.WorkloadRef.Name = "old" }), "spec.workloadRef can't be changed, and is Deployment old there: the API server refuses the release"},
		"another kind":                     {there(func(l *preview.Live) { l.Release.Spec.WorkloadRef.Kind = "DaemonSet" }), "spec.workloadRef can't be changed, and is DaemonSet web there: the API server refuses the release"},
		"its own hold":                     {there(held("web", "release-1")), ""},
		"its own, by the name before":      {there(held("web", "release-0")), ""},
		"the hold of another":              {there(held("other", "release-2")), "Deployment web is taken over by BatchRelease other: delete one of the two"},
		"the hold of another, none itself": {there(func(l *preview.Live) { held("other", "")(l); l.Release = nil }), "Deployment web is taken over by BatchRelease other: delete one of the two"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for what, after := range map[string]files{"template": next, "rules": rules} {
				if got := after.meets(t, base, tc.live).Releases[0].Cluster.Refused; got != tc.want {
					t.Errorf("%s: want %q, got %q", what, tc.want, got)
				}
			}
		})
	}
}
