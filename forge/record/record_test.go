package record_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/record"
)

func gate() *v1alpha1.Gate {
	return &v1alpha1.Gate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-7f9c-3-1-0"},
		Spec: v1alpha1.GateSpec{
			ReleaseRef: v1alpha1.ReleaseReference{Name: "web"},
			Revision:   "7f9c", Commit: "1e100", Step: 1, Nonce: "5e1f",
		},
	}
}

const whole = `# Approval of one step of a release. Once this file is on the tracked branch, the release goes on to its
# next step. It counts for this step of this revision alone, and once.
namespace: "shop"
release: "web"
commit: "1e100"
revision: "7f9c"
step: 1
nonce: "5e1f"
`

func TestFormat(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(whole, string(record.Format(record.Of(gate())))); diff != "" {
		t.Errorf("the file must say what is approved, and that digits are text (-want +got):\n%s", diff)
	}
	if got, want := record.Path("shop", "web"), ".sluice/approvals/shop/web.yaml"; got != want {
		t.Errorf("path: got %s, want %s", got, want)
	}
	if got, want := record.Branch(gate()), "sluice/shop/web/7f9c/step-2-5e1f"; got != want {
		t.Errorf("branch: got %s, want %s", got, want)
	}
}

// TestBranchIsOneForAnyName: Git takes the branch of each name that Kubernetes takes.
func TestBranchIsOneForAnyName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"web", "web.v1", "yarn.lock", "a.lock.b", "lock"} {
		g := gate()
		g.Spec.ReleaseRef.Name = name
		if branch := record.Branch(g); !forge.IsBranch(branch) {
			t.Errorf("%s: %s is no branch", name, branch)
		}
	}
}

func TestParseReadsWhatFormatWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?`)
		want := v1alpha1.ApprovalRecord{
			Namespace: "n" + name.Draw(t, "namespace"), Release: "r" + name.Draw(t, "release"), Revision: name.Draw(t, "revision"),
			Commit: rapid.StringMatching(`([0-9a-f]{40})?`).Draw(t, "commit"),
			Step:   rapid.Int32Range(0, 49).Draw(t, "step"), Nonce: name.Draw(t, "nonce"),
		}
		got, err := record.Parse(record.Format(want))
		if err != nil {
			t.Fatalf("what was written must be read: %v", err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("it must say the same (-want +got):\n%s", diff)
		}
		if different := record.Difference(got, want); different != "" {
			t.Fatalf("it must be the same: %s", different)
		}
	})
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	without := func(line string) string { return strings.Replace(whole, line+"\n", "", 1) }
	tests := map[string]struct{ content, want string }{
		"Nothing":     {"", "namespace is missing"},
		"NoRelease":   {without(`release: "web"`), "release is missing"},
		"NoRevision":  {without(`revision: "7f9c"`), "revision is missing"},
		"NoStep":      {without("step: 1"), "step is missing"},
		"NoNonce":     {without(`nonce: "5e1f"`), "nonce is missing"},
		"More":        {whole + "steps: all\n", `unknown field "steps"`},
		"Twice":       {whole + "step: 2\n", "already set"},
		"NoYAML":      {"namespace: [", "no record"},
		"AnotherType": {strings.Replace(whole, "step: 1", "step: one", 1), "no record"},
		"TooLarge":    {whole + strings.Repeat("#", record.MaxBytes), "at most 4096"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := record.Parse([]byte(tc.content)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
		})
	}
}

func TestDifference(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*v1alpha1.ApprovalRecord)
		want   string
	}{
		"None":      {func(*v1alpha1.ApprovalRecord) {}, ""},
		"Blob":      {func(r *v1alpha1.ApprovalRecord) { r.Blob = "b10b" }, ""},
		"Namespace": {func(r *v1alpha1.ApprovalRecord) { r.Namespace = "lab" }, "it is for release lab/web"},
		"Release":   {func(r *v1alpha1.ApprovalRecord) { r.Release = "api" }, "it is for release shop/api"},
		"Revision":  {func(r *v1alpha1.ApprovalRecord) { r.Revision = "58d4" }, "it is for revision 58d4"},
		"Commit":    {func(r *v1alpha1.ApprovalRecord) { r.Commit = "" }, "it is for commit unknown"},
		"Step":      {func(r *v1alpha1.ApprovalRecord) { r.Step = 0 }, "it is for step 1"},
		"Nonce":     {func(r *v1alpha1.ApprovalRecord) { r.Nonce = "0" }, "it is for another gate of this step"},
	}
	for name, tc := range tests {
		have := record.Of(gate())
		tc.change(&have)
		if got := record.Difference(have, record.Of(gate())); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
	unbound := record.Of(gate())
	unbound.Nonce = ""
	if record.Difference(unbound, unbound) == "" {
		t.Error("a gate without a nonce must have no record")
	}
}
