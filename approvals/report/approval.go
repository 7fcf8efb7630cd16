package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge/record"
	"github.com/sluice-dev/sluice/internal/plain"
)

const (
	// maxPods is how many pods are listed: a person looks at those that are not well.
	maxPods = 20
	// maxImages is how many images of a pod are shown.
	maxImages = 5
	// maxTitleImages is how many images a title has, and maxTitleImage how long each is at most.
	maxTitleImages, maxTitleImage = 2, 60
)

// Batch holds the state of the pods that run the revision of a gate.
type Batch struct {
	// Replicas is spec.replicas of the workload.
	Replicas int32
	// Updated, Ready and Available count the pods that run the revision.
	Updated, Ready, Available int32
	Pods                      []Pod
	// Members has the members of a train's run.
	Members []Member
}

// Pod is one of a batch.
type Pod struct {
	Name     string
	Ready    bool
	Restarts int32
	Images   []string
	// Message says why it is not ready, where that is known.
	Message string
}

// Approval returns the text of the pull request of g: the change, its progress, the allowed
// approvers, and the effect of each answer. Equal facts give an equal text.
func Approval(g *v1alpha1.Gate, release *v1alpha1.BatchRelease, batch Batch) (title, body string) {
	sections := []string{
		opening(g, release),
		releaseTable(g, release),
		podsSection(g, release, batch),
		"### Who can approve\n\n" + approvers(g),
		"### What the answer does\n\n" + answers(g, release, batch),
	}
	return approvalTitle(g, release, batch.Pods), strings.Join(sections, "\n\n") + "\n"
}

func podsSection(g *v1alpha1.Gate, release *v1alpha1.BatchRelease, batch Batch) string {
	if len(release.Spec.Members) > 0 {
		return "### Members\n\n" + membersText(batch)
	}
	return "### Pods of revision " + Code(g.Spec.Revision) + "\n\n" + batchText(batch) + requestsText(g, release)
}

// CommitMessage returns the message of the commit that adds the record of g.
func CommitMessage(g *v1alpha1.Gate) string {
	return fmt.Sprintf("Approve batch %d of %s\n\nRevision %s of commit %s goes on once this is on the tracked branch.\n",
		g.Spec.Step+1, word(g.Namespace+"/"+g.Spec.ReleaseRef.Name), word(g.Spec.Revision), word(cmp.Or(g.Spec.Commit, "unknown")))
}

// approvalTitle names the images, which people know, of what runs: a template may have been changed
// since.
func approvalTitle(g *v1alpha1.Gate, release *v1alpha1.BatchRelease, pods []Pod) string {
	title := fmt.Sprintf("Approve batch %s of %s: ", place(g, release), word(g.Namespace+"/"+g.Spec.ReleaseRef.Name))
	revision := "revision " + word(g.Spec.Revision)
	if len(pods) == 0 {
		return title + revision
	}
	first := slices.MinFunc(pods, func(x, y Pod) int { return cmp.Compare(x.Name, y.Name) })
	if len(first.Images) == 0 {
		return title + revision
	}
	return fmt.Sprintf("%s%s (%s)", title, imageNames(first.Images), revision)
}

// imageNames returns images without the registries that they come from.
func imageNames(images []string) string {
	var names []string
	for _, image := range images[:min(len(images), maxTitleImages)] {
		name := noImage.ReplaceAllString(image[strings.LastIndex(image, "/")+1:], "-")
		names = append(names, name[:min(len(name), maxTitleImage)])
	}
	if more := len(images) - len(names); more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), more)
	}
	return strings.Join(names, ", ")
}

// opening says what is asked.
func opening(g *v1alpha1.Gate, release *v1alpha1.BatchRelease) string {
	what, next := "release", "The next batch"
	if release.Status.Rollback != nil {
		what = "rollback"
	}
	if lastStep(g, release) {
		next = "Its end"
	}
	return fmt.Sprintf("Batch %s of this %s is done. %s waits for this pull request.", place(g, release), what, next)
}

func lastStep(g *v1alpha1.Gate, release *v1alpha1.BatchRelease) bool {
	return int(g.Spec.Step)+1 >= len(steps(release))
}

// place returns the step of g, counted from 1: 2/4.
func place(g *v1alpha1.Gate, release *v1alpha1.BatchRelease) string {
	return fmt.Sprintf("%d/%d", g.Spec.Step+1, max(len(steps(release)), int(g.Spec.Step)+1))
}

