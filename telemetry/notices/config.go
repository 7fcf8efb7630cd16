package notices

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/telemetry/story"
)

// file is the operator's configuration. docs/telemetry.md describes its fields.
type file struct {
	Receivers []receiverFields `json:"receivers"`
}

type receiverFields struct {
	Name       string        `json:"name"`
	Type       receiverType  `json:"type"`
	URL        string        `json:"url"`
	URLFile    string        `json:"urlFile"`
	AllowHTTP  bool          `json:"allowHTTP"`
	CAFile     string        `json:"caFile"`
	Signing    signingFields `json:"signing"`
	Kinds      []story.Kind  `json:"kinds"`
	Namespaces []string      `json:"namespaces"`
	Template   string        `json:"template"`
}

type signingFields struct {
	Keys     []string `json:"keys"`
	KeyFiles []string `json:"keyFiles"`
}

type receiverType string

const (
	typeEvents receiverType = "cloudevents"
	typeSlack  receiverType = "slack"
)

// Config says who gets which notices.
type Config struct {
	receivers []*receiver
	// digest identifies a configuration, including the files that it names.
	digest [sha256.Size]byte
}

// receiver is a place that notices are sent to.
type receiver struct {
	name       string
	kind       receiverType
	address    secret
	loopback   bool
	bundle     []byte
	keys       []secret
	kinds      []story.Kind
	namespaces []string
	words      *words
}

// wants reports whether a receiver gets a notice.
func (r *receiver) wants(n *Notice) bool {
	if len(r.namespaces) > 0 && !slices.Contains(r.namespaces, n.Namespace) {
		return false
	}
	if len(r.kinds) == 0 {
		return usual(n)
	}
	return slices.Contains(r.kinds, n.Kind)
}

// Bounds of a configuration.
const (
	maxReceivers = 20
	maxFile      = 1 << 20
	maxKeys      = 2
)

// Load reads a configuration, all of it or nothing. An error says where it is wrong, and never
// shows an address or a key.
func Load(path string) (*Config, error) {
	reader := &reader{folder: filepath.Dir(path)}
	text, err := reader.read(filepath.Base(path))
	if err != nil {
		return nil, err
	}
	fields, err := decode(text)
	if err != nil {
		return nil, err
	}
	if len(fields.Receivers) > maxReceivers {
		return nil, fmt.Errorf("receivers: must be at most %d", maxReceivers)
	}
	config, names := &Config{}, map[string]bool{}
	var problems []error
	for i := range fields.Receivers {
		at, one := fmt.Sprintf("receivers[%d]", i), &fields.Receivers[i]
		made, err := one.receiver(reader)
		if err == nil && names[made.name] {
			err = errors.New("name: another receiver has the same name")
		}
		if err != nil {
			problems = append(problems, prefixed(at, err)...)
			continue
		}
		names[made.name] = true
		config.receivers = append(config.receivers, made)
	}
	reader.hash.Write([]byte{0})
	copy(config.digest[:], reader.sum())
	return config, errors.Join(problems...)
}

// prefixed says of each of several errors where it is.
func prefixed(at string, err error) []error {
	var all []error
	if several, is := err.(interface{ Unwrap() []error }); is {
		for _, one := range several.Unwrap() {
			all = append(all, prefixed(at, one)...)
		}
		return all
	}
	return []error{fmt.Errorf("%s.%w", at, err)}
}

// fieldName is what may be shown of a field that is unknown: what looks otherwise may be a secret
// that was written to the wrong place.
var fieldName = regexp.MustCompile(`^[A-Za-z]{1,30}$`)

// decode reads the fields strictly.
func decode(text []byte) (*file, error) {
	converted, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, fmt.Errorf("is not YAML%s", lineOf(err))
	}
	var fields file
	strict, err := json.UnmarshalStrict(converted, &fields, json.DisallowUnknownFields)
	if err != nil {
		return nil, errors.New("a field has a value of the wrong type: " + typeProblem(err))
	}
	if len(strict) > 0 {
		return nil, unknown(strict[0])
	}
	return &fields, nil
}

// unknown says where an unknown field is.
func unknown(problem error) error {
	path, _ := strings.CutPrefix(problem.Error(), "unknown field ")
	path = strings.Trim(path, `"`)
	if last := path[strings.LastIndex(path, ".")+1:]; !fieldName.MatchString(last) {
		return errors.New("a field has a name that is unknown; check the indentation")
	}
	return fmt.Errorf("%s: unknown field", plain.Line(path))
}

var yamlLine = regexp.MustCompile(`line \d+`)

// lineOf returns the line of a YAML error, without its content.
func lineOf(err error) string {
	if line := yamlLine.FindString(err.Error()); line != "" {
		return ": " + line
	}
	return ""
}

// typeProblem returns which field has a wrong type, without its value.
func typeProblem(err error) string {
	if _, rest, found := strings.Cut(err.Error(), "Go struct field "); found {
		field, _, _ := strings.Cut(rest, " ")
		if _, path, found := strings.Cut(field, "."); found {
			return plain.Line(path)
		}
	}
	return "check the indentation"
}

