package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// parsed is the content of a file, parsed. It depends on the content only.
type parsed struct {
	manifests []*manifest
	problems  []problem
	// notices say what is left out without harm.
	notices []problem
	// others are objects that say how workloads come to be that the file does not have.
	others []otherObject
	// unreadable says that nothing is known of what the file holds.
	unreadable bool
	// broken says that a text may hold a release, and could not be parsed.
	broken bool
	// hollow says where the file holds no Kubernetes object: none at all, or not in one of its
	// documents; nil if it holds nothing else.
	hollow *problem
	// named are the BatchReleases of the file, those with problems too, and what may be one.
	named []namedRelease
	// component says that the file is a component of kustomize.
	component bool
}

// namedRelease is a BatchRelease by its header alone.
type namedRelease struct {
	name string
	at   position
	// doubtful says that it only may be one.
	doubtful bool
}

// position is a place in a file. Both count from 1, columns in characters; 0 where none can be
// named.
type position struct{ line, column int }

// lineStart returns the place of a line as a whole.
func lineStart(line int) position { return position{line, 1} }

func (p position) error(file, message string) Error {
	return Error{File: file, Line: p.line, Column: p.column, Message: message}
}

// problem is a problem at a place in a file.
type problem struct {
	at      position
	message string
}

// document is one YAML document of a file.
type document struct {
	text []byte
	// line of the file on which the text starts.
	line int
	// tree is that of the text, once it was needed; nil if it is not kept.
	tree *syntaxTree
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// parseFile parses all documents of a file.
func parseFile(data []byte, limits Limits) *parsed {
	documents, problems := split(data, limits)
	content := &parsed{problems: problems}
	switch {
	case problems != nil:
		content.unreadable, content.named = isUnreadable(data), unnamed(wordsOf(data))
		content.broken = content.unreadable || content.named != nil
	case len(documents) == 0:
		content.hollow = &problem{lineStart(1), "the file is empty, or has comments only"}
	}
	for _, doc := range documents {
		content.add(doc, limits)
	}
	return content
}

// unnamed returns releases that a text may hold.
func unnamed(words []string) []namedRelease {
	var named []namedRelease
	for _, word := range words {
		named = append(named, namedRelease{name: word, doubtful: true})
	}
	return named
}

// add adds a document. A problem in it hides no other one.
func (c *parsed) add(doc document, limits Limits) {
	data, problems := doc.toJSON(limits)
	switch {
	case problems != nil && !concernsReleases(doc.text):
		if isTemplate(doc.text) {
			problems[0].message = "this looks like a template of Helm or another program"
		}
		c.leaveOut(problems[0])
		return
	case problems != nil && isTemplate(doc.text):
		problems = []problem{{problems[0].at, "this looks like a template of Helm or another program, which Sluice does not render: " +
			"commit what it makes (docs/repositories.md#helm-charts), or name the file in " + IgnoreFile}}
		fallthrough
	case problems != nil:
		c.problems = append(c.problems, problems...)
		c.named = append(c.named, unnamed(wordsOf(doc.text))...)
		c.broken = c.broken || mentionsRelease(doc.text)
		return
	}
	content := decode(data)
	object, _ := content.(map[string]any)
	if _, isText := content.(string); isText {
		c.problems = append(c.problems, problem{lineStart(doc.line), "the document is not a Kubernetes object, but text"})
		return
	}
	if !isObject(object) {
		c.markHollow(problem{lineStart(doc.line), "the document is not a Kubernetes object: it has no apiVersion and kind"})
	}
	c.component = c.component || object["kind"] == types.ComponentKind
	c.addObject(doc, "", data, object)
}

// addObject takes in an object at a path of a document, and what it holds if it is a list.
func (c *parsed) addObject(doc document, path string, data []byte, object map[string]any) {
	if items, is := itemsOf(object); is {
		for i := range items {
			item, _ := items[i].(map[string]any)
			if text, err := json.Marshal(items[i]); err == nil && item != nil {
				c.addObject(doc, fmt.Sprintf("%sitems[%d].", path, i), text, item)
			}
		}
		return
	}
	if isRelease(object) {
		name, _, _ := unstructured.NestedString(object, "metadata", "name")
		c.named = append(c.named, namedRelease{name: name, at: doc.find(path + "apiVersion")})
	}
	m, found := parseObject(data)
	c.problems = append(c.problems, locate(doc, path, found)...)
	if found != nil && !isRelease(object) && mayBeRelease(object) {
		name, _, _ := unstructured.NestedString(object, "metadata", "name")
		c.named = append(c.named, namedRelease{name: name, doubtful: true})
	}
	if other := otherOf(object); other != nil {
		other.at = doc.find(path + "apiVersion")
		c.others = append(c.others, *other)
	}
	if m == nil {
		return
	}
	m.at = doc.find(path + "apiVersion")
	if m.kind == statefulSetKind {
		m.claims = doc.find(path + claimsPath)
	}
	if len(m.routes) > 0 {
		m.sharing = doc.find(path + routesPath)
	}
	if m.kind == releaseKind {
		find := func(at string) position { return doc.find(path + at) }
		m.locateSteps(find)
		m.placeConfig(find)
	}
	c.manifests = append(c.manifests, m)
}

// itemsOf returns the items of a list, such as a List of v1 or a DeploymentList of apps/v1.
func itemsOf(object map[string]any) ([]any, bool) {
	kind, _ := object["kind"].(string)
	items, is := object["items"].([]any)
	return items, is && strings.HasSuffix(kind, "List")
}

// leaveOut takes note of a document that can't be parsed, and that has nothing to do with releases.
func (c *parsed) leaveOut(why problem) {
	if c.notices == nil { // one of a file is enough
		c.notices = []problem{{why.at, why.message + "; it is left out, as it is no manifest of a release or workload"}}
	}
	c.markHollow(why)
}

func (c *parsed) markHollow(why problem) {
	if c.hollow == nil {
		c.hollow = &why
	}
}

// split cuts a file into its documents, as kubectl does: at lines that start with
// three dashes. Empty ones are left out.
func split(data []byte, limits Limits) ([]document, []problem) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	if found := damage(data); found != nil {
		return nil, []problem{*found}
	}
	var documents []document
	start, first := 0, 1 // of the document that is being read: its offset and line
	flush := func(end int) {
		if text := data[start:end]; !isEmpty(text) {
			documents = append(documents, document{text: text, line: first, tree: &syntaxTree{}})
		}
	}
	for at, line := 0, 1; at < len(data); line++ {
		text, next := nextLine(data, at)
		switch kind := separates(text); {
		case kind == ends:
			flush(at)
			start, first = next, line+1
		case kind == starts && !isDirective(data[start:at]):
			flush(at)
			start, first = at, line
		}
		at = next
	}
	flush(len(data))
	if len(documents) > limits.Documents {
		line := documents[limits.Documents].line
		return nil, []problem{{lineStart(line), "the file has more than " + strconv.Itoa(limits.Documents) + " documents"}}
	}
	return documents, nil
}