// steps returns those that the release goes through; a rollback that names none has two.
func steps(release *v1alpha1.BatchRelease) []v1alpha1.Step {
	switch {
	case release.Status.Rollback == nil:
		return release.Spec.Strategy.Steps
	case release.Spec.Rollback != nil:
		return release.Spec.Rollback.Steps
	default:
		return []v1alpha1.Step{{Replicas: intstr.FromInt32(1)}, {Replicas: intstr.FromString("100%")}}
	}
}

func releaseTable(g *v1alpha1.Gate, release *v1alpha1.BatchRelease) string {
	rows := []string{
		"| | |",
		"|---|---|",
		"| Release | " + Code(g.Namespace+"/"+g.Spec.ReleaseRef.Name) + " |",
		"| Revision | " + Code(g.Spec.Revision) + " |",
		"| Commit | " + commit(g.Spec.Commit) + " |",
	}
	if release.Spec.Follow != "" {
		rows[len(rows)-1] = "| Applied, as the workload says | " + claimed(g, release) + " |"
	}
	// The annotations are about the commit that Git has now, which may be a later one.
	if annotations := release.Annotations; g.Spec.Commit != "" && annotations[v1alpha1.CommitAnnotation] == g.Spec.Commit {
		rows = append(rows,
			"| Author | "+Code(annotations[v1alpha1.AuthorAnnotation])+" |",
			"| Subject | "+Code(annotations[v1alpha1.SubjectAnnotation])+" |")
		if from := v1alpha1.ParseReference(annotations[v1alpha1.ReferenceAnnotation]); from != nil {
			rows = append(rows, "| Made from, as the commit says | "+Code(strings.TrimSpace(plain.Commit(from.SHA)+" "+from.Author+" "+from.Subject))+" |")
		}
	}
	return strings.Join(rows, "\n")
}

// claimed returns the commit and subject that whoever applied the revision names. The annotations
// may be about one that was applied since.
func claimed(g *v1alpha1.Gate, release *v1alpha1.BatchRelease) string {
	status := &release.Status
	if status.UpdateRevision != g.Spec.Revision {
		return "nothing"
	}
	var cells []string
	if status.Commit != "" {
		cells = append(cells, commit(status.Commit))
	}
	if status.CommitSubject != "" {
		cells = append(cells, Code(status.CommitSubject))
	}
	return cmp.Or(strings.Join(cells, " "), "nothing")
}

func batchText(batch Batch) string {
	text := fmt.Sprintf("%d of %s updated, %d ready, %d available.", batch.Updated, plain.Count(batch.Replicas, "pod"), batch.Ready, batch.Available)
	if len(batch.Pods) == 0 {
		return text
	}
	listed := listing(batch.Pods)
	rows := []string{text, "", "| Pod | Ready | Restarts | Images | Message |", "|---|---|---|---|---|"}
	for _, pod := range listed[:min(len(listed), maxPods)] {
		rows = append(rows, podRow(pod))
	}
	if more := len(listed) - maxPods; more > 0 {
		rows = append(rows, "", fmt.Sprintf("and %d more.", more))
	}
	return strings.Join(rows, "\n")
}

// listing orders the pods: unready pods first, then restarted pods, then by name.
func listing(all []Pod) []Pod {
	return slices.SortedFunc(slices.Values(all), func(x, y Pod) int {
		switch {
		case x.Ready != y.Ready && y.Ready:
			return -1
		case x.Ready != y.Ready:
			return 1
		}
		return cmp.Or(cmp.Compare(y.Restarts, x.Restarts), cmp.Compare(x.Name, y.Name))
	})
}

func podRow(pod Pod) string {
	ready := "yes"
	if !pod.Ready {
		ready = "**no**"
	}
	images := codes(pod.Images[:min(len(pod.Images), maxImages)])
	if more := len(pod.Images) - maxImages; more > 0 {
		images += fmt.Sprintf(" and %d more", more)
	}
	message := ""
	if pod.Message != "" {
		message = Code(pod.Message)
	}
	return fmt.Sprintf("| %s | %s | %d | %s | %s |", Code(pod.Name), ready, pod.Restarts, images, message)
}

