package spec

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

// Options of a Reader.
type Options struct {
	// Namespace of objects that name none.
	Namespace string
	// AllowedNamespaces are the others that releases may be in.
	AllowedNamespaces []string
	// AnyNamespace lets releases be in all others, where it is not known which source will read them.
	AnyNamespace bool
	// Repository is the URL of the repository; empty if it is not known.
	Repository string
	// Forge is the type of the forge that has the repository; empty if it is not known. Gates that it
	// can't answer are errors.
	Forge forge.Type
	// Limits; zero fields take the defaults.
	Limits Limits
	// Ignore are lines in the format of .gitignore, from the root of the repository. They go before
	// those of IgnoreFile.
	Ignore []string
	// Ignorer compiles these lines. Without one an IgnoreFile is an error.
	Ignorer Ignorer
	// Helm renders the chart in the folder that is read; nil if charts are left out.
	Helm *v1alpha1.HelmChart
	// Builder builds kustomizations and charts. Without one a repository that has any can't be read.
	Builder Builder
}

// Namespaces returns all that releases may be in, sorted.
func (o Options) Namespaces() []string {
	all := append([]string{o.Namespace}, o.AllowedNamespaces...)
	slices.Sort(all)
	return slices.Compact(all)
}

// Limits on what one Read takes in. Above Entries and TotalBytes nothing is read at
// all; the others are errors of one file or kustomization.
type Limits struct {
	// Entries is how many files and folders are read. Default 50,000.
	Entries int
	// TotalBytes of all manifest files. Default 64 MiB.
	TotalBytes int64
	// FileBytes of one manifest file. Default 4 MiB: definitions of custom resources are that large.
	FileBytes int64
	// Documents in one file. Default 2,000.
	Documents int
	// Values is how many values a document may have once its aliases are written out, where it
	// has any. Default 20,000.
	Values int
	// Kustomizations is how often a kustomization may, in all, lead to another one. Default 500.
	Kustomizations int
	// TotalValues of all manifest files that are new since the last Read, roughly. Default 5,000,000.
	TotalValues int
	// Objects that one kustomization makes. Default 2,000.
	Objects int
	// BuildBytes of all files that one kustomization is built from. Default 8 MiB.
	BuildBytes int64
	// Depth is how many folders deep a manifest may be. Default 64.
	Depth int
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Entries:        cmp.Or(l.Entries, 50_000),
		TotalBytes:     cmp.Or(l.TotalBytes, 64<<20),
		FileBytes:      cmp.Or(l.FileBytes, 4<<20),
		Documents:      cmp.Or(l.Documents, 2_000),
		Values:         cmp.Or(l.Values, 20_000),
		Kustomizations: cmp.Or(l.Kustomizations, 500),
		TotalValues:    cmp.Or(l.TotalValues, 5_000_000),
		Objects:        cmp.Or(l.Objects, 2_000),
		BuildBytes:     cmp.Or(l.BuildBytes, 8<<20),
		Depth:          cmp.Or(l.Depth, 64),
	}
}

// Result is the content of a repository.
type Result struct {
	// Releases, sorted by file and line.
	Releases []*Release
	// Earlier has new releases with the templates that their workloads had at the Read before, if those
	// were others, and no release named the workloads.
	Earlier map[*Release]*Release
	// Routes are all that the repository has, as they were found. Nothing but the types of their names
	// was checked.
	Routes []Route
	// Services are likewise.
	Services []Service
	// Errors are sorted by file and line. Releases has none of the objects that they are about.
	Errors []Error
	// Warnings name objects that make workloads differ from the files, such as overrides of Flux and
	// Argo CD.
	Warnings []Error
	// Notices say what is left out, and that it does no harm.
	Notices []Error
	// Doubts are files that may hold releases that are missing here.
	Doubts []Doubt
	// LeftOut says why files and folders, these with a slash at the end, are not read though they are
	// there.
	LeftOut map[string]string
	// HelmReleases counts the HelmReleases of Flux, where there is nothing else.
	HelmReleases int
	// Hollow says of files, by path, where they hold no Kubernetes object: they are empty, or cut
	// short, or no manifests at all. It is an error where there was a release.
	Hollow map[string]Error
	// Files is how many manifest files there are.
	Files int
	// Exceeded says that something took more time or memory than it may: another Read may come to
	// more, or take as much again.
	Exceeded bool
	// Pending counts files and kustomizations left for another Read, because the budget ran out before
	// them.
	Pending int
}

