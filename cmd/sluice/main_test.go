package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/sandbox"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/dialer"
)

// nowhere is a kubeconfig whose server answers nobody.
const nowhere = `apiVersion: v1
kind: Config
clusters: [{name: nowhere, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: nowhere, context: {cluster: nowhere, namespace: shop}}]
current-context: nowhere
`

func writeNowhere(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(nowhere), 0o600); err != nil {
		t.Fatalf("write kubeconfig: %v", err)
	}
	return path
}

func TestRun(t *testing.T) {
	t.Parallel()
	kubeconfig, empty := writeNowhere(t), filepath.Join(writeFiles(t, map[string]string{"kubeconfig": ""}), "kubeconfig")
	cases := map[string]struct {
		reason         string
		args           []string
		code           int
		stdout, stderr string // contained
	}{
		"Help":         {"no command shows what there is", nil, exitOK, "controller", ""},
		"VersionFlag":  {"the version is a line for scripts", []string{"--version"}, exitOK, buildVersion() + "\n", ""},
		"Version":      {"the command says more", []string{"version", "--client"}, exitOK, "commit ", ""},
		"NoController": {"the command has a version, whatever the cluster runs", []string{"version", "--kubeconfig=" + kubeconfig}, exitOK, "controller not known: ", ""},
		"FlagHelp":     {"flags say their units and defaults", []string{"controller", "--help"}, exitOK, "host:port", ""},
		"UnknownWord":  {"a typo is the caller's error", []string{"contoller"}, exitUsage, "", `"contoller"`},
		"Near":         {"what was meant is asked", []string{"aprove"}, exitUsage, "", "did you mean approve?\nRun 'sluice --help'"},
		"ItsOwnHelp":   {"and the help of the command is named", []string{"get", "--color"}, exitUsage, "", "Run 'sluice get --help'"},
		"UnknownFlag":  {"so is a flag that is not there", []string{"controller", "--color"}, exitUsage, "", "--color"},
		"ExtraWord":    {"and a word too many", []string{"controller", "now"}, exitUsage, "", `"now"`},
		"LogLevel":     {"flags are checked before anything runs", []string{"controller", "--log-level=loud"}, exitUsage, "", "not one of debug, info, warn, error"},
		"LogFormat":    {"each of them", []string{"controller", "--log-format=xml"}, exitUsage, "", "is not one of json, console"},
		"Network":      {"an address is not a network", []string{"controller", "--webhook-trusted-proxies=10.0.0.1"}, exitUsage, "", "--webhook-trusted-proxies"},
		"Writes":       {"reports would wait for ever", []string{"controller", "--forge-writes-per-hour=3"}, exitUsage, "", "--forge-writes-per-hour"},
		"Address":      {"a port alone is not an address", []string{"controller", "--metrics-address=8080"}, exitUsage, "", "--metrics-address"},
		"ProbeAddress": {"nor for the probes", []string{"controller", "--probe-address=8081"}, exitUsage, "", "--probe-address"},
		"GitSize":      {"a size must be one", []string{"controller", "--git-max-file=lots"}, exitUsage, "", "--git-max-file"},
		"GitNoSize":    {"and not nothing", []string{"controller", "--git-max-file=0"}, exitUsage, "", "more than 0"},
		"GitNetwork":   {"a network needs its length", []string{"controller", "--git-denied-networks=10.0.0.1"}, exitUsage, "", "--git-denied-networks"},
		"NoKubeconfig": {"a file that is not there is no usage error", []string{"controller", "--kubeconfig=" + kubeconfig + ".not"}, exitError, "", "find cluster"},
		"JumpWhere":    {"one word that is no number is the release", []string{"jump", "web"}, exitUsage, "", `batch is missing, counted from 1, after the release "web"; usage: sluice jump [RELEASE] BATCH, such as sluice jump web 3`},
		"JumpNowhere":  {"neither is named", []string{"jump"}, exitUsage, "", "the batch is missing, counted from 1; usage: sluice jump [RELEASE] BATCH"},
		"JumpTurned":   {"they are the wrong way round", []string{"jump", "3", "web"}, exitUsage, "", `"web" is not the number of a batch, counted from 1; usage: sluice jump [RELEASE] BATCH`},
		"JumpToZero":   {"batches count from 1", []string{"jump", "0"}, exitUsage, "", `"0" is not the number of a batch`},
		"NothingNamed": {"to hand everything back it has to be said", []string{"handback"}, exitUsage, "", "--all"},
		"NamedAndAll":  {"and not together with names", []string{"handback", "web", "--all"}, exitUsage, "", "--all"},
		"NamedAnd-A":   {"names are those of one namespace", []string{"handback", "web", "-A"}, exitUsage, "", "one namespace"},
		"Install":      {"manifests need no cluster", []string{"install", "--image=sluice:v1"}, exitOK, "image: sluice:v1\n", ""},
		"InstallInOne": {"what is confined has no policy", []string{"install", "--namespaced", "-n", "shop"}, exitOK, "--namespaces=shop\n", ""},
		"InstallWhole": {"nor can it be asked for", []string{"install", "--namespaced", "--policy"}, exitUsage, "", "the whole cluster's"},
		"NoCluster":    {"a cluster that does not answer is no usage error", []string{"list", "--kubeconfig=" + kubeconfig}, exitError, "", "sluice: list releases: "},
		"NoneNamed":    {"kubectl's guess at a cluster is nobody's", []string{"list", "--kubeconfig=" + empty}, exitError, "", "no kubeconfig names one"},
		"NoFormat":     {"formats are checked before anything is read", []string{"list", "-o", "xml"}, exitUsage, "", "not one of wide, json"},
		"NoCommit":     {"a commit too", []string{"status", "--commit=main"}, exitUsage, "", "is no commit"},
		"NoSelector":   {"selectors too", []string{"list", "-l", "a b"}, exitUsage, "", "--selector"},
		"NamespaceAnd": {"one namespace or all", []string{"list", "-A", "-n", "shop"}, exitUsage, "", "not both"},
		"NoContext":    {"a context must exist", []string{"controller", "--kubeconfig=" + kubeconfig, "--context=elsewhere"}, exitError, "", "elsewhere"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), tc.args, &stdout, &stderr)
			if code != tc.code {
				t.Errorf("%s: want exit code %d, got %d: %s", tc.reason, tc.code, code, stderr.String())
			}
			if !strings.Contains(stdout.String(), tc.stdout) {
				t.Errorf("%s: want %q in the output, got %q", tc.reason, tc.stdout, stdout.String())
			}
			if !strings.Contains(stderr.String(), tc.stderr) {
				t.Errorf("%s: want %q in the errors, got %q", tc.reason, tc.stderr, stderr.String())
			}
		})
	}
}

