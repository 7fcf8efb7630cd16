package spec

import (
	"bytes"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// Doubt is a file that was not read as it was meant, and that may hold releases which are missing
// from the Result. A release that it may hold is not deleted: it may only have been moved there.
type Doubt struct {
	File string
	// Any says that nothing is known of what the file holds.
	Any bool
	// Names are releases that it may hold, and words that may be the name of one.
	Names []string
	// Affixes says that a kustomization may add to the names at both ends.
	Affixes bool
}

// MayHold reports whether the file may hold a release of a name.
func (d Doubt) MayHold(name string) bool {
	return d.Any || slices.ContainsFunc(d.Names, func(word string) bool {
		return word == "" || word == name || d.Affixes && strings.Contains(name, word)
	})
}

// word matches what may be the name of an object.
var word = regexp.MustCompile(`[a-z0-9]+(?:[-.]+[a-z0-9]+)*`)

// maxWords of a text that are told apart; one that has more may hold any release.
const maxWords = 20_000

// wordsOf returns the names in a text that could not be parsed; nil if it can't hold a release.
func wordsOf(text []byte) []string {
	if !mentionsRelease(text) {
		return nil
	}
	words := map[string]bool{}
	for _, found := range word.FindAll(text, -1) {
		if words[string(found)] = true; len(words) > maxWords {
			return []string{""}
		}
	}
	return sortedNames(words)
}

// mentionsRelease reports whether a text that could not be parsed may hold a BatchRelease.
func mentionsRelease(text []byte) bool {
	return bytes.Contains(text, []byte("BatchRelease")) || bytes.Contains(text, []byte("rollouts.sluice.dev")) ||
		bytes.Contains(text, []byte("workloadRef"))
}

// workloadLine matches the kind of a workload that can be released.
var workloadLine = regexp.MustCompile(`\bkind["']?\s*:\s*["']?(Deployment|StatefulSet|DaemonSet)\b`)

// concernsReleases reports whether a text that could not be parsed may be meant for Sluice: it has
// a release or, unless it is a template, a workload. All else may be anything.
func concernsReleases(text []byte) bool {
	return mentionsRelease(text) || workloadLine.Match(text) && !isTemplate(text)
}

// isTemplate reports whether a text is one that Helm or another program makes manifests of.
func isTemplate(text []byte) bool { return bytes.Contains(text, []byte("{{")) }

// whereRead says in which files a workload was looked for, and then why it is not found, unless it
// has named that file already.
func (p *pass) whereRead(why string) string {
	for _, doubt := range p.doubts {
		if !doubt.Any {
			continue
		}
		if strings.HasPrefix(why, " as "+doubt.File+" ") {
			why = ""
		}
		return "any file that can be read, and " + doubt.File + " can't" + why
	}
	return "the repository" + why
}

// doubtBuild takes note of the releases that a kustomization or chart which is not built may hold,
// in its files and in those below. A chart may make any of its templates.
func (p *pass) doubtBuild(folder string, check *referenceCheck) {
	doubt := Doubt{File: p.buildFile(folder), Affixes: true, Any: p.helm(folder) != nil}
	for name := range check.inputs {
		p.addNames(&doubt, name)
	}
	doubt.Names = append(doubt.Names, p.namesBelow(folder, &doubt.Any)...)
	p.doubts = append(p.doubts, doubt)
}

// addNames adds the releases of a file that may be one of manifests.
func (p *pass) addNames(doubt *Doubt, name string) {
	info, err := lstat(p.tree, name)
	if err != nil || !info.Mode().IsRegular() || !isYAML(name) || isKustomization(name) {
		return
	}
	content, err := p.parse(name, info)
	if err != nil {
		doubt.Any = true
		return
	}
	doubt.Any = doubt.Any || content.unreadable
	doubt.Names = append(doubt.Names, content.names()...)
}

// namesBelow returns the releases of the files in and below a folder, or of a file; any is set
// where they are not known.
func (p *pass) namesBelow(root string, any *bool) []string {
	found, entries := Doubt{}, 0
	err := fs.WalkDir(p.tree, root, func(name string, d fs.DirEntry, err error) error {
		if entries++; err != nil || entries > p.opts.Limits.Entries {
			*any = true
			return fs.SkipAll
		}
		if name != root && (strings.HasPrefix(d.Name(), ".") || d.IsDir() && isTooDeep(name, p.opts.Limits)) {
			return skip(d)
		}
		p.addNames(&found, name)
		return nil
	})
	*any = *any || found.Any || err != nil
	return found.Names
}

// readLinks looks at what links lead to: releases that are read nowhere else are missing.
func (p *pass) readLinks(links []link) {
	read := map[string]bool{}
	for _, l := range p.manifests {
		read[l.name] = read[l.name] || l.kind == releaseKind
	}
	for _, link := range links {
		doubt := Doubt{File: link.name, Affixes: true}
		if _, err := lstat(p.tree, link.target); err == nil {
			doubt.Names = p.namesBelow(link.target, &doubt.Any)
		}
		doubt.Names = slices.DeleteFunc(doubt.Names, func(name string) bool { return read[name] })
		if len(doubt.Names) == 0 && !doubt.Any {
			p.notices = append(p.notices, Error{File: link.name, Message: "a symbolic link is not followed; no release is behind it"})
			continue
		}
		p.doubts = append(p.doubts, doubt)
		p.fail(link.name, position{}, "a symbolic link is not followed: what it leads to is not released")
	}
}

func sortedNames(names map[string]bool) []string {
	var all []string
	for name := range names {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