// Missing says why a release that was in a file, and built by a kustomization if that is not empty,
// is kept though it is not read there: the file is there, and holds something else than objects, or
// one of both is left out. It reports false if the file is not there, or holds other objects:
// people take a release out so.
func (r *Result) Missing(release, file, kustomization string) (Error, bool) {
	kept := fmt.Sprintf("BatchRelease %s was in this file, and is kept: ", release)
	if hollow, is := r.Hollow[file]; is {
		hollow.Message = kept + hollow.Message + "; put it back, or delete the file to take the release out"
		return hollow, true
	}
	for _, from := range []string{file, kustomization} {
		if why := r.leftOut(from); why != "" {
			return Error{File: from, Message: kept + why + "; to delete the release, use kubectl delete batchrelease"}, true
		}
	}
	return Error{}, false
}

// leftOut says why a file, or a folder that it is in, is not read; empty if it is.
func (r *Result) leftOut(file string) string {
	for at := file; at != "." && at != "./" && at != ""; at = path.Dir(strings.TrimSuffix(at, "/")) + "/" {
		if why, is := r.LeftOut[at]; is {
			return why
		}
	}
	return ""
}

// Error says what is wrong with a file.
type Error struct {
	// File is its path from the root of the repository.
	File string
	// Line and Column count from 1, columns in characters; 0 where none can be named.
	Line, Column int
	// Message says what is wrong.
	Message string
}