func nextLine(data []byte, at int) (line []byte, next int) {
	if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
		return data[at : at+i], at + i + 1
	}
	return data[at:], len(data)
}

// separator is the effect of a line on documents.
type separator int

const (
	none separator = iota
	// starts: a document starts on this line.
	starts
	// ends: a document ends before this line, which belongs to none.
	ends
)

func separates(line []byte) separator {
	trimmed := bytes.TrimRight(line, " \t\r")
	switch {
	case bytes.Equal(trimmed, []byte("...")):
		return ends
	case bytes.Equal(trimmed, []byte("---")), bytes.HasPrefix(trimmed, []byte("--- ")), bytes.HasPrefix(trimmed, []byte("---\t")):
		return starts
	}
	return none
}

// isEmpty reports whether there are only comments, separators and blanks.
func isEmpty(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("---"))); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// isDirective reports whether the text may stand before a document's dashes, such as %YAML 1.2.
func isDirective(text []byte) bool {
	found := false
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) > 0 && line[0] == '%':
			found = true
		case len(line) > 0 && line[0] != '#':
			return false
		}
	}
	return found
}

// toJSON converts a document as kubectl does, except that a key that occurs twice
// is an error.
func (d document) toJSON(limits Limits) ([]byte, []problem) {
	if found := d.checkSize(limits); found != nil {
		return nil, []problem{*found}
	}
	data, err := yaml.YAMLToJSONStrict(d.text)
	if err != nil && d.onlyMerges() {
		data, err = yaml.YAMLToJSON(d.text)
	}
	if err != nil {
		return nil, d.yamlProblems(err)
	}
	return data, nil
}

// checkSize refuses documents that are much larger once they are parsed.
func (d document) checkSize(limits Limits) *problem {
	if found := checkDensity(d); found != nil {
		return found
	}
	return checkAliases(d, limits)
}

// checkYAML looks for what is no YAML, or too large. A key may occur twice.
func (d document) checkYAML(limits Limits) []problem {
	if found := d.checkSize(limits); found != nil {
		return []problem{*found}
	}
	if _, err := yaml.YAMLToJSON(d.text); err != nil {
		return d.yamlProblems(err)
	}
	return nil
}

// fileLine turns a line of the document, from 1, into a line of the file that has text. A problem
// at the end is reported after the last line, and YAML counts characters as ends of lines that
// editors don't.
func (d document) fileLine(n int) int {
	return d.line + max(0, min(n-1, d.lastLine()))
}

// lastLine returns the number of lines before the last one that has text.
func (d document) lastLine() int {
	return bytes.Count(bytes.TrimRight(d.text, " \t\r\n"), []byte("\n"))
}

var (
	yamlLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)
	// yamlParser matches messages of the library's parser, whose lines, unlike those of its
	// scanner, count from 0.
	yamlParser = regexp.MustCompile(`^did not find expected (key|node content|'-' indicator|',' or |<)`)
)

// yamlProblems takes the lines out of the YAML library's message.
func (d document) yamlProblems(err error) []problem {
	var problems []problem
	for text := range strings.SplitSeq(err.Error(), "\n") {
		if match := yamlLine.FindStringSubmatch(strings.TrimSpace(text)); match != nil {
			n, _ := strconv.Atoi(match[1]) // digits
			if yamlParser.MatchString(match[2]) {
				n++
			}
			problems = append(problems, problem{lineStart(d.fileLine(n)), "broken YAML: " + match[2]})
		}
	}
	if problems == nil {
		message := strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: ")
		problems = []problem{{lineStart(d.line), "broken YAML: " + message}}
	}
	return problems
}
