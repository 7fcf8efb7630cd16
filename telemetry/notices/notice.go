package notices

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/telemetry/story"
)

// Notice is the content of a notice: the data of a CloudEvent, and what templates see. Texts are
// one line each, bounded, and of visible characters. schemas/notice_v1.json describes it.
type Notice struct {
	// Kind is the kind of the event.
	Kind story.Kind `json:"kind"`
	// Summary is one sentence for people.
	Summary string `json:"summary"`
	// Cluster is the name of the cluster, where it has one.
	Cluster string `json:"cluster,omitempty"`
	// Namespace and Release name the BatchRelease.
	Namespace string `json:"namespace"`
	Release   string `json:"release"`
	// Workload is the released workload, such as Deployment/web.
	Workload string `json:"workload,omitempty"`
	// Train is the train of the release, if it has one.
	Train string `json:"train,omitempty"`
	// Attempt counts what the BatchRelease has released.
	Attempt int64 `json:"attempt"`
	// Revision is the pod template hash that is released, or rolled back to; From is the one that a
	// rollback leaves.
	Revision string `json:"revision,omitempty"`
	From     string `json:"from,omitempty"`
	// Commit is the commit that is released, or rolled back, with its author and subject.
	Commit  string `json:"commit,omitempty"`
	Author  string `json:"author,omitempty"`
	Subject string `json:"subject,omitempty"`
	// Batch counts from 1; 0 before the first.
	Batch   int `json:"batch,omitempty"`
	Batches int `json:"batches,omitempty"`
	// Gate is the one that was opened or decided.
	Gate *Gate `json:"gate,omitempty"`
	// Trigger is the cause of a rollback.
	Trigger v1alpha1.RollbackTrigger `json:"trigger,omitempty"`
	// StoppedBy and StalledBy are the causes that stop or stall the release.
	StoppedBy v1alpha1.StopCause  `json:"stoppedBy,omitempty"`
	StalledBy v1alpha1.StallCause `json:"stalledBy,omitempty"`
	// Message says more, for people.
	Message string `json:"message,omitempty"`
	// Command is the command that answers a gate, or shows more.
	Command string `json:"command,omitempty"`
	// Seconds is how long what has ended here took.
	Seconds int64 `json:"seconds,omitempty"`
	// Time is when it happened.
	Time time.Time `json:"time"`
}

// Gate is the gate of a notice.
type Gate struct {
	Name string            `json:"name"`
	Type v1alpha1.GateType `json:"type"`
	// By names the user who decided the gate, if known; Forced means that its policy was overridden.
	By     string `json:"by,omitempty"`
	Forced bool   `json:"forced,omitempty"`
	// URL is the pull request, status or check.
	URL string `json:"url,omitempty"`
}

// Sizes of texts, in bytes.
const (
	sizeName    = 253
	sizeWord    = 100
	sizeSubject = 200
	sizeMessage = 500
	sizeURL     = 500
)

// text returns what somebody wrote, as a line of at most so many bytes.
func text(s string, size int) string {
	return plain.UpTo(plain.Line(plain.UpTo(s, 4*size)), size)
}

// word returns one that the API defines, or that somebody has put in its place.
func word[T ~string](w T) T { return T(text(string(w), sizeWord)) }

// noticeOf makes a notice of a fact. Release is the object that it is about, if it is known.
func noticeOf(fact *story.Fact, release *v1alpha1.BatchRelease, cluster string) Notice {
	f := complete(*fact, release)
	n := Notice{
		Kind: f.Kind, Cluster: text(cluster, sizeWord), Namespace: text(f.Release.Namespace, sizeName), Release: text(f.Release.Name, sizeName),
		Train: text(f.Train, sizeName), Attempt: f.Attempt, Revision: text(f.Revision, sizeWord), From: text(f.From, sizeWord),
		Commit: text(f.Commit, sizeWord), Author: text(f.Author, sizeWord), Subject: text(f.Subject, sizeSubject),
		Batch: f.Batch, Batches: f.Batches, Trigger: word(f.Trigger), StoppedBy: word(f.StoppedBy), StalledBy: word(f.StalledBy),
		Message: text(f.Message, sizeMessage), Seconds: int64(f.Took() / time.Second), Time: f.Time.UTC().Truncate(time.Second),
	}
	if f.Workload.Name != "" {
		n.Workload = text(f.Workload.Kind+"/"+f.Workload.Name, sizeName+sizeWord)
	}
	if f.Gate != nil {
		n.Gate = &Gate{
			Name: text(f.Gate.Name, sizeName), Type: word(f.Gate.Type),
			By: text(f.Gate.By, sizeWord), Forced: f.Gate.Forced, URL: webAddress(f.Gate.URL),
		}
	}
	n.Command = command(&n)
	n.Summary = summary(&n)
	return n
}

// complete adds to a fact about a gate what only its release knows.
func complete(f story.Fact, release *v1alpha1.BatchRelease) story.Fact {
	if release == nil || release.UID != f.UID {
		return f
	}
	f.Workload = release.Spec.WorkloadRef
	status := &release.Status
	if f.Gate == nil || status.Attempt != f.Attempt {
		return f
	}
	f.Batches = cmp.Or(f.Batches, len(release.Spec.Steps(status.Rollback != nil)))
	if f.Commit == status.Commit || f.Commit == "" {
		f.Commit, f.Author, f.Subject = status.Commit, status.CommitAuthor, status.CommitSubject
	}
	return f
}

// webAddress returns an address that a browser opens, or nothing.
func webAddress(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || len(address) > sizeURL || parsed.Host == "" || parsed.User != nil || parsed.Scheme != "https" && parsed.Scheme != "http" {
		return ""
	}
	return text(parsed.String(), sizeURL)
}

// command returns what people run next. Names of Kubernetes objects contain nothing that a shell
// interprets.
func command(n *Notice) string {
	target := "batchrelease/" + n.Release + " --namespace " + n.Namespace
	switch {
	case n.Kind == story.GateUndecided, n.Kind == story.GateOpened && n.Gate != nil && n.Gate.Type == v1alpha1.GateManual:
		return "sluice approve " + target
	case n.Kind == story.GateRejected, n.Kind == story.ApprovalRefused, n.Kind == story.ReleaseStopped, n.Kind == story.ReleaseFailed, n.Kind == story.Drifted:
		return "sluice get " + target
	}
	return ""
}

// idOf returns the ID of a notice, equal for whichever process sends it. Facts of an attempt that
// can happen again are counted. Facts of no batch are identified without it, since a process that
// missed them may not know the batch.
func idOf(fact *story.Fact, count int64) string {
	named := *fact
	if how := kinds[fact.Kind]; !how.batch && !how.repeats && fact.Gate == nil {
		named.Batch = 0
	}
	id := named.ID()
	if count > 0 {
		id += "/" + strconv.FormatInt(count, 10)
	}
	return strings.ToValidUTF8(id, "")
}

// source returns the release as the source of a CloudEvent.
func (n *Notice) source() string {
	source := "/namespaces/" + url.PathEscape(n.Namespace) + "/batchreleases/" + url.PathEscape(n.Release)
	if n.Cluster == "" {
		return source
	}
	return "/clusters/" + url.PathEscape(n.Cluster) + source
}

func (n *Notice) name() types.NamespacedName {
	return types.NamespacedName{Namespace: n.Namespace, Name: n.Release}
}