func TestLogger(t *testing.T) {
	t.Parallel()
	var output bytes.Buffer
	logger, err := (&logFlags{format: "json", level: "info"}).logger(&output)
	if err != nil {
		t.Fatalf("make logger: %v", err)
	}
	logger.V(1).Info("detail")
	logger.Error(errors.New("refused"), "write status", "gate", "web-0")

	var line struct {
		Level string `json:"level"`
		Msg   string `json:"msg"`
		Gate  string `json:"gate"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal(output.Bytes(), &line); err != nil {
		t.Fatalf("want one JSON object at level info, got %q: %v", output.String(), err)
	}
	if line.Level != "error" || line.Msg != "write status" || line.Gate != "web-0" || line.Error != "refused" {
		t.Errorf("want level, message, value and error in the line, got %q", output.String())
	}
}

// TestLeaseNamespace: the Lease is in the namespace of the kubeconfig's context unless told
// otherwise.
func TestLeaseNamespace(t *testing.T) {
	t.Parallel()
	kubeconfig := writeNowhere(t)
	for given, want := range map[string]string{"": "shop", "sluice-system": "sluice-system"} {
		flags := controllerFlags{cluster: clusterFlags{kubeconfig: kubeconfig}}
		flags.app.LeaseNamespace = given
		if _, err := flags.connect(); err != nil {
			t.Fatalf("connect: %v", err)
		}
		if got := flags.app.LeaseNamespace; got != want {
			t.Errorf("--leader-elect-namespace=%q: want %q, got %q", given, want, got)
		}
	}
}

// TestGitFlags: sizes, numbers and networks reach the packages that read repositories.
func TestGitFlags(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason    string
		args      []string
		git       gitrepo.Options
		manifests spec.Limits
	}{
		"Defaults": {reason: "what is not given is theirs to choose"},
		"Sizes": {
			reason: "sizes are given as Kubernetes has them",
			args:   []string{"--git-max-pack=1G", "--git-max-objects=10", "--manifests-max-documents=3"},
			git:    gitrepo.Options{Limits: gitrepo.Limits{PackBytes: 1_000_000_000, Objects: 10}}, manifests: spec.Limits{Documents: 3},
		},
		"File": {
			reason: "the size of a file is limited where it is fetched and where it is read",
			args:   []string{"--git-max-file=2Mi"},
			git:    gitrepo.Options{Limits: gitrepo.Limits{FileBytes: 2 << 20}}, manifests: spec.Limits{FileBytes: 2 << 20},
		},
		"Networks": {
			reason: "networks are added to those that are denied anyhow, or are exceptions",
			args:   []string{"--git-denied-networks=10.0.0.0/8,fd00::/8", "--git-denied-networks=192.0.2.1/24", "--git-allowed-networks=10.1.2.3/32"},
			git: gitrepo.Options{Networks: dialer.Rules{
				Denied: []netip.Prefix{
					netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("192.0.2.0/24"),
				},
				Allowed: []netip.Prefix{netip.MustParsePrefix("10.1.2.3/32")},
			}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var git gitrepo.Options
			var manifests spec.Limits
			set := pflag.NewFlagSet(name, pflag.ContinueOnError)
			registerGit(set, &git, &manifests, &sandbox.Options{})
			if err := set.Parse(tc.args); err != nil {
				t.Fatalf("%s: parse %q: %v", tc.reason, tc.args, err)
			}
			if diff := cmp.Diff(tc.git, git, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.manifests, manifests); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
