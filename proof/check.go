package proof

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/verify"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/internal/podtemplate"
)

// Bundle holds all that a pod is checked by. Nothing in it is trusted.
type Bundle struct {
	Pod *corev1.Pod `json:"pod"`
	// Revision and Template come from the ReplicaSet or ControllerRevision of the pod.
	Revision string                  `json:"revision"`
	Template *corev1.PodTemplateSpec `json:"template"`
	// Release names the BatchRelease, as NAMESPACE/NAME.
	Release string `json:"release"`
	// Commit is the commit object, as git cat-file commit prints it.
	Commit []byte        `json:"commit,omitempty"`
	Gates  []BundledGate `json:"gates"`
}

// BundledGate is a gate that has passed.
type BundledGate struct {
	Envelope json.RawMessage `json:"envelope"`
	// Policy is the policy of the gate, if the envelope has only its digest.
	Policy *v1alpha1.GatePolicy `json:"policy,omitempty"`
}

// ParseBundle reads a bundle.
func ParseBundle(text []byte) (*Bundle, error) {
	b := &Bundle{}
	if err := checkAmounts(text); err != nil {
		return nil, fmt.Errorf("read bundle: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(b); err != nil {
		return nil, fmt.Errorf("read bundle: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read bundle: something follows it: check each bundle by itself")
	}
	if b.Pod == nil || b.Template == nil {
		return nil, errors.New("read bundle: it has no pod, or no template")
	}
	return b, nil
}

// Roots holds the keys that the checking person trusts, and the exceptions.
type Roots struct {
	Controllers Trusted
	// Signers are the keys of those who may sign commits; nil for none.
	Signers *verify.Keys
	// Accepted are exceptions, and Containers the names of containers that admission adds.
	Accepted   []Exception
	Containers []string
}

func (r Roots) accept(e Exception) bool { return slices.Contains(r.Accepted, e) }

// Check says whether a pod runs what a release of a commit brought, and all gates of that release
// have passed by their rules.
func Check(b *Bundle, roots Roots) Verdict {
	c := &checking{Bundle: b, roots: roots}
	c.images()
	c.pod()
	if c.open() {
		c.template()
		c.commit()
		c.complete()
		for i := range c.statements {
			c.gate(&c.statements[i])
		}
	}
	return c.verdict
}

type checking struct {
	*Bundle
	roots      Roots
	verdict    Verdict
	statements []opened
}

// opened is a statement that a trusted key signed.
type opened struct {
	Statement
	// policies come from the statement and from the bundle; nil where one has none.
	policies []*v1alpha1.GatePolicy
	key      string
}

func (c *checking) refute(about Subject, format string, args ...any) {
	c.verdict.add(Refuted, about, format, args...)
}
func (c *checking) lack(about Subject, format string, args ...any) {
	c.verdict.add(NotEnough, about, format, args...)
}
func (c *checking) prove(about Subject, format string, args ...any) {
	c.verdict.add(Proven, about, format, args...)
}

// open opens all envelopes. It reports false if there is none to go on with.
func (c *checking) open() bool {
	for _, gate := range c.Gates {
		s, key, err := c.roots.Controllers.Open(gate.Envelope)
		if _, untrusted := errors.AsType[*untrustedError](err); untrusted {
			c.lack(Gates, "a statement counts for nothing: %s", line(err.Error()))
			continue
		}
		if err != nil {
			c.refute(Gates, "a statement counts for nothing: %s", line(err.Error()))
			continue
		}
		c.statements = append(c.statements, opened{s, []*v1alpha1.GatePolicy{s.Predicate.Policy, gate.Policy}, key})
	}
	slices.SortStableFunc(c.statements, func(a, b opened) int { return a.Predicate.Decided.Compare(b.Predicate.Decided) })
	if len(c.statements) == 0 {
		c.lack(Gates, "no statement says that a gate of release %s has passed for revision %s", line(c.Release), line(c.Revision))
	}
	return len(c.statements) > 0
}

// template checks that all statements are about the template and the release.
func (c *checking) template() {
	digest, err := podtemplate.Digest(c.Template)
	first := c.statements[0].Statement
	for _, s := range c.statements {
		switch {
		case err != nil:
			c.refute(Template, "the template can't be read: %s", line(err.Error()))
		case s.Predicate.Template != digest:
			c.refute(Template, "gate %s admits the template %s, and this one is %s", line(s.Gate), line(s.Predicate.Template), digest)
		case s.Predicate.Revision != c.Revision:
			c.refute(Template, "gate %s admits revision %s, and this one is %s", line(s.Gate), line(s.Predicate.Revision), line(c.Revision))
		case s.Release != c.Release:
			c.refute(Template, "gate %s is of release %s, not of %s", line(s.Gate), line(s.Release), line(c.Release))
		case s.Attempt != first.Attempt || s.Predicate.UID != first.Predicate.UID:
			c.refute(Template, "gate %s is of attempt %d, and gate %s of attempt %d", line(s.Gate), s.Attempt, line(first.Gate), first.Attempt)
		case s.Commit != first.Commit:
			c.refute(Template, "gate %s is about commit %s, and gate %s about %s", line(s.Gate), line(s.Commit), line(first.Gate), line(first.Commit))
		default:
			continue
		}
		return
	}
	if namespace, _, _ := strings.Cut(c.Release, "/"); namespace != c.Pod.Namespace {
		c.refute(Template, "the pod is in namespace %s, and release %s in another", line(c.Pod.Namespace), line(c.Release))
		return
	}
	c.prove(Template, "revision %s, template %s: release %s brought it from commit %s of %s (%s), in attempt %d",
		line(c.Revision), digest, line(c.Release), line(first.Commit), line(first.Source), line(first.URL), first.Attempt)
}

// commit checks who signed the commit, by the keys that were valid when the first gate passed.
func (c *checking) commit() {
	first := c.statements[0]
	switch {
	case c.Commit == nil && c.roots.accept(UnsignedCommits):
		c.prove(Commit, "%s: its signature is not checked, as --accept %s says", line(first.Statement.Commit), UnsignedCommits)
		return
	case c.Commit == nil:
		c.lack(Commit, "the commit object %s is not there: give --repository, or --accept %s", line(first.Statement.Commit), UnsignedCommits)
		return
	case verify.NameOf(c.Commit) != first.Statement.Commit:
		c.refute(Commit, "the commit object is %s, and the gates are about %s", verify.NameOf(c.Commit), line(first.Statement.Commit))
		return
	case c.roots.Signers == nil && c.roots.accept(UnsignedCommits):
		c.prove(Commit, "%s: its signature is not checked, as --accept %s says", line(first.Statement.Commit), UnsignedCommits)
		return
	case c.roots.Signers == nil:
		c.lack(Commit, "who signed commit %s is not checked: give --signers, or --accept %s", line(first.Statement.Commit), UnsignedCommits)
		return
	}
	by, err := c.roots.Signers.Check(verify.Commit{Name: first.Statement.Commit, Raw: c.Commit}, first.Predicate.Decided)
	refused, _ := errors.AsType[*verify.RefusedError](err)
	switch {
	case err == nil:
		c.prove(Commit, "%s: signed by %s, key %s", line(first.Statement.Commit), line(by.Principal), line(by.Key))
	case c.roots.accept(UnsignedCommits) && refused != nil && refused.Cause == verify.NotSigned:
		c.prove(Commit, "%s: not signed, as --accept %s allows", line(first.Statement.Commit), UnsignedCommits)
	default:
		c.refute(Commit, "%s", line(err.Error()))
	}
}

// complete checks that there is a statement on each gate that the release had when its last gate
// passed.
func (c *checking) complete() {
	last := c.statements[len(c.statements)-1]
	seen := map[Place]bool{}
	for _, s := range c.statements {
		if seen[s.Predicate.Place] {
			c.refute(Gates, "there are two statements on the gate at %s", line(string(s.Predicate.Place)))
			return
		}
		seen[s.Predicate.Place] = true
	}
	var missing []string
	for _, place := range last.Predicate.Gates {
		if !seen[place] {
			missing = append(missing, inWords(place))
		}
	}
	if len(missing) > 0 {
		c.lack(Gates, "no statement says that these have passed: %s", strings.Join(missing, ", "))
	}
}

// inWords returns a place for people: batches and gates are counted from 1.
func inWords(place Place) string {
	var step, index int
	if n, err := fmt.Sscanf(string(place), "%d.%d", &step, &index); n != 2 || err != nil {
		return "the gate at " + line(string(place))
	}
	return fmt.Sprintf("gate %d after batch %d", index+1, step+1)
}

// gate checks the rule of one gate again.
func (c *checking) gate(s *opened) {
	where := fmt.Sprintf("%s (%s)", inWords(s.Predicate.Place), line(string(s.Predicate.Type)))
	var policy *v1alpha1.GatePolicy
	for _, given := range s.policies {
		if given != nil && policyDigest(given) != s.Predicate.PolicyDigest {
			c.refute(Gates, "%s: the policy is not the one by which it passed", where)
			return
		}
		policy = cmp.Or(given, policy)
	}
	if policy == nil {
		c.lack(Gates, "%s: its policy is not known: the statement has no room for it, and the Gate is gone", where)
		return
	}
	if by := forcedBy(s.Predicate.Evidence); by != "" {
		outcome, words := Refuted, ""
		if c.roots.accept(ForcedGates) {
			outcome, words = Proven, fmt.Sprintf(", as --accept %s allows", ForcedGates)
		}
		c.verdict.add(outcome, Gates, "%s: %s passed it despite its policy%s", where, line(by), words)
		return
	}
	outcome, words := recheck(&s.Predicate, policy, s.Statement.Commit)
	c.verdict.add(outcome, Gates, "%s: %s, %s, stated by %s", where, words, s.Predicate.Decided.Format(time.RFC3339), line(s.key))
}

// line returns a text of others for people: in one line, and not too long.
func line(text string) string { return plain.UpTo(plain.Line(text), 300) }
