package proof

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

const (
	// PredicateType is the type of the predicate Gate.
	PredicateType = "https://rollouts.sluice.dev/gate/v1"
	// gitCommit is the algorithm of in-toto's digest sets for the name of a commit.
	gitCommit = "gitCommit"
)

// Statement says that a release of a commit has passed a gate.
type Statement struct {
	// Commit is the commit that the release brings, 40 hex digits.
	Commit string
	// Source names the ReleaseSource, as NAMESPACE/NAME, and URL its repository.
	Source, URL string
	// Release names the BatchRelease, as NAMESPACE/NAME, and Gate the Gate of its namespace.
	Release, Gate string
	Attempt       int64

	Predicate Gate
}

// Gate is the predicate of a statement.
type Gate struct {
	// UID identifies the release.
	UID string `json:"uid"`
	// Revision is the name that the native controller gives the template.
	Revision string `json:"revision"`
	// Template is the digest of the pod template that the gate admits, with the API server's defaults
	// (podtemplate.Digest).
	Template string `json:"template"`
	// Gates are the places of all gates of the release as it was then.
	Gates []Place           `json:"gates"`
	Place Place             `json:"place"`
	Type  v1alpha1.GateType `json:"type"`
	// Policy is the policy of the gate; nil if it does not fit.
	Policy *v1alpha1.GatePolicy `json:"policy,omitempty"`
	// PolicyDigest is the SHA-256 of the policy's JSON with sorted keys.
	PolicyDigest string `json:"policySHA256"`
	// Opened and Decided are when the gate was created, and when it passed, in whole seconds.
	Opened  time.Time `json:"opened"`
	Decided time.Time `json:"decided"`
	// Evidence lists the facts on which the gate passed.
	Evidence []Fact `json:"evidence"`
	// Reviewers are the accounts whose reviews count, by the forge's numbers, where Evidence has no
	// room for them.
	Reviewers []int64 `json:"reviewers,omitempty"`
	// Contributors are the accounts that contributed to the release, by the forge's numbers, if the
	// policy excludes them.
	Contributors []int64 `json:"contributors,omitempty"`
}

// Place is the place of a gate as STEP.INDEX: the batch before it, and its place in the list of
// that step, both from 0.
type Place string

func placeOf(step, index int32) Place { return Place(fmt.Sprintf("%d.%d", step, index)) }

// Fact is one fact that a decision rests on, as v1alpha1.Evidence has it.
type Fact struct {
	Kind    string     `json:"kind"`
	Actor   string     `json:"actor,omitempty"`
	ActorID int64      `json:"actorID,omitempty"`
	ID      int64      `json:"id,omitempty"`
	SHA     string     `json:"sha,omitempty"`
	Time    *time.Time `json:"time,omitempty"`
}

// StatementOf returns the statement about a gate as it passes, with its new status. The release is
// the one that waits for the gate. It returns false where there is nothing to say: the release
// brings no commit of a source, its template is not known, or the gate is not as the release asks
// for it. Any user who may make Gates may have made that one.
func StatementOf(g *v1alpha1.Gate, status v1alpha1.GateStatus, release *v1alpha1.BatchRelease, source *v1alpha1.ReleaseSource) (Statement, bool) {
	if release == nil || source == nil || g.Spec.Commit == "" || release.Status.Resolved == nil || release.Status.Resolved.Revision != g.Spec.Revision {
		return Statement{}, false
	}
	place := placeOf(g.Spec.Step, g.Spec.Index)
	places, policies := gatesOf(release)
	policy, found := policies[place]
	if g.Spec.Commit != release.Status.Commit || !found || !equality.Semantic.DeepEqual(policy, g.Spec.Policy) {
		return Statement{}, false
	}
	s := Statement{
		Commit: g.Spec.Commit, Source: source.Namespace + "/" + source.Name, URL: source.Spec.URL,
		Release: g.Namespace + "/" + g.Spec.ReleaseRef.Name, Gate: g.Name, Attempt: g.Spec.Attempt,
		Predicate: Gate{
			UID: string(g.Spec.ReleaseRef.UID), Revision: g.Spec.Revision, Template: release.Status.Resolved.Digest, Gates: places,
			Place: place, Type: g.Spec.Type, Policy: &g.Spec.Policy, PolicyDigest: policyDigest(&g.Spec.Policy),
			Opened: seconds(g.CreationTimestamp.Time), Contributors: status.Contributors,
		},
	}
	if status.DecidedAt != nil {
		s.Predicate.Decided = seconds(status.DecidedAt.Time)
	}
	for _, evidence := range status.Evidence {
		fact := Fact{Kind: evidence.Kind, Actor: evidence.Actor, ActorID: evidence.ActorID, ID: evidence.ID, SHA: evidence.SHA}
		if evidence.Time != nil {
			fact.Time = new(seconds(evidence.Time.Time))
		}
		s.Predicate.Evidence = append(s.Predicate.Evidence, fact)
	}
	return s, true
}

