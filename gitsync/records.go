package gitsync

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/record"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// maxRecords that are read of one repository. There is one for each release that was ever approved.
const maxRecords = 10_000

// recordSuffix ends the names of records.
const recordSuffix = ".yaml"

// records are the approvals on a branch, whatever folder of it holds the releases.
type records struct {
	files  map[client.ObjectKey]recordFile
	errors []spec.Error
}

// recordFile is a record as it was read, or what is wrong with it.
type recordFile struct {
	record v1alpha1.ApprovalRecord
	err    error
}

// readRecords reads the records of releases in some namespaces. Unchanged files are not parsed
// again.
func readRecords(files fs.FS, namespaces []string, before *records) *records {
	r := &records{files: map[client.ObjectKey]recordFile{}}
	for _, namespace := range namespaces {
		folder := path.Join(record.Folder, namespace)
		entries, err := fs.ReadDir(files, folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.fail(folder, err)
		}
		for _, entry := range entries {
			r.readFile(files, namespace, entry, before)
		}
	}
	return r
}

func (r *records) fail(file string, err error) {
	if located, ok := errors.AsType[*fs.PathError](err); ok {
		err = located.Err
	}
	r.errors = append(r.errors, spec.Error{File: file, Message: err.Error()})
}

func (r *records) readFile(files fs.FS, namespace string, entry fs.DirEntry, before *records) {
	release, isRecord := strings.CutSuffix(entry.Name(), recordSuffix)
	if !isRecord {
		return
	}
	file := record.Path(namespace, release)
	if len(r.files) >= maxRecords {
		r.fail(file, fmt.Errorf("the file is not read: there are more than %d records", maxRecords))
		return
	}
	key := client.ObjectKey{Namespace: namespace, Name: release}
	content, err := recordContent(files, file, entry)
	if err != nil {
		r.files[key] = recordFile{err: err}
	} else {
		r.files[key] = before.parse(key, content)
	}
	if err := r.files[key].err; err != nil {
		r.fail(file, err)
	}
}

func recordContent(files fs.FS, file string, entry fs.DirEntry) ([]byte, error) {
	info, err := entry.Info()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("a record is a regular file: links, submodules and folders are not followed")
	case info.Size() > record.MaxBytes:
		return nil, fmt.Errorf("the file has %d bytes or more; a record has at most %d", info.Size(), record.MaxBytes)
	}
	return fs.ReadFile(files, file)
}

// parse reads a record, unless it is the same as before. Where it lies has to agree with what it
// says.
func (r *records) parse(key client.ObjectKey, content []byte) recordFile {
	blob := forge.BlobSHA(content)
	if r != nil && r.files[key].record.Blob == blob {
		return r.files[key]
	}
	said, err := record.Parse(content)
	if at := (client.ObjectKey{Namespace: said.Namespace, Name: said.Release}); err == nil && at != key {
		err = fmt.Errorf("the record is for release %s, whose file is %s", at, record.Path(at.Namespace, at.Name))
	}
	said.Blob = blob
	return recordFile{said, err}
}

// approvals returns the records of the releases that wait for one.
func (p *pass) approvals() []v1alpha1.ApprovalRecord {
	var awaited []v1alpha1.ApprovalRecord
	for key, live := range p.observed.Releases {
		if file, found := p.memory.records.files[key]; found && file.err == nil && awaitsRecord(live) {
			awaited = append(awaited, file.record)
		}
	}
	slices.SortFunc(awaited, func(a, b v1alpha1.ApprovalRecord) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Release, b.Release))
	})
	return awaited
}

func awaitsRecord(release *v1alpha1.BatchRelease) bool {
	return slices.ContainsFunc(release.Status.Gates, func(g v1alpha1.GateReference) bool {
		return g.Type == v1alpha1.GatePullRequest
	})
}
