package spec

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// maxConfig limits the entries of spec.config.
const maxConfig = 20

// configPath is the field in which a BatchRelease names ConfigMaps and Secrets.
const configPath = "spec.config"

// configKey names a ConfigMap or Secret.
type configKey struct {
	kind            kind
	namespace, name string
}

// String returns it in words, such as ConfigMap shop/web.
func (k configKey) String() string { return string(k.kind) + " " + k.namespace + "/" + k.name }

// compare orders by kind, name and namespace.
func (k configKey) compare(other configKey) int {
	return cmp.Or(cmp.Compare(k.kind, other.kind), cmp.Compare(k.name, other.name), cmp.Compare(k.namespace, other.namespace))
}

// keyOf returns what an entry of spec.config names.
func keyOf(entry v1alpha1.ConfigReference, namespace string) configKey {
	if entry.Secret != "" {
		return configKey{secretKind, namespace, entry.Secret}
	}
	return configKey{configMapKind, namespace, entry.ConfigMap}
}

// Copy is an immutable copy of a ConfigMap or Secret as a commit has it. It has a name of its own
// for each content and release.
type Copy struct {
	Kind, Namespace, Name string
	// Of names the original, which stands at Place.
	Of    string
	Place Place
	// Release is the name of the release that the copy is made for.
	Release string

	original json.RawMessage
}

// Object returns the copy to create, without owners. The caller may change it.
func (c *Copy) Object() *unstructured.Unstructured {
	content, _ := contentOf(kind(c.Kind), c.original) // it was read before
	content["apiVersion"], content["kind"], content["immutable"] = "v1", c.Kind, true
	object := &unstructured.Unstructured{Object: content}
	object.SetNamespace(c.Namespace)
	object.SetName(c.Name)
	object.SetLabels(map[string]string{v1alpha1.ReleaseLabel: c.Release})
	object.SetAnnotations(map[string]string{v1alpha1.CopyOfAnnotation: c.Of})
	return object
}

// references returns copies as spec.config has them.
func references(copies []*Copy) []any {
	var entries []any
	for _, c := range copies {
		field := "configMap"
		if c.Kind == string(secretKind) {
			field = "secret"
		}
		entries = append(entries, map[string]any{field: c.Of, "copy": c.Name})
	}
	return entries
}

// namesOf tells sets of copies apart.
func namesOf(copies []*Copy) string {
	var names []string
	for _, c := range copies {
		names = append(names, c.Kind+" "+c.Of+" "+c.Name+" "+place(c.Place.File, c.Place.Line))
	}
	return strings.Join(names, "\n")
}

// placeConfig finds the places of the entries of spec.config.
func (m *manifest) placeConfig(find func(path string) position) {
	for i := range m.config {
		m.configAt = append(m.configAt, find(fmt.Sprintf("%s[%d]", configPath, i)))
	}
}

// validateConfig has the rules of spec.config.
func validateConfig(spec *v1alpha1.BatchReleaseSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case len(spec.Config) > maxConfig:
		errs = append(errs, field.TooMany(at, len(spec.Config), maxConfig))
	case len(spec.Config) > 0 && len(spec.Members) > 0:
		errs = append(errs, field.Forbidden(at, "is not for a train: its members have it"))
	}
	seen := map[configKey]bool{}
	for i, entry := range spec.Config {
		at := at.Index(i)
		key := keyOf(entry, "")
		switch {
		case (entry.ConfigMap == "") == (entry.Secret == ""):
			errs = append(errs, field.Invalid(at, "", "must name exactly one of configMap and secret"))
			continue
		case seen[key]:
			errs = append(errs, field.Duplicate(at, key.name))
		}
		seen[key] = true
		for _, reason := range validation.IsDNS1123Subdomain(key.name) {
			errs = append(errs, field.Invalid(at, key.name, reason))
		}
		if entry.Copy != "" {
			errs = append(errs, field.Forbidden(at.Child("copy"), "is set by the ReleaseSource"))
		}
	}
	return errs
}

