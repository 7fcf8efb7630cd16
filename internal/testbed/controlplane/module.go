package controlplane

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// Where a checkout of Sluice keeps the modules that pin programs.
const (
	moduleDir          = "hack/controlplane"
	nodeModuleDir      = "hack/node"
	dataPlaneModuleDir = "hack/dataplane"
	giteaModuleDir     = "hack/gitea"
	prometheusDir      = "hack/prometheus"
)

// The modules whose versions name a build of the programs.
const (
	etcdModule       = "go.etcd.io/etcd/server/v3"
	kubernetesModule = "k8s.io/kubernetes"
	kwokModule       = "sigs.k8s.io/kwok"
	traefikModule    = "github.com/traefik/traefik/v3"
	giteaModule      = "code.gitea.io/gitea"
	prometheusModule = "github.com/prometheus/prometheus"
)

// A program is one of the control plane's, with the package that it is built from and the module
// that has it.
type program struct{ name, pkg, module string }

// A set is programs that are built and cached together, the quickest to build first.
type set struct {
	what     string // for people
	dir      string // of the module that pins them, in a checkout
	prefix   string // of the names of its builds
	programs []program
	// named are the modules whose versions name a build, with their short names.
	named []namedModule
	// flags are for go build, and env is added to its environment.
	flags, env []string
	// files are folders of the first named module that its program reads as it runs.
	files []string
}

type namedModule struct{ name, path string }

// controlPlane is all that a control plane takes.
var controlPlane = set{
	what:  "the control plane",
	dir:   moduleDir,
	named: []namedModule{{"kubernetes", kubernetesModule}, {"kwok", kwokModule}, {"etcd", etcdModule}},
	programs: []program{
		{"etcd", etcdModule, etcdModule},
		{"kwok", kwokModule + "/cmd/kwok", kwokModule},
		{"kubectl", kubernetesModule + "/cmd/kubectl", kubernetesModule},
		{"kube-scheduler", kubernetesModule + "/cmd/kube-scheduler", kubernetesModule},
		{"kube-controller-manager", kubernetesModule + "/cmd/kube-controller-manager", kubernetesModule},
		{"kube-apiserver", kubernetesModule + "/cmd/kube-apiserver", kubernetesModule},
	},
}

// node is what a real node takes of Kubernetes. It is built apart: whoever runs no real node does
// not pay for it.
var node = set{
	what:   "kubelet and kube-proxy",
	dir:    nodeModuleDir,
	prefix: "node-",
	named:  []namedModule{{"kubernetes", kubernetesModule}},
	programs: []program{
		{"kube-proxy", kubernetesModule + "/cmd/kube-proxy", kubernetesModule},
		{"kubelet", kubernetesModule + "/cmd/kubelet", kubernetesModule},
	},
}

// dataPlane is what serves Gateway API's routes. It is built apart, as node is: it takes as long as
// all others together.
var dataPlane = set{
	what:     "the data plane",
	dir:      dataPlaneModuleDir,
	prefix:   "dataplane-",
	named:    []namedModule{{"traefik", traefikModule}},
	programs: []program{{"traefik", traefikModule + "/cmd/traefik", traefikModule}},
}

// gitea is a forge. Its database takes a C compiler, and its texts are files.
var gitea = set{
	what:     "Gitea",
	dir:      giteaModuleDir,
	prefix:   "forge-",
	named:    []namedModule{{"gitea", giteaModule}},
	programs: []program{{"gitea", giteaModule, giteaModule}},
	flags:    []string{"-tags", "sqlite sqlite_unlock_notify"},
	env:      []string{"CGO_ENABLED=1"},
	files:    []string{"options", "templates", "public"},
}

// prometheus is a server of metrics, which finds targets in Kubernetes and in files. Its Go module
// lacks the pages.
var prometheus = set{
	what:     "Prometheus",
	dir:      prometheusDir,
	prefix:   "metrics-",
	named:    []namedModule{{"prometheus", prometheusModule}},
	programs: []program{{"prometheus", prometheusModule + "/cmd/prometheus", prometheusModule}},
	flags:    []string{"-tags", "remove_all_sd enable_kubernetes_sd"},
	env:      []string{"CGO_ENABLED=0"},
}

// A module is the Go module that pins the programs' versions.
type module struct {
	set

	dir      string
	versions map[string]string // of the modules required, by path
	sum      [sha256.Size]byte // over go.mod and go.sum
	sums     []byte            // the checksums of what may be downloaded; nil if there are none
}

// InCheckout returns the path of something in the checkout of Sluice that the current directory is
// part of.
func InCheckout(path string) (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, moduleDir, "go.mod"))
		if err == nil {
			return filepath.Join(dir, path), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("find the checkout: %w", err)
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find %s in %s or above: run this inside a checkout of Sluice", moduleDir, wd)
		}
	}
}

// readModule reads go.mod, go.sum and the checksums in dir of the module that pins a set.
func readModule(dir string, pinned set) (*module, error) {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("read module: %w", err)
	}
	sum, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		return nil, fmt.Errorf("read module: %w", err)
	}
	sums, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read module: %w", err)
	}
	file, err := modfile.ParseLax(filepath.Join(dir, "go.mod"), mod, nil)
	if err != nil {
		return nil, fmt.Errorf("parse module: %w", err)
	}
	m := &module{
		set:      pinned,
		dir:      dir,
		versions: map[string]string{},
		sum:      sha256.Sum256(bytes.Join([][]byte{mod, sum}, []byte{0})),
		sums:     sums,
	}
	for _, r := range file.Require {
		m.versions[r.Mod.Path] = r.Mod.Version
	}
	for _, named := range pinned.named {
		if !semver.IsValid(m.versions[named.path]) {
			return nil, fmt.Errorf("parse module: %s/go.mod requires no version of %s", dir, named.path)
		}
	}
	return m, nil
}

// key names what the module builds to: the same key, the same programs.
func (m *module) key() string {
	hash := sha256.New()
	hash.Write(m.sum[:])
	hash.Write(m.sums)
	fmt.Fprint(hash, m.programs, m.buildFlags())
	key := m.prefix
	for _, named := range m.named {
		key += named.name + "-" + strings.TrimPrefix(m.versions[named.path], "v") + "-"
	}
	return key + runtime.GOOS + "-" + runtime.GOARCH + "-" + hex.EncodeToString(hash.Sum(nil))[:12]
}

// buildFlags returns the flags of go build. Kubernetes learns its own version from the linker, and
// refuses to start without one.
func (m *module) buildFlags() []string {
	version, ofKubernetes := m.versions[kubernetesModule]
	if !ofKubernetes {
		return append([]string{"-trimpath", "-ldflags", "-s -w"}, m.flags...)
	}
	major, minor, _ := strings.Cut(strings.TrimPrefix(semver.MajorMinor(version), "v"), ".")
	const set = " -X k8s.io/component-base/version."
	return []string{
		"-trimpath",
		"-ldflags", "-s -w" + set + "gitVersion=" + version + set + "gitMajor=" + major + set + "gitMinor=" + minor,
	}
}