// Error writes file, line and message.
func (e Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// Reader reads the releases of one source. It keeps what it parsed, to do no more
// than what changed at the next Read. It is for one caller at a time.
type Reader struct {
	opts   Options
	files  map[string]*parsed
	builds map[string]*build
	made   map[madeKey]*Release
	// boarded has members with the steps of their trains.
	boarded map[trainKey]*manifest
	// appliers maps the hash of a file to the appliers it declares.
	appliers map[string][]*applier
	// unreleased are the workloads without a release.
	unreleased map[workloadKey]located
}

// NewReader returns a Reader that has parsed nothing yet.
func NewReader(opts Options) *Reader {
	opts.Limits = opts.Limits.withDefaults()
	return &Reader{opts: opts}
}

// IgnoreWith has other lines in the format of .gitignore ignored from now on.
func (r *Reader) IgnoreWith(lines []string) { r.opts.Ignore = lines }

// RenderWith has the chart in the folder that is read rendered from now on; nil if charts are left
// out.
func (r *Reader) RenderWith(helm *v1alpha1.HelmChart) { r.opts.Helm = helm }

// BuildWith has kustomizations and charts built by another Builder from now on.
func (r *Reader) BuildWith(builder Builder) { r.opts.Builder = builder }

// Read reads what is below a folder of a repository. Kustomizations may refer to
// what is outside of that folder, but not of the repository.
//
// An error means that there is no result: the folder is not
// there, or a limit on the whole is exceeded. All else is in Result.Errors.
//
// A FileInfo of files that has a method ContentHash() string spares hashing contents.
func (r *Reader) Read(files fs.FS, folder string) (*Result, error) {
	found, err := survey(files, folder, r.opts)
	if err != nil {
		return nil, err
	}
	pass := &pass{
		opts:   r.opts,
		tree:   files,
		hollow: map[string]Error{}, roots: map[string]string{},
		before: *r,
		now: Reader{
			opts: r.opts, files: map[string]*parsed{}, builds: map[string]*build{}, made: map[madeKey]*Release{}, boarded: map[trainKey]*manifest{}, appliers: map[string][]*applier{},
		},
	}
	pass.errors = append(pass.errors, found.errors...)
	pass.notices, pass.doubts, pass.leftOut = found.notices, found.doubts, found.leftOut
	pass.ignore, pass.chart = found.ignore, found.chart
	for _, file := range found.manifests {
		pass.readFile(file)
	}
	if err := pass.readKustomizations(found.kustomizations); err != nil {
		return nil, err
	}
	if err := pass.readChart(found.chart); err != nil {
		return nil, err
	}
	if err := pass.readBeside(found.builds()); err != nil {
		return nil, err
	}
	pass.readLinks(found.links)
	pass.failPending(path.Clean(strings.TrimLeft(folder, "/")))
	releases, earlier := pass.combine()
	releases, warnings := pass.findOverrides(releases)
	if pass.dropped > 0 {
		pass.errors = append(pass.errors, Error{File: folder, Message: fmt.Sprintf("there are %d more errors", pass.dropped)})
	}
	*r = pass.now
	helmReleases := 0
	if len(releases)+len(pass.errors) == 0 {
		helmReleases = pass.helmReleases(folder)
	}
	routes, services := pass.others()
	return &Result{
		Releases: releases, Earlier: earlier, Routes: routes, Services: services,
		Errors: inOrder(pass.errors), Warnings: inOrder(warnings), Notices: inOrder(pass.notices), Doubts: pass.doubts, LeftOut: pass.leftOut,
		HelmReleases: helmReleases, Hollow: pass.hollow, Files: found.count(), Exceeded: pass.exceeded, Pending: pass.unread + pass.unbuilt,
	}, nil
}

// inOrder sorts errors by place, and leaves out those that are there twice.
func inOrder(errors []Error) []Error {
	slices.SortFunc(errors, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(errors)
}

// pass is one Read, with the values kept from the last one and for the next one.
type pass struct {
	opts        Options
	tree        fs.FS
	before, now Reader
	manifests   []located
	errors      []Error
	notices     []Error
	doubts      []Doubt
	leftOut     map[string]string
	ignore      *ignoring
	hollow      map[string]Error
	// chart is the folder of the chart that is rendered; empty if none is.
	chart string
	// roots are the folders of kustomizations and charts that were built, with the namespaces that
	// these set.
	roots map[string]string
	// withVariables are releases that are refused for variables in their templates.
	withVariables []*Release
	// otherObjects are all that files have.
	otherObjects []otherObject
	// exceeded says that something took more than it may.
	exceeded bool
	// unread files and unbuilt kustomizations are left for the next Read.
	unread, unbuilt int
	// weight is roughly how many values were parsed.
	weight int
	// configs has the ConfigMaps and Secrets of all files; nil until the first release names one.
	configs map[configKey][]located
	// configNames has their names, sorted, and contents their digests, as far as they were needed.
	configNames []configKey
	contents    map[*manifest]digested
	// places finds fields in files.
	places *places
	// jobBytes adds up the Jobs that the gates of all releases get.
	jobBytes int
	// trains names the train of each member.
	trains map[*manifest]string
	// faultyTrains has the namespaces with a train that is wrong: who its members are is not known.
	faultyTrains map[string]bool
	// lost has the releases of each namespace that are wrong, and not in the result.
	lost map[string][]located
	// broken is the first file that may hold a release, and could not be parsed; empty for none.
	broken string
	// dropped is how many errors there are beyond those that are kept.
	dropped int
}

// located is a manifest and where it stands.
type located struct {
	*manifest
	file string
	at   position
	// kustomization is the file of the one that built it; empty if it stands in its file as it is.
	kustomization string
	// beside is the file of the kustomization that the manifest stands beside, and near the namespace
	// that this one sets.
	beside, near string
}

// in returns the namespace of the object, given that of the source.
func (l located) in(namespace string) string { return cmp.Or(l.namespace, l.near, namespace) }

func (p *pass) fail(file string, at position, message string) {
	if p.dropped++; len(p.errors) < maxErrors {
		p.dropped--
		p.errors = append(p.errors, at.error(file, message))
	}
}

// maxErrors of one Read that are kept.
const maxErrors = 5_000

// readFile takes in a plain manifest file.
func (p *pass) readFile(file surveyed) {
	content, err := p.parse(file.path, file.info)
	if errors.Is(err, errUnread) {
		p.unread++
		return
	}
	if err != nil {
		p.fail(file.path, position{}, readProblem(err))
		p.doubts = append(p.doubts, Doubt{File: file.path, Any: true})
		return
	}
	for _, problem := range content.problems {
		p.fail(file.path, problem.at, problem.message)
	}
	if len(content.problems) > 0 {
		p.doubts = append(p.doubts, Doubt{File: file.path, Any: content.unreadable, Names: content.names()})
	}
	if content.broken && p.broken == "" {
		p.broken = file.path
	}
	p.noteOthers(file.path, content)
	for _, m := range content.manifests {
		p.manifests = append(p.manifests, located{manifest: m, file: file.path, at: m.at})
	}
}

// names returns the releases that a file has, and those that it may have.
func (c *parsed) names() []string {
	var names []string
	for _, release := range c.named {
		names = append(names, release.name)
	}
	return names
}

// noteOthers takes note of what a file has beside manifests.
func (p *pass) noteOthers(file string, content *parsed) {
	p.noteHollow(file, content)
	for _, notice := range content.notices {
		p.notices = append(p.notices, notice.at.error(file, notice.message))
	}
	for _, other := range content.others {
		other.file = file
		p.otherObjects = append(p.otherObjects, other)
	}
}

func (p *pass) noteHollow(file string, content *parsed) {
	if content.hollow != nil {
		p.hollow[file] = content.hollow.at.error(file, content.hollow.message)
	}
}

// errUnread: there is enough to parse before it.
var errUnread = errors.New("the file is not read yet")

// parse parses a file unless its content was parsed before.
func (p *pass) parse(path string, info fs.FileInfo) (*parsed, error) {
	if info.Size() > p.opts.Limits.FileBytes {
		return nil, tooLarge(info.Size(), p.opts.Limits.FileBytes)
	}
	hash := hashOf(info)
	if known := p.known(hash); known != nil {
		return known, nil
	}
	data, err := fs.ReadFile(p.tree, path)
	if err != nil {
		return nil, err
	}
	if hash == "" {
		hash = digest(data)
	}
	content := p.known(hash)
	if content == nil {
		weight := weigh(data)
		if p.weight += weight; p.weight > p.opts.Limits.TotalValues {
			p.exceeded = true // the next Read goes on from here
			p.doubts = append(p.doubts, Doubt{File: path, Any: true})
			return nil, errUnread
		}
		leave := dense.enter(weight)
		content = parseFile(data, p.opts.Limits)
		leave()
		p.now.appliers[hash] = appliersIn(data, p.opts.Limits)
	}
	p.now.files[hash] = content
	return content, nil
}

func (p *pass) known(hash string) *parsed {
	for _, files := range []map[string]*parsed{p.now.files, p.before.files} {
		if known := files[hash]; known != nil && hash != "" {
			p.now.files[hash] = known
			return known
		}
	}
	return nil
}

// notFetched reports whether the file system knows a file and has no content of it, as of a large
// repository of which only the wanted files are fetched. To read such a file asks for it.
func notFetched(info fs.FileInfo) bool {
	hashed, ok := info.(interface{ ContentHash() string })
	return ok && hashed.ContentHash() == ""
}

// hashOf returns the content's hash, if the file system knows it.
func hashOf(info fs.FileInfo) string {
	if hashed, ok := info.(interface{ ContentHash() string }); ok {
		return hashed.ContentHash()
	}
	return ""
}