// copiesOf returns copies of what a release names in spec.config, and reports whether all of it is
// there and can be copied.
func (p *pass) copiesOf(l located, namespace string) ([]*Copy, bool) {
	var copies []*Copy
	sound := true
	for i, entry := range l.config {
		at := l.at
		if i < len(l.configAt) {
			at = cmp.Or(l.configAt[i], l.at)
		}
		if made := p.copyOf(l, keyOf(entry, namespace), at, fmt.Sprintf("%s[%d]", configPath, i)); made != nil {
			copies = append(copies, made)
		} else {
			sound = false
		}
	}
	return copies, sound
}

// config returns the ConfigMaps and Secrets of all files.
func (p *pass) config() map[configKey][]located {
	if p.configs != nil {
		return p.configs
	}
	p.configs = map[configKey][]located{}
	for _, l := range p.manifests {
		if l.kind.isConfig() {
			key := configKey{l.kind, l.in(p.opts.Namespace), l.name}
			p.configs[key] = append(p.configs[key], l)
		}
	}
	return p.configs
}

// copyOf returns a copy of what an entry names; nil if there is an error.
func (p *pass) copyOf(l located, key configKey, at position, entry string) *Copy {
	found := p.config()[key]
	switch {
	case len(found) == 0:
		p.fail(l.file, at, fmt.Sprintf("%s: %s is not in %s", entry, key, p.whereRead(p.similar(key))))
		return nil
	case len(found) > 1:
		p.fail(l.file, at, fmt.Sprintf("%s: %s is in %s and in %s: take one of them out", entry, key,
			place(found[0].file, found[0].at.line), place(found[1].file, found[1].at.line)))
		return nil
	}
	digest, problem := p.contentDigest(found[0].manifest)
	if problem != "" {
		p.fail(found[0].file, found[0].at, fmt.Sprintf("%s can't be released with BatchRelease %s: %s", key, l.name, problem))
		return nil
	}
	return &Copy{
		Kind: string(key.kind), Namespace: key.namespace, Name: copyName(key, l.name, digest), Of: key.name,
		Place: Place{found[0].file, found[0].at.line}, Release: l.name, original: found[0].object,
	}
}

// digested is the digest of a content, and a problem with it.
type digested struct{ digest, problem string }

// contentDigest returns the digest of what is copied of a ConfigMap or Secret, and a problem with
// it. It reads each content once: any number of releases can name it.
func (p *pass) contentDigest(of *manifest) (digest, problem string) {
	known, is := p.contents[of]
	if !is {
		content, problem := contentOf(of.kind, of.object)
		data, _ := json.Marshal(content) // texts: it can't fail
		sum := sha256.Sum256(data)
		known = digested{hex.EncodeToString(sum[:]), problem}
		if p.contents == nil {
			p.contents = map[*manifest]digested{}
		}
		p.contents[of] = known
	}
	return known.digest, known.problem
}

// maxSimilar limits the names that are compared with a wrong one.
const maxSimilar = 1000

// similar names what was probably meant by an entry; empty if nothing is like it. A generator of
// kustomize adds a hash to the name, which a release beside the kustomization does not know.
func (p *pass) similar(key configKey) string {
	if p.configNames == nil {
		p.configNames = slices.SortedFunc(maps.Keys(p.config()), configKey.compare)
	}
	first, _ := slices.BinarySearchFunc(p.configNames, configKey{kind: key.kind, name: key.name}, configKey.compare)
	for i, other := range p.configNames[first:] {
		if i == maxSimilar || other.kind != key.kind || !strings.HasPrefix(other.name, key.name) {
			break
		}
		if other.name != key.name && !strings.HasPrefix(other.name, key.name+"-") {
			continue
		}
		l := p.config()[other][0]
		switch {
		case other.namespace != key.namespace:
			return fmt.Sprintf("; the one in %s is in namespace %s, and a release has those of its own", place(l.file, l.at.line), other.namespace)
		case l.kustomization != "":
			return fmt.Sprintf("; %s builds it as %s: make the release one of its resources, or set generatorOptions.disableNameSuffixHash: true",
				l.kustomization, other.name)
		}
	}
	return ""
}

// hashLength is the length of the hash in the name of a copy.
const hashLength = 16

