package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/cli/lookup"
	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/verify"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/proof"
)

// proofFlags are the flags of "sluice trace --verify" as they were given.
type proofFlags struct {
	verify     bool
	keys       string
	signers    []string
	repository string
	bundle     string
	save       string
	accept     []string
	containers []string
}

func (f *proofFlags) register(set *pflag.FlagSet) {
	set.BoolVar(&f.verify, "verify", false, "check that the pod runs what a commit brought, and that all gates have passed by their rules")
	set.StringVar(&f.keys, "attestation-keys", "", "`file` with the public keys of the controllers that you trust, one a line")
	set.StringSliceVar(&f.signers, "signers", nil, "`files` with the keys of those who may sign commits: allowed_signers of ssh-keygen, or OpenPGP keys")
	set.StringVar(&f.repository, "repository", ".", "`folder` of a clone with the commit, and with "+proof.Ref+" for gates that are gone")
	set.StringVar(&f.bundle, "bundle", "", "check what is in this `file`, without a cluster")
	set.StringVar(&f.save, "save-bundle", "", "write all that the check reads into this `file`, for --bundle")
	set.StringSliceVar(&f.accept, "accept", nil, "`exceptions` to let pass, separated by commas: "+exceptions())
	set.StringSliceVar(&f.containers, "accept-container", nil, "`names` of containers that admission adds to pods, such as istio-proxy")
}

func exceptions() string {
	var names []string
	for _, exception := range proof.Exceptions() {
		names = append(names, string(exception))
	}
	return strings.Join(names, ", ")
}

// The exit codes of --verify: 0 is proven.
const (
	exitRefuted   = 1
	exitNotEnough = 2
)

// notEnough returns the error of a check that could not be made.
func notEnough(err error) error {
	if err == nil || errors.As(err, new(usageError)) {
		return err
	}
	return outcomeError{err, exitNotEnough}
}

// check refuses flags that don't fit together.
func (f *proofFlags) check(arguments []string) error {
	switch given := f.keys != "" || len(f.signers)+len(f.accept)+len(f.containers) > 0 || f.bundle != "" || f.save != ""; {
	case !f.verify && given:
		return usageError{errors.New("these flags are for --verify: add it")}
	case !f.verify:
		return nil
	case f.keys == "":
		return usageError{errors.New("--verify needs --attestation-keys: the public keys of the controllers that you trust")}
	case f.bundle != "" && (len(arguments) > 0 || f.save != ""):
		return usageError{errors.New("--bundle is checked without a cluster: leave out the pod and --save-bundle")}
	}
	return nil
}

// roots reads whom the caller trusts.
func (f *proofFlags) roots() (proof.Roots, error) {
	roots := proof.Roots{Containers: f.containers}
	for _, name := range f.accept {
		exception, err := parseException(name)
		if err != nil {
			return roots, err
		}
		roots.Accepted = append(roots.Accepted, exception)
	}
	text, err := os.ReadFile(f.keys)
	if err == nil {
		roots.Controllers, err = proof.ParseTrusted(string(text))
	}
	if err != nil {
		return roots, fmt.Errorf("--attestation-keys: read %s: %w", f.keys, err)
	}
	if len(f.signers) == 0 {
		return roots, nil
	}
	files := map[string][]byte{}
	for i, name := range f.signers {
		if text, err = os.ReadFile(name); err != nil {
			return roots, fmt.Errorf("--signers: %w", err)
		}
		files[strconv.Itoa(i)+" "+name] = text
	}
	if roots.Signers, err = verify.Read(files); err != nil {
		return roots, fmt.Errorf("--signers: %w", err)
	}
	return roots, nil
}

func parseException(name string) (proof.Exception, error) {
	for _, known := range proof.Exceptions() {
		if string(known) == name {
			return known, nil
		}
	}
	return "", usageError{fmt.Errorf("--accept %q is not one of %s", name, exceptions())}
}

// run checks a bundle, or what the trace of a pod has, and prints what it found.
func (f *proofFlags) run(command *cobra.Command, format string, find func() (*show.Trace, error)) error {
	if err := checkFormat(format); err != nil {
		return err
	}
	roots, err := f.roots()
	if err != nil {
		return notEnough(err)
	}
	bundle, err := f.read(command.Context(), roots.Controllers, find)
	if err != nil {
		return notEnough(err)
	}
	if f.save != "" {
		if err := saveBundle(f.save, bundle); err != nil {
			return notEnough(err)
		}
	}
	verdict := proof.Check(bundle, roots)
	if err := printVerdict(command.OutOrStdout(), format, verdict); err != nil {
		return notEnough(fmt.Errorf("print: %w", err))
	}
	switch verdict.Outcome {
	case proof.Proven:
		return nil
	case proof.Refuted:
		return outcomeError{errors.New("refuted"), exitRefuted}
	default:
		return outcomeError{errors.New("not enough to prove it"), exitNotEnough}
	}
}