// approvers says whose answer counts.
func approvers(g *v1alpha1.Gate) string {
	policy := g.Spec.Policy.PullRequest
	if policy == nil {
		policy = &v1alpha1.PullRequestGate{}
	}
	text := "The merge is the approval. "
	who, whose := "Whoever merges", "Everybody with write access to the repository may give it"
	if n := policy.MinApprovals; n > 0 {
		text = fmt.Sprintf("%s of the last commit here, **before or after the merge**. ", approvals(n))
		who, whose = "Reviewers", "Every person with write access to the repository counts"
	}
	switch named := named(policy); {
	case named == "":
		text += whose + ", except Sluice's own account."
	default:
		text += who + " must have write access to the repository and be " + named + "."
	}
	if policy.ForbidSelfApproval {
		text += " Nobody counts who contributed since the commit that ran before: authors, committers and co-authors of " +
			"commits, authors of pull requests, and those who pushed."
	}
	if policy.ForbidSelfApproval && g.Spec.StableCommit == "" {
		text += " **Here that commit is not known, so no merge passes this gate**: " + Code(pastPolicy(g)) + " does, for those who may use it."
	}
	return text
}

func approvals(n int32) string {
	return "It takes " + plain.Count(n, "approving review")
}

// named lists those whom a policy names; logins are shown as code, so that nobody is called for.
func named(policy *v1alpha1.PullRequestGate) string {
	var parts []string
	if len(policy.Approvers) > 0 {
		parts = append(parts, "one of "+codes(policy.Approvers))
	}
	if len(policy.Teams) > 0 {
		parts = append(parts, "in a team of "+codes(policy.Teams))
	}
	return strings.Join(parts, " or ")
}

// answers says what each answer does.
func answers(g *v1alpha1.Gate, release *v1alpha1.BatchRelease, batch Batch) string {
	merge := "- **Merge**: " + following(g, release, batch)
	if others := otherGates(g, release); others != "" {
		merge += " The other gates of this batch must pass too: " + others + "."
	}
	return strings.Join([]string{
		merge,
		"- **Close**: " + closing(g, release, batch),
		"- **Neither**: the release waits.",
		"",
		fmt.Sprintf("The one file here, %s, names this gate. It counts once, for this batch of this revision, and only unchanged: "+
			"if this pull request changes it, or any other file, its merge approves nothing.", Code(record.Path(g.Namespace, g.Spec.ReleaseRef.Name))),
	}, "\n")
}

// closing says what happens to a release whose approval is refused.
func closing(g *v1alpha1.Gate, release *v1alpha1.BatchRelease, batch Batch) string {
	back := ""
	if requestsOf(release, int(g.Spec.Step)) != "" {
		back = ", its requests before its pods"
	}
	if g.Spec.Policy.OnReject == v1alpha1.RejectRollback && release.Status.Rollback == nil {
		return fmt.Sprintf("**the release is rolled back**%s, and revision %s is not released again until Git has another template. "+
			"Reopening this pull request does not undo that.", back, Code(g.Spec.Revision))
	}
	return fmt.Sprintf("the release stays at %d of %s%s. Reopen this pull request to continue.",
		batch.Updated, plain.Count(batch.Replicas, "pod"), and(", and ", requestsOf(release, int(g.Spec.Step))))
}

// following says what comes after the step of g.
func following(g *v1alpha1.Gate, release *v1alpha1.BatchRelease, batch Batch) string {
	if lastStep(g, release) {
		if requestsOf(release, int(g.Spec.Step)) != "" {
			return endWords(&release.Spec) + ". Then the release completes, and Sluice hands the workload back to Kubernetes."
		}
		return "the release completes, and Sluice hands the workload back to Kubernetes."
	}
	all, next := steps(release), int(g.Spec.Step)+1
	target := all[next].Replicas.String()
	if all[next].Replicas.Type == intstr.Int {
		target = fmt.Sprintf("%d", min(all[next].Replicas.IntVal, batch.Replicas))
	}
	return fmt.Sprintf("the release goes on with batch %d/%d, at whose end %s of %s are updated%s.",
		next+1, len(all), target, plain.Count(batch.Replicas, "pod"), and(" and get ", requestsOf(release, next)))
}

// otherGates returns the types of what the step waits for beside g.
func otherGates(g *v1alpha1.Gate, release *v1alpha1.BatchRelease) string {
	var others []string
	for _, reference := range release.Status.Gates {
		if reference.Name != g.Name {
			others = append(others, string(reference.Type))
		}
	}
	if len(others) == 0 {
		return ""
	}
	return codes(others)
}
