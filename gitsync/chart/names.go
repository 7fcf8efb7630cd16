package chart

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// names leads from the names that Helm gives templates to files.
type names struct {
	chart Chart
	// root is the name of the chart, with which all names begin.
	root string
	// aliases are names of vendored charts, by those that the chart gives them.
	aliases map[string]string
}

// file returns the file of a template: itself, or the archive that it is in.
func (n names) file(template string) (file string, itself bool) {
	folder, rest := n.chart.Folder, strings.TrimPrefix(template, n.root+"/")
	for {
		name := path.Join(folder, rest)
		if _, has := n.chart.Files[name]; has {
			return name, true
		}
		after, vendored := strings.CutPrefix(rest, "charts/")
		if !vendored {
			return path.Join(n.chart.Folder, File), false
		}
		var called string
		called, rest, _ = strings.Cut(after, "/")
		if original, is := n.aliases[called]; is && folder == n.chart.Folder {
			called = original
		}
		if archive := n.archive(path.Join(folder, "charts", called)); archive != "" {
			return archive, false
		}
		folder = path.Join(folder, "charts", called)
	}
}

// archive returns the file that holds a vendored chart, such as charts/redis-1.2.3.tgz.
func (n names) archive(vendored string) string {
	for _, name := range slices.Sorted(maps.Keys(n.chart.Files)) {
		if strings.HasPrefix(name, vendored+"-") && path.Ext(name) == ".tgz" && path.Dir(name) == path.Dir(vendored) {
			return name
		}
	}
	return ""
}

// texts returns what templates make. Notes are for people, and parts are no manifests.
func (n names) texts(rendered map[string]string) []Text {
	var all []Text
	for _, template := range slices.Sorted(maps.Keys(rendered)) {
		if path.Base(template) == "NOTES.txt" {
			continue
		}
		file, _ := n.file(template)
		all = append(all, Text{File: file, Template: template, Data: []byte(rendered[template])})
	}
	return all
}

// at matches the place of a template in the errors of Helm.
var at = regexp.MustCompile(`([^\s()"']+/templates/[^\s()"':]+):(\d+)(?::(\d+))?`)

// repeated matches the place at the beginning of an error, which is a field of the Problem.
// executing matches it in an error that names no other place.
var (
	repeated  = regexp.MustCompile(`^(?:execution|parse) error at \([^)]*\): `)
	executing = regexp.MustCompile(`^\S+:\d+:\d+ executing "[^"]*" `)
)

// problem returns the error of a template with the last of the places that it names: the others
// lead there.
func (n names) problem(err error) Problem {
	message := strings.Join(strings.Fields(err.Error()), " ")
	places := at.FindAllStringSubmatch(message, -1)
	if places == nil {
		return *n.chart.fail(File, message)
	}
	place := places[len(places)-1]
	file, itself := n.file(place[1])
	found := Problem{File: file, Message: repeated.ReplaceAllString(message, "")}
	if itself && len(places) == 1 {
		found.Message = executing.ReplaceAllString(found.Message, "")
	}
	if itself {
		found.Line, _ = strconv.Atoi(place[2]) // digits
		if place[3] != "" {
			found.Column, _ = strconv.Atoi(place[3])
			found.Column++ // Go counts columns of templates from 0
		}
	}
	return found
}
