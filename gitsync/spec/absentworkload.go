package spec

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// otherObject is an object that says how workloads come to be that no file has: a HelmRelease makes
// them, and old or foreign versions are not read.
type otherObject struct {
	apiVersion, kind, namespace, name string
	file                              string
	at                                position
}

// otherOf returns such an object; nil if it is none.
func otherOf(object map[string]any) *otherObject {
	o := &otherObject{}
	o.apiVersion, _ = object["apiVersion"].(string)
	o.kind, _ = object["kind"].(string)
	if !o.isHelmRelease() && !o.isForeignWorkload() {
		return nil
	}
	o.name, _, _ = unstructured.NestedString(object, "metadata", "name")
	o.namespace, _, _ = unstructured.NestedString(object, "metadata", "namespace")
	return o
}

func (o *otherObject) isHelmRelease() bool {
	group, _, _ := strings.Cut(o.apiVersion, "/")
	return o.kind == "HelmRelease" && group == "helm.toolkit.fluxcd.io"
}

// isForeignWorkload reports whether it is a workload of a version that is not read, such as a
// Deployment of extensions/v1beta1.
func (o *otherObject) isForeignWorkload() bool {
	return kind(o.kind).isWorkload() && o.apiVersion != workloadVersion
}

// absent says where a workload that no file has may come from; empty if nothing tells.
func (p *pass) absent(release located, key workloadKey) string {
	for _, o := range p.otherObjects {
		if o.isForeignWorkload() && o.kind == string(key.kind) && o.name == key.name {
			return fmt.Sprintf("; %s has it as %s: write %s", place(o.file, o.at.line), o.apiVersion, workloadVersion)
		}
	}
	for _, o := range p.otherObjects {
		if o.isHelmRelease() && strings.Contains(key.name, o.name) {
			return fmt.Sprintf("; HelmRelease %s in %s may make it from a chart, which Sluice does not render: see docs/repositories.md#helm-charts",
				o.name, place(o.file, o.at.line))
		}
	}
	folder := path.Dir(release.file)
	if entries, err := fs.ReadDir(p.tree, folder); err == nil {
		for _, entry := range entries {
			if ext := path.Ext(entry.Name()); ext == ".jsonnet" || ext == ".cue" || ext == ".libsonnet" {
				return fmt.Sprintf("; %s may make it, and Sluice reads manifests only: commit what it makes", path.Join(folder, entry.Name()))
			}
		}
	}
	for _, left := range sortedKeysOf(p.leftOut) {
		if chart, is := strings.CutSuffix(left, "/templates/"); is {
			return fmt.Sprintf("; the Helm chart in %s may make it, and is rendered if spec.helm of the source says so: see docs/repositories.md#helm-charts", chart)
		}
	}
	return ""
}

func sortedKeysOf(texts map[string]string) []string { return slices.Sorted(maps.Keys(texts)) }

// helmRelease matches the kind of a HelmRelease.
var helmRelease = regexp.MustCompile(`(?m)^kind: HelmRelease\s*$`)

// helmReleases counts the HelmReleases below a folder, those that no kustomization builds included.
// It is a help to people where there are no BatchReleases, and ends early in a repository that is
// too large.
func (p *pass) helmReleases(folder string) int {
	count, entries, total := 0, 0, int64(0)
	root := strings.TrimPrefix(path.Clean("/"+folder), "/")
	_ = fs.WalkDir(p.tree, cmp.Or(root, "."), func(name string, d fs.DirEntry, err error) error {
		if entries++; err != nil || entries > p.opts.Limits.Entries || total > p.opts.Limits.TotalBytes {
			return fs.SkipAll
		}
		if name != root && name != "." && strings.HasPrefix(d.Name(), ".") {
			return skip(d)
		}
		info, err := d.Info()
		if err != nil || !d.Type().IsRegular() || !isYAML(name) || info.Size() > p.opts.Limits.FileBytes {
			return nil //nolint:nilerr // it is only counted
		}
		data, _ := fs.ReadFile(p.tree, name) // what can't be read has none
		total += int64(len(data))
		count += len(helmRelease.FindAll(data, -1))
		return nil
	})
	return count
}