// copyName returns the name of a copy. The name of the original is cut where it is too long.
func copyName(key configKey, release, content string) string {
	data, _ := json.Marshal([]any{key.kind, release, content}) // texts: it can't fail
	sum := sha256.Sum256(data)
	name := key.name
	if most := validation.DNS1123SubdomainMaxLength - 1 - hashLength; len(name) > most {
		name = strings.TrimRight(name[:most], "-.")
	}
	return name + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

// config is a ConfigMap or Secret as far as it is copied.
type config struct {
	SOPS       json.RawMessage            `json:"sops"`
	Type       any                        `json:"type"`
	Data       map[string]json.RawMessage `json:"data"`
	BinaryData map[string]json.RawMessage `json:"binaryData"`
	StringData map[string]json.RawMessage `json:"stringData"`
}

// contentOf returns data, binaryData and type of a ConfigMap or Secret, and a problem with them,
// which never quotes a value.
func contentOf(of kind, object json.RawMessage) (content map[string]any, problem string) {
	var given config
	switch err := json.Unmarshal(object, &given); {
	case err != nil:
		return nil, "data, binaryData and stringData must be objects"
	case given.SOPS != nil:
		return nil, "it is encrypted by SOPS, and Sluice has no key: take it out of spec.config"
	}
	read := reading{size: map[string]int{}}
	content = map[string]any{}
	if of == configMapKind {
		read.texts("data", given.Data, content, "data")
		read.base64s("binaryData", given.BinaryData, content)
	} else {
		read.base64s("data", given.Data, content)
		read.texts("stringData", given.StringData, content, "data")
		read.secretType(given.Type, content)
	}
	total := 0
	for _, size := range read.size {
		total += size
	}
	if total > corev1.MaxSecretSize && read.problem == "" {
		return nil, fmt.Sprintf("its values have %d bytes, and the API server takes %d", total, corev1.MaxSecretSize)
	}
	return content, read.problem
}

// reading reads values, and keeps the first problem.
type reading struct {
	size    map[string]int
	problem string
}

func (r *reading) fail(problem string) { r.problem = cmp.Or(r.problem, problem) }

// value returns the text of a value.
func (r *reading) value(at, key string, raw json.RawMessage) string {
	var text string
	reasons := validation.IsConfigMapKey(key)
	switch {
	case reasons != nil:
		r.fail(fmt.Sprintf("%s: key %q: %s", at, key, reasons[0]))
	case json.Unmarshal(raw, &text) != nil:
		r.fail(fmt.Sprintf("%s: %s: must be a text: put it in quotes", at, key))
	case strings.HasPrefix(text, "ENC[AES256_GCM,"):
		r.fail(fmt.Sprintf("%s: %s: is encrypted by SOPS, and Sluice has no key: take it out of spec.config", at, key))
	}
	return text
}

// texts reads texts into a field of the content, in base64 if the field is a Secret's.
func (r *reading) texts(at string, values map[string]json.RawMessage, content map[string]any, to string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		text := r.value(at, key, values[key])
		r.size[key] = len(text)
		if at == "stringData" {
			text = base64.StdEncoding.EncodeToString([]byte(text))
		}
		put(content, to, key, text)
	}
}

// base64s reads values in base64.
func (r *reading) base64s(at string, values map[string]json.RawMessage, content map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		data, err := base64.StdEncoding.DecodeString(r.value(at, key, values[key]))
		if err != nil {
			r.fail(fmt.Sprintf("%s: %s: is not base64", at, key))
		}
		if _, twice := r.size[key]; twice {
			r.fail(fmt.Sprintf("%s: %s: is in data, too", at, key))
		}
		r.size[key] = len(data)
		put(content, at, key, base64.StdEncoding.EncodeToString(data))
	}
}

func put(content map[string]any, in, key, value string) {
	if content[in] == nil {
		content[in] = map[string]any{}
	}
	content[in].(map[string]any)[key] = value //nolint:forcetypeassert // it was just made
}

// secretType reads the type of a Secret. Types that the control plane acts on are refused.
func (r *reading) secretType(given any, content map[string]any) {
	of, isText := given.(string)
	switch {
	case given != nil && !isText:
		r.fail("type: must be a text")
	case of == string(corev1.SecretTypeServiceAccountToken), of == string(corev1.SecretTypeBootstrapToken):
		r.fail("type " + of + ": Sluice makes no copy of credentials for the API server")
	}
	content["type"] = cmp.Or(of, string(corev1.SecretTypeOpaque))
}
