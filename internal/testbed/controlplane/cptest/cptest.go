// Package cptest gives tests a real control plane, and each of them a namespace of its own in it.
//
// A package that uses it calls Main from its TestMain. The control plane is the one that the
// environment variable SLUICE_TEST_CONTROLPLANE names: the command
// internal/testbed/controlplane/withcp runs one for all packages of a test run. Without it tests
// use the one that make up has left running, and without that the first test that asks has one
// started for its package. Each has the CRDs in config/crd, and an audit log. With -short there is
// none, and tests that ask for it are skipped.
package cptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// AccessEnv names the environment variable with the path of a saved controlplane.Access: the
// control plane that all tests share.
const AccessEnv = "SLUICE_TEST_CONTROLPLANE"

// A plane is the control plane that this process's tests use.
type plane struct {
	access controlplane.Access
	stop   func() error
}

// stays reports whether the control plane goes on after the test run.
func (p plane) stays() bool { return p.access.Standing != "" }

var (
	// shared is set up by the first test that asks.
	shared = sync.OnceValues(open)
	// used reports whether one did.
	used bool
	// inMain reports whether somebody will stop it.
	inMain bool
	// leftover reports whether a test could not remove what it has made.
	leftover atomic.Bool
)

// Main runs the tests of a package and exits. It stops the control plane if this process started
// one, and leaves that of make up.
func Main(m *testing.M) {
	inMain = true
	code := m.Run()
	if used {
		if p, err := shared(); err == nil {
			if err := p.stop(); err != nil {
				_, _ = os.Stderr.WriteString(err.Error() + "\n")
				code = max(code, 1)
			}
		}
	}
	os.Exit(code)
}

// open finds the control plane that tests share, or starts one.
func open() (plane, error) {
	used = true
	if path := os.Getenv(AccessEnv); path != "" {
		access, err := controlplane.LoadAccess(path)
		if err != nil || access.Standing == "" {
			return plane{access: access, stop: func() error { return nil }}, err
		}
		use, err := access.Enter()
		if err != nil {
			return plane{}, err
		}
		return planeOf(use), nil
	}
	options, err := Options()
	if err != nil {
		return plane{}, err
	}
	standing, err := controlplane.StandingHere(options)
	if err != nil {
		return plane{}, err
	}
	use, unfit, err := standing.Use(context.Background())
	switch {
	case err != nil:
		return plane{}, err
	case use != nil:
		return planeOf(use), nil
	case unfit != "":
		fmt.Fprintf(options.Progress, "the control plane of make up is not used: %s; make up replaces it\n", unfit)
	}
	cp, err := controlplane.Start(context.Background(), options)
	if err != nil {
		return plane{}, err
	}
	return plane{access: cp.Access, stop: cp.Stop}, nil
}

// planeOf returns the control plane of make up. If a test has left something in it, the use does
// not end, and so the next run replaces it.
func planeOf(use *controlplane.Use) plane {
	return plane{access: use.Access, stop: func() error {
		if leftover.Load() {
			return nil
		}
		return use.Leave()
	}}
}

// Options returns how tests have their control plane.
func Options() (controlplane.Options, error) {
	crds, err := controlplane.InCheckout("config/crd")
	if err != nil {
		return controlplane.Options{}, err
	}
	return controlplane.Options{Progress: os.Stderr, Audit: true, Manifests: []string{crds}}, nil
}

// Access returns the way to the control plane.
func Access(tb testing.TB) controlplane.Access {
	tb.Helper()
	if testing.Short() {
		tb.Skip("needs a control plane")
	}
	if !inMain {
		tb.Fatal("call cptest.Main from TestMain: it stops the control plane")
	}
	p, err := shared()
	if err != nil {
		tb.Fatal(err)
	}
	return p.access
}

// Config returns the administrator's client configuration. The test's name is its user agent, by
// which the test finds its requests in the audit log.
func Config(tb testing.TB) *rest.Config {
	tb.Helper()
	cfg, err := Access(tb).Config()
	if err != nil {
		tb.Fatal(err)
	}
	cfg.UserAgent = tb.Name()
	return cfg
}

// Client returns the administrator's, for the types of Kubernetes and of Sluice.
func Client(tb testing.TB) client.Client {
	tb.Helper()
	cfg := Config(tb)
	c, err := client.New(cfg, ClientOptions(tb, cfg))
	if err != nil {
		tb.Fatalf("make client: %v", err)
	}
	return c
}

