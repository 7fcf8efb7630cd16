package notices

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const slackURL = "https://hooks.slack.example/services/T0/B0/very-secret"

// key is one that signs.
var key = "whsec_" + base64.StdEncoding.EncodeToString([]byte("0123456789abcdef-very-secret-012"))

// write puts files into a folder, and returns the path of the configuration.
func write(t *testing.T, folder, text string) string {
	t.Helper()
	for name, content := range map[string]string{"notices.yaml": text, "slack-url": slackURL + "\n", "signing-key": key + "\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatalf("write: %v", err)
		}
	}
	return filepath.Join(folder, "notices.yaml")
}

// TestExample: the example is taken as it is.
func TestExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../examples/notices/notices.yaml")
	if err != nil {
		t.Fatalf("read example: %v", err)
	}
	config, err := Load(write(t, t.TempDir(), string(text)))
	if err != nil {
		t.Fatalf("load example: %v", err)
	}
	if len(config.receivers) != 2 || config.receivers[0].address.reveal() != slackURL || len(config.receivers[1].keys) != 1 {
		t.Errorf("want a receiver in Slack, and one with a key, got %+v", config.receivers)
	}
}

// TestInvalidConfig: an error is reported with its place, and without secrets.
func TestInvalidConfig(t *testing.T) {
	t.Parallel()
	good := "receivers:\n- name: a\n  type: slack\n  url: " + slackURL + "\n"
	for reason, tc := range map[string]struct{ text, want string }{
		"not YAML":             {"receivers: [\n", "is not YAML: line"},
		"no list":              {"receivers: very-secret", "a field has a value of the wrong type: receivers"},
		"unknown field":        {good + "  retries: 3\n", "receivers[0].retries: unknown field"},
		"secret as a field":    {"receivers:\n- " + slackURL + ": x\n", "a field has a name that is unknown"},
		"secret without space": {"receivers:\n- url:" + slackURL + "\n", "wrong type"},
		"no name":              {"receivers: [{type: slack, url: '" + slackURL + "'}]", "receivers[0].name: must be lower-case letters"},
		"the same name":        {good + strings.TrimPrefix(good, "receivers:\n"), "receivers[1].name: another receiver has the same name"},
		"unknown type":         {"receivers: [{name: a, type: pager, url: '" + slackURL + "'}]", "receivers[0].type: must be cloudevents or slack"},
		"no URL":               {"receivers: [{name: a, type: slack}]", "receivers[0].url: give either url or urlFile"},
		"two URLs":             {"receivers: [{name: a, type: slack, url: '" + slackURL + "', urlFile: slack-url}]", "receivers[0].url: give either"},
		"missing file":         {"receivers: [{name: a, type: slack, urlFile: gone}]", "receivers[0].urlFile: the file does not exist"},
		"plain HTTP":           {"receivers: [{name: a, type: slack, url: 'http://very-secret.example'}]", "receivers[0].url: must begin with https://; allowHTTP"},
		"another scheme":       {"receivers: [{name: a, type: slack, url: 'file:///very-secret'}]", "receivers[0].url: must be an absolute URL"},
		"broken URL":           {"receivers: [{name: a, type: slack, url: 'https://a b/very-secret%zz'}]", "receivers[0].url: must be an absolute URL"},
		"fragment":             {"receivers: [{name: a, type: slack, url: 'https://a.example/#very-secret'}]", "receivers[0].url: must not have a fragment"},
		"unknown kind":         {"receivers: [{name: a, type: slack, urlFile: slack-url, kinds: [Done]}]", "receivers[0].kinds: [0]: \"Done\" is not one of [ApprovalRefused"},
		"invalid namespace":    {"receivers: [{name: a, type: slack, urlFile: slack-url, namespaces: ['*']}]", "receivers[0].namespaces: [0] is not the name"},
		"short key":            {"receivers: [{name: a, type: cloudevents, urlFile: slack-url, signing: {keys: [whsec_c2VjcmV0]}}]", "receivers[0].signing: key 1 must be whsec_"},
		"no key":               {"receivers: [{name: a, type: cloudevents, urlFile: slack-url, signing: {keyFiles: [slack-url]}}]", "receivers[0].signing: key 1 must be whsec_"},
		"three keys":           {fmt.Sprintf("receivers: [{name: a, type: cloudevents, urlFile: slack-url, signing: {keys: [%q, %q, %q]}}]", key, key, key), "at most two keys"},
		"signed Slack":         {"receivers: [{name: a, type: slack, urlFile: slack-url, signing: {keyFiles: [signing-key]}}]", "receivers[0].signing: is for receivers of type cloudevents"},
		"template of events":   {"receivers: [{name: a, type: cloudevents, urlFile: slack-url, template: x}]", "receivers[0].template: is for receivers of type slack"},
		"broken template":      {good + "  template: '{{.Release'\n", "receivers[0].template: template: template:1: unclosed action"},
		"unknown value":        {good + "  template: '{{.Secret}}'\n", "receivers[0].template: there is no field Secret"},
		"gate of a release":    {good + "  template: '{{.Gate.Name}}'\n  kinds: [ReleaseStarted]\n", "nil pointer evaluating *notices.Gate.Name"},
		"bad certificates":     {good + "  caFile: gone\n", "receivers[0].caFile: the file does not exist"},
	} {
		_, err := Load(write(t, t.TempDir(), tc.text))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: want %q, got %v", reason, tc.want, err)
		}
		if err != nil && (strings.Contains(err.Error(), "very-secret") || strings.Contains(err.Error(), key)) {
			t.Errorf("%s: the error shows a secret: %v", reason, err)
		}
	}
}

// TestEveryMistakeIsNamed: several mistakes are reported at once.
func TestEveryMistakeIsNamed(t *testing.T) {
	t.Parallel()
	_, err := Load(write(t, t.TempDir(), "receivers: [{name: A, type: slack, urlFile: gone}, {name: b, type: x, urlFile: slack-url}]"))
	want := "receivers[0].name: must be lower-case letters, digits and -, at most 63\nreceivers[0].urlFile: the file does not exist\n" +
		"receivers[1].type: must be cloudevents or slack"
	if err == nil || err.Error() != want {
		t.Errorf("-want +got:\n%s", cmp.Diff(want, fmt.Sprint(err)))
	}
}

// TestSecretsAreNotPrinted: a printed receiver does not contain its address and keys.
func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	config, err := Load(write(t, t.TempDir(), "receivers: [{name: a, type: cloudevents, urlFile: slack-url, signing: {keyFiles: [signing-key]}}]"))
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, value := range []any{*config.receivers[0], config.receivers[0].address, config.receivers[0].keys} {
			if shown := fmt.Sprintf(format, value); strings.Contains(shown, "very-secret") {
				t.Errorf("%s shows %s", format, shown)
			}
		}
	}
}

// TestNamedFilesAreRead: files that the configuration names are part of it.
func TestNamedFilesAreRead(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := write(t, folder, "receivers: [{name: a, type: slack, urlFile: slack-url}]")
	before, err := Load(path)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "slack-url"), []byte(slackURL+"-2"), 0o600); err != nil {
		t.Fatalf("write: %v", err)
	}
	after, err := Load(path)
	if err != nil || after.digest == before.digest {
		t.Errorf("want another configuration, error %v", err)
	}
}