func printVerdict(out io.Writer, format string, verdict proof.Verdict) error {
	switch format {
	case formatJSON:
		return plain.WriteJSON(out, verdict)
	case formatYAML:
		text, err := yaml.Marshal(verdict)
		if err == nil {
			_, err = out.Write(text)
		}
		return err
	}
	table := printers.GetNewTabWriter(out)
	for _, finding := range verdict.Findings {
		fmt.Fprintf(table, "%s\t%s\t%s\n", finding.Outcome, finding.About, finding.Detail)
	}
	return table.Flush()
}

// The formats of a verdict beside the one for people.
const (
	formatJSON = "json"
	formatYAML = "yaml"
)

// checkFormat refuses other formats.
func checkFormat(format string) error {
	if format != "" && format != formatJSON && format != formatYAML {
		return usageError{fmt.Errorf("--output %q with --verify is not one of %s, %s", format, formatJSON, formatYAML)}
	}
	return nil
}

// maxBundle limits the file of a bundle.
const maxBundle = 4 << 20

// read returns the bundle to check.
func (f *proofFlags) read(ctx context.Context, trusted proof.Trusted, find func() (*show.Trace, error)) (*proof.Bundle, error) {
	if f.bundle != "" {
		return readBundle(f.bundle)
	}
	trace, err := find()
	if err != nil {
		return nil, err
	}
	if trace.Pod == nil {
		return nil, usageError{errors.New("--verify checks a pod: name one")}
	}
	bundle, err := lookup.Bundle(trace)
	if err != nil {
		return nil, fmt.Errorf("check pod %s: %w", trace.Pod.Name, err)
	}
	return bundle, f.complete(ctx, bundle, lookup.Commit(trace), trusted)
}

func readBundle(name string) (*proof.Bundle, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("--bundle: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxBundle+1)) // a device has no size
	if err != nil {
		return nil, fmt.Errorf("--bundle: %w", err)
	}
	if len(text) > maxBundle {
		return nil, fmt.Errorf("--bundle: %s has more than %d bytes", name, maxBundle)
	}
	bundle, err := proof.ParseBundle(text)
	if err != nil {
		return nil, fmt.Errorf("--bundle: %s: %w", name, err)
	}
	return bundle, nil
}

func saveBundle(name string, bundle *proof.Bundle) error {
	text, err := json.MarshalIndent(bundle, "", "  ")
	if err == nil {
		err = os.WriteFile(name, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("--save-bundle: %w", err)
	}
	return nil
}

// complete adds the commit object and statements whose gates are gone, as far as a clone has them.
func (f *proofFlags) complete(ctx context.Context, bundle *proof.Bundle, commit string, trusted proof.Trusted) error {
	local, err := gitrepo.OpenLocal(ctx, f.repository, os.Environ(), gitrepo.Limits{FileBytes: proof.MaxEnvelope, InflatedBytes: maxStored})
	if gitrepo.KindOf(err) == gitrepo.RepositoryNotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("--repository: %w", err)
	}
	if snapshot, err := local.At(commit); err == nil && commit != "" {
		bundle.Commit = snapshot.Object().Raw
	}
	if len(bundle.Gates) == 0 {
		bundle.Gates = storedIn(local, bundle.Release, bundle.Revision, trusted)
	}
	return nil
}

// maxStatements limits the statements of a clone that a check reads.
const maxStatements = 50_000

// maxStored limits what is read of a clone for that, in bytes. Honest statements take 3 KiB each.
const maxStored = 256 << 20

// storedIn returns the statements of a clone on the attempt at a revision in which a gate passed
// last. Anyone who may push may have added others, in any order: statements without the signature
// of a trusted key don't count.
func storedIn(local *gitrepo.Local, release, revision string, trusted proof.Trusted) []proof.BundledGate {
	type attempt struct {
		uid    string
		number int64
	}
	found, places := map[attempt][]proof.BundledGate{}, map[attempt]map[proof.Place]bool{}
	var last attempt
	var decided time.Time
	at, err := local.At(proof.Ref)
	for range maxStatements {
		if err != nil || at == nil {
			break
		}
		text := statementIn(at, proof.Folder(release, revision))
		s, _, untrusted := trusted.Open(text)
		of := attempt{s.Predicate.UID, s.Attempt}
		if untrusted == nil && s.Release == release && s.Predicate.Revision == revision && !places[of][s.Predicate.Place] {
			if places[of] == nil {
				places[of] = map[proof.Place]bool{}
			}
			places[of][s.Predicate.Place] = true
			found[of] = append(found[of], proof.BundledGate{Envelope: text})
			if s.Predicate.Decided.After(decided) {
				last, decided = of, s.Predicate.Decided
			}
		}
		at, err = local.Parent(at)
	}
	return found[last]
}

// statementIn returns the file of a commit's statement, if it is in a folder.
func statementIn(at *gitrepo.Snapshot, folder string) (text []byte) {
	_ = fs.WalkDir(at.FS(), folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if read, err := fs.ReadFile(at.FS(), file); err == nil && len(read) <= proof.MaxEnvelope {
			text = read
		}
		return fs.SkipAll // a commit has one statement
	})
	return text
}