var (
	// scheme has the types of Kubernetes and of Sluice; it is not changed.
	scheme = sync.OnceValue(kube.NewScheme)
	// mappers know the resources of each control plane, by its address. They ask once for all tests:
	// there are hundreds.
	mappers struct {
		sync.Mutex
		byHost map[string]meta.RESTMapper
	}
)

// ClientOptions returns those of a client of Kubernetes and of Sluice. Clients of a control plane
// share what they know of its resources.
func ClientOptions(tb testing.TB, cfg *rest.Config) client.Options {
	tb.Helper()
	mappers.Lock()
	defer mappers.Unlock()
	if mappers.byHost == nil {
		mappers.byHost = map[string]meta.RESTMapper{}
	}
	if mappers.byHost[cfg.Host] == nil {
		through, err := rest.HTTPClientFor(cfg)
		if err != nil {
			tb.Fatalf("make client: %v", err)
		}
		mapper, err := apiutil.NewDynamicRESTMapper(cfg, through)
		if err != nil {
			tb.Fatalf("make client: %v", err)
		}
		mappers.byHost[cfg.Host] = mapper
	}
	return client.Options{Scheme: scheme(), Mapper: mappers.byHost[cfg.Host]}
}

// Namespace creates a namespace, named after the test, in which pods can be created. At the end of
// the test it removes all objects, whatever their finalizers, and logs them if the test failed.
func Namespace(tb testing.TB) string {
	tb.Helper()
	cfg := Config(tb)
	clients, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	sweeper, err := metadata.NewForConfig(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	namespace, err := clients.CoreV1().Namespaces().Create(tb.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: namePrefix(tb.Name())},
	}, metav1.CreateOptions{})
	if err != nil {
		tb.Fatalf("create namespace: %v", err)
	}
	name := namespace.Name
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("namespace %s:\n%s", name, describe(tb, name))
		}
		if err := clear(context.Background(), sweeper, name); err != nil { // the context of the test has ended
			leftover.Store(true)
			tb.Errorf("clean namespace %s up: %v", name, err)
		}
	})
	Eventually(tb, 2*time.Minute, func() error {
		return controlplane.ServiceAccountExists(tb.Context(), clients, name)
	})
	return name
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// namePrefix makes a prefix of names out of a test's name.
func namePrefix(test string) string {
	name := notInNames.ReplaceAllString(strings.ToLower(strings.TrimPrefix(test, "Test")), "-")
	return strings.Trim(name[:min(len(name), 40)], "-") + "-"
}

// describe lists what a namespace holds, as far as it can be had.
func describe(tb testing.TB, namespace string) []byte {
	tb.Helper()
	const kinds = "deployments,replicasets,pods,batchreleases,gates,releasesources,events"
	out, err := Access(tb).Kubectl(context.Background(), "get", kinds, "--namespace", namespace).CombinedOutput()
	if err != nil {
		out = append(out, err.Error()...)
	}
	return out
}

// A condition mostly reads from the API server, which costs more than what is waited for when many
// tests wait at a time. What takes a second is noticed a tenth of a second later.
const shortestPause, longestPause = 20 * time.Millisecond, 100 * time.Millisecond

// Eventually polls until the condition returns nil, and fails the test with what it returned last
// if that takes too long. The condition's error says what was wanted and what was found.
func Eventually(tb testing.TB, within time.Duration, condition func() error) {
	tb.Helper()
	deadline := time.After(within)
	for pause := shortestPause; ; pause = min(pause*5/4, longestPause) {
		err := condition()
		if err == nil {
			return
		}
		select {
		case <-time.After(pause):
		case <-deadline:
			tb.Fatalf("not within %v: %v", within, err)
		}
	}
}

// Decode reads the objects of a text of YAML documents.
func Decode(tb testing.TB, text string) []*unstructured.Unstructured {
	tb.Helper()
	var objects []*unstructured.Unstructured
	for documents := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(text), len(text)); ; {
		object := &unstructured.Unstructured{}
		switch err := documents.Decode(object); {
		case errors.Is(err, io.EOF):
			return objects
		case err != nil:
			tb.Fatalf("decode: %v", err)
		case len(object.Object) > 0:
			objects = append(objects, object)
		}
	}
}

// Kubectl runs kubectl as the administrator and returns what it printed. It fails the test if
// kubectl fails.
func Kubectl(tb testing.TB, args ...string) string {
	tb.Helper()
	var stdout, stderr bytes.Buffer
	cmd := Access(tb).Kubectl(tb.Context(), args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		tb.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String()
}