func seconds(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// gatesOf returns the gates that need an object, by their places: the gates of the release's steps,
// or of the steps back in a rollback.
func gatesOf(release *v1alpha1.BatchRelease) (places []Place, policies map[Place]v1alpha1.GatePolicy) {
	policies = map[Place]v1alpha1.GatePolicy{}
	rollback := release.Status.Rollback != nil
	for step := range release.Spec.Steps(rollback) {
		for index, policy := range release.Spec.Gates(rollback, step) {
			if policy.Type() != v1alpha1.GateNone {
				place := placeOf(int32(step), int32(index))
				places, policies[place] = append(places, place), policy
			}
		}
	}
	return places, policies
}

// encode returns a statement as in-toto has it.
func (s Statement) encode() ([]byte, error) {
	predicate, err := structOf(s.Predicate)
	if err != nil {
		return nil, err
	}
	about, err := structOf(about{Release: s.Release, Gate: s.Gate, Attempt: s.Attempt})
	if err != nil {
		return nil, err
	}
	made := &intoto.Statement{
		Type:          intoto.StatementTypeUri,
		Subject:       []*intoto.ResourceDescriptor{{Name: s.Source, Uri: s.URL, Digest: map[string]string{gitCommit: s.Commit}, Annotations: about}},
		PredicateType: PredicateType, Predicate: predicate,
	}
	if err := made.Validate(); err != nil {
		return nil, fmt.Errorf("encode statement: %w", err)
	}
	return protojson.Marshal(made)
}

// about has the annotations of a subject.
type about struct {
	Release string `json:"release"`
	Gate    string `json:"gate"`
	Attempt int64  `json:"attempt"`
}

// structOf returns a value as protobuf has JSON.
func structOf(value any) (*structpb.Struct, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode statement: %w", err)
	}
	made := &structpb.Struct{}
	if err := protojson.Unmarshal(encoded, made); err != nil {
		return nil, fmt.Errorf("encode statement: %w", err)
	}
	return made, nil
}

// decode reads a statement. It refuses fields that it does not know: a later version may say
// something there that matters.
func decode(payload []byte) (Statement, error) {
	read := &intoto.Statement{}
	if err := protojson.Unmarshal(payload, read); err != nil {
		return Statement{}, fmt.Errorf("read statement: %w", err)
	}
	if err := read.Validate(); err != nil {
		return Statement{}, fmt.Errorf("read statement: %w", err)
	}
	if read.GetPredicateType() != PredicateType || len(read.GetSubject()) != 1 {
		return Statement{}, fmt.Errorf("read statement: want one subject and the predicate %s, got %d and %q", PredicateType, len(read.GetSubject()), read.GetPredicateType())
	}
	subject := read.GetSubject()[0]
	s := Statement{Commit: subject.GetDigest()[gitCommit], Source: subject.GetName(), URL: subject.GetUri()}
	if s.Commit == "" {
		return Statement{}, errors.New("read statement: its subject has no gitCommit")
	}
	var of about
	if err := errors.Join(strictly(subject.GetAnnotations(), &of), strictly(read.GetPredicate(), &s.Predicate)); err != nil {
		return Statement{}, fmt.Errorf("read statement: %w", err)
	}
	s.Release, s.Gate, s.Attempt = of.Release, of.Gate, of.Attempt
	return s, nil
}

func strictly(from *structpb.Struct, into any) error {
	encoded, err := protojson.Marshal(from)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(strings.NewReader(string(encoded)))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// Ref is the ref of the repository that has the statements: each of its commits has the file of one
// statement, and the one before it as its parent.
const Ref = "refs/sluice/gates"

// Path returns the path of the file of a statement. All statements on the gates of one attempt are
// in one folder.
func (s Statement) Path() string {
	return fmt.Sprintf("%s/%d/%s.json", Folder(s.Release, s.Predicate.Revision), s.Attempt, s.Predicate.Place)
}

// Folder returns the folder of the statements on a revision of a release; NAMESPACE/NAME names the
// release.
func Folder(release, revision string) string { return release + "/" + revision }
