package chart

import (
	"bytes"
	"io/fs"
	"path"
	"time"

	"helm.sh/helm/v4/pkg/ignore"
)

// ignored returns the rules of the chart's own ignore file.
func (c Chart) ignored() (*ignore.Rules, error) {
	rules, err := ignore.Parse(bytes.NewReader(c.Files[path.Join(c.Folder, ignore.HelmIgnore)]))
	if err != nil {
		return nil, err
	}
	rules.AddDefaults()
	return rules, nil
}

// skips reports whether the rules leave a file out, or a folder that it is in.
func skips(rules *ignore.Rules, name string, size int64) bool {
	for at, c := range name {
		if c == '/' && rules.Ignore(name[:at], entry{name: path.Base(name[:at]), folder: true}) {
			return true
		}
	}
	return rules.Ignore(name, entry{name: path.Base(name), size: size})
}

// entry describes a file or folder to the rules.
type entry struct {
	name   string
	size   int64
	folder bool
}

func (e entry) Name() string       { return e.name }
func (e entry) Size() int64        { return e.size }
func (e entry) ModTime() time.Time { return time.Time{} }
func (e entry) IsDir() bool        { return e.folder }
func (e entry) Sys() any           { return nil }

func (e entry) Mode() fs.FileMode {
	if e.folder {
		return fs.ModeDir | 0o555
	}
	return 0o444
}