// receiver checks the fields, and reads the files that they name.
func (f *receiverFields) receiver(files *reader) (*receiver, error) {
	made := &receiver{name: f.Name, kind: f.Type, kinds: f.Kinds, namespaces: f.Namespaces}
	var problems []error
	report := func(field string, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", field, err))
		}
	}
	report("name", checkName(f.Name))
	report("type", checkType(f.Type))
	report("kinds", checkKinds(f.Kinds))
	report("namespaces", checkNamespaces(f.Namespaces))
	address, field, err := f.address(files)
	report(field, err)
	made.address = conceal(address)
	if err == nil {
		made.loopback, err = checkAddress(address, f.AllowHTTP)
		report(field, err)
	}
	if f.CAFile != "" {
		made.bundle, err = files.read(f.CAFile)
		report("caFile", err)
	}
	var keyProblems error
	made.keys, keyProblems = f.Signing.read(files)
	report("signing", keyProblems)
	report("template", f.template(made))
	if f.Type == typeSlack && len(made.keys) > 0 {
		report("signing", errors.New("is for receivers of type cloudevents: Slack checks no signature"))
	}
	return made, errors.Join(problems...)
}

// template reads the template of a receiver in Slack.
func (f *receiverFields) template(made *receiver) error {
	if f.Type != typeSlack {
		if f.Template != "" {
			return errors.New("is for receivers of type slack: the data of CloudEvents has fields")
		}
		return nil
	}
	text, tried := f.Template, f.Kinds
	if text == "" {
		text = usualTemplate
	}
	if len(tried) == 0 || checkKinds(tried) != nil {
		tried = Kinds()
	}
	var err error
	made.words, err = newWords(text, tried)
	return err
}

func checkName(name string) error {
	if len(validation.IsDNS1123Label(name)) > 0 {
		return errors.New("must be lower-case letters, digits and -, at most 63")
	}
	return nil
}

func checkType(kind receiverType) error {
	if kind != typeEvents && kind != typeSlack {
		return fmt.Errorf("must be %s or %s", typeEvents, typeSlack)
	}
	return nil
}

func checkKinds(wanted []story.Kind) error {
	for i, one := range wanted {
		if _, known := kinds[one]; !known {
			return fmt.Errorf("[%d]: %.40q is not one of %v", i, string(one), Kinds())
		}
	}
	return nil
}

func checkNamespaces(namespaces []string) error {
	for i, one := range namespaces {
		if len(validation.IsDNS1123Label(one)) > 0 {
			return fmt.Errorf("[%d] is not the name of a namespace", i)
		}
	}
	return nil
}

// address returns the URL of a receiver, and the field that has it.
func (f *receiverFields) address(files *reader) (address, field string, err error) {
	switch {
	case (f.URL == "") == (f.URLFile == ""):
		return "", "url", errors.New("give either url or urlFile")
	case f.URL != "":
		return f.URL, "url", nil
	}
	text, err := files.read(f.URLFile)
	return strings.TrimSpace(string(text)), "urlFile", err
}

// checkAddress refuses what is not https, except on loopback or where plain HTTP is allowed. It
// shows nothing of the address.
func checkAddress(address string, allowHTTP bool) (loopback bool, err error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Hostname() == "" || parsed.Opaque != "" {
		return false, errors.New("must be an absolute URL that begins with https://")
	}
	if parsed.Fragment != "" {
		return false, errors.New("must not have a fragment (#)")
	}
	loopback = onLoopback(parsed.Hostname())
	switch {
	case parsed.Scheme == "https":
	case parsed.Scheme != "http":
		return false, errors.New("must begin with https://")
	case !loopback && !allowHTTP:
		return false, errors.New("must begin with https://; allowHTTP: true allows http://, which anybody in between can read")
	}
	return loopback, nil
}

func onLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// read returns the keys, the newer one first.
func (s *signingFields) read(files *reader) ([]secret, error) {
	texts := slices.Clone(s.Keys)
	for _, name := range s.KeyFiles {
		text, err := files.read(name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, strings.TrimSpace(string(text)))
	}
	if len(texts) > maxKeys {
		return nil, errors.New("must have at most two keys: the new one, and the old one while receivers change to the new one")
	}
	var keys []secret
	for i, text := range texts {
		encoded, marked := strings.CutPrefix(text, "whsec_")
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !marked || err != nil || len(key) < 24 || len(key) > 64 {
			return nil, fmt.Errorf("key %d must be whsec_ followed by 24 to 64 bytes in base64: echo \"whsec_$(openssl rand -base64 32)\"", i+1)
		}
		keys = append(keys, conceal(string(key)))
	}
	return keys, nil
}

// reader reads files next to the configuration, and notes what it has read.
type reader struct {
	folder string
	hash   bytes.Buffer
}

func (r *reader) read(name string) ([]byte, error) {
	path := name
	if !filepath.IsAbs(name) {
		path = filepath.Join(r.folder, name)
	}
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, errors.New("the file does not exist")
	case err != nil:
		return nil, errors.New("the file can't be read")
	case len(content) > maxFile:
		return nil, fmt.Errorf("the file is larger than %d bytes", maxFile)
	}
	digest := sha256.Sum256(content)
	r.hash.Write(digest[:])
	return content, nil
}

func (r *reader) sum() []byte {
	digest := sha256.Sum256(r.hash.Bytes())
	return digest[:]
}
