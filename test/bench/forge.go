package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// The repository on the forge, and those who have an account there.
const (
	shopOwner, shopName = "bench", "shop"
	shopSource          = "shop"
	// developer pushes, approver merges, and Sluice acts as releaser.
	developer, approver, releaser = "ada", "grace", "sluice"
)

const shopRepository = shopOwner + "/" + shopName

// rights are what a token is good for; one that is not named may do all that its account may.
var rights = map[string]devforge.Permissions{
	releaser: {"contents": "write", "pull_requests": "write", "statuses": "write"},
}

// shop is a release on a forge that tells the controller by webhooks what happens.
type shop struct {
	*lab
	fleet fleet
	log   *watchLog
	forge *devforge.Forge
	bell  *doorbell
	work  *clone
	// running is the controller.
	running *controller
	// tokens of all accounts, by name.
	tokens map[string]string
	stops  []func() error
}

// inShop runs an experiment on a release that has been deployed, and whose forge has come to rest.
func (f fleet) inShop(ctx context.Context, l *lab, experiment func(*shop) error) (err error) {
	s := &shop{lab: l, fleet: f, tokens: map[string]string{}}
	defer func() {
		for i := range s.stops {
			err = errors.Join(err, s.stops[len(s.stops)-1-i]())
		}
	}()
	for _, open := range []func(context.Context) error{s.openForge, s.openController, s.openSource, s.firstRelease} {
		if err := open(ctx); err != nil {
			return err
		}
	}
	return experiment(s)
}

// openForge seeds a private repository and invites everybody to it.
func (s *shop) openForge(ctx context.Context) error {
	dir := filepath.Join(s.logs, fmt.Sprintf("shop-%d", s.labs.Load()))
	forge, err := devforge.Start(ctx, devforge.Options{Dir: filepath.Join(dir, "forge")})
	if err != nil {
		return fmt.Errorf("start forge: %w", err)
	}
	s.forge = forge
	s.stops = append(s.stops, forge.Close)
	seed := filepath.Join(dir, "seed")
	write := s.fleet.writeFiles
	if s.fleet.git != firstInGit {
		write = s.fleet.writeFleet
	}
	if err := write(seed); err != nil {
		return err
	}
	if err := forge.CreateRepository(ctx, shopRepository, branch, os.DirFS(seed)); err != nil {
		return fmt.Errorf("seed repository: %w", err)
	}
	for _, name := range []string{developer, approver, releaser} {
		if s.tokens[name], err = invite(forge, name); err != nil {
			return fmt.Errorf("invite %s: %w", name, err)
		}
	}
	address, err := url.Parse(forge.CloneURL(shopRepository))
	if err != nil {
		return fmt.Errorf("read address: %w", err)
	}
	address.User = url.UserPassword(developer, s.tokens[developer])
	s.work, err = gitClone(ctx, address.String(), filepath.Join(dir, "work"))
	return err
}

// invite makes an account that may write to the repository, and a token for it.
func invite(forge *devforge.Forge, name string) (string, error) {
	if _, err := forge.CreateUser(name); err != nil {
		return "", err
	}
	if err := forge.Grant(shopRepository, name, devforge.RoleWrite); err != nil {
		return "", err
	}
	return forge.CreateToken(name, rights[name])
}

// shopDeployment is the file that a developer changes.
const shopDeployment = "deployment.yaml"

// writeFiles writes the manifests of the fleet's first Deployment and of its release.
func (f fleet) writeFiles(dir string) error {
	steps, err := json.Marshal(f.steps)
	if err != nil {
		return fmt.Errorf("encode steps: %w", err)
	}
	release := fmt.Sprintf(`apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata: {name: %[1]s}
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: %[1]s}
  strategy: {steps: %[2]s}
`, f.names()[0], steps)
	return errors.Join(
		writeFile(filepath.Join(dir, "release.yaml"), release),
		writeFile(filepath.Join(dir, shopDeployment), f.manifest(1)),
	)
}

// versionAnnotation on pods tells those of one version from others.
const versionAnnotation = "bench.sluice.dev/version"

// manifest returns the fleet's first Deployment. Its pods are ready at once.
func (f fleet) manifest(version int) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}, annotations: {%[3]s: "0s", %[4]s: "%[5]d"}}
    spec: {containers: [{name: app, image: %[6]q}]}
`, f.names()[0], f.pods, controlplane.ReadyDelayAnnotation, versionAnnotation, version, image(version))
}

// openController starts the controller with a door for webhooks, and a bell on it.
func (s *shop) openController(ctx context.Context) error {
	var err error
	if s.log, err = s.watch(ctx, append(everything(), &v1alpha1.ReleaseSourceList{}, &v1alpha1.GateList{})...); err != nil {
		return err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	s.bell = newDoorbell(address)
	s.stops = append(s.stops, s.bell.close)
	running, err := s.startController(ctx, "--git-allow-http", "--git-allowed-networks=127.0.0.0/8", "--forge-allow-http", "--webhook-address", address)
	if err != nil {
		return err
	}
	s.running = running
	s.stops = append(s.stops, running.stop)
	return nil
}

// openSource points a source at the repository and the repository's webhooks at it.
func (s *shop) openSource(ctx context.Context) error {
	hookSecret, token := rand.Text(), s.tokens[releaser]
	for _, object := range []client.Object{
		secretNamed("forge", map[string]string{"username": releaser, "password": token, "token": token}),
		secretNamed("webhook", map[string]string{"secret": hookSecret}),
		&v1alpha1.ReleaseSource{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: shopSource},
			Spec: v1alpha1.ReleaseSourceSpec{
				URL: s.forge.CloneURL(shopRepository), Ref: v1alpha1.GitReference{Branch: branch},
				Interval:         metav1.Duration{Duration: time.Hour},
				SecretRef:        &v1alpha1.LocalReference{Name: "forge"},
				WebhookSecretRef: &v1alpha1.LocalReference{Name: "webhook"},
				Forge:            s.fleet.forgeOf(s.forge),
			},
		},
	} {
		if err := s.client.Create(ctx, object); err != nil {
			return fmt.Errorf("create %s: %w", object.GetName(), err)
		}
	}
	_, err := s.forge.AddHook(ctx, shopRepository, devforge.Hook{
		URL: s.bell.URL + "/hooks/" + namespace + "/" + shopSource, Secret: hookSecret,
	})
	if err != nil {
		return fmt.Errorf("add webhook: %w", err)
	}
	return nil
}

// forgeOf returns the forge as a source knows it; nil if it does not.
func (f fleet) forgeOf(forge *devforge.Forge) *v1alpha1.Forge {
	if f.git != firstInGit && !f.forge {
		return nil
	}
	return &v1alpha1.Forge{
		BaseURL: forge.URL(), Owner: shopOwner, Repo: shopName, SecretRef: v1alpha1.LocalReference{Name: "forge"},
	}
}

func secretNamed(name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: data}
}

// firstRelease waits until what the repository was seeded with runs and is fully reported.
func (s *shop) firstRelease(ctx context.Context) error {
	if _, err := s.log.await(ctx, s.fleet.releases(), released(1)); err != nil {
		return err
	}
	return pass(ctx, settle)
}

// push publishes a version, on top of what was merged meanwhile, and returns its commit.
func (s *shop) push(ctx context.Context, version int) (string, error) {
	if _, err := s.work.git(ctx, "pull", "--quiet", "--ff-only"); err != nil {
		return "", err
	}
	return s.work.push(ctx, shopDeployment, s.fleet.manifest(version))
}

// merge merges a pull request as a person does who may.
func (s *shop) merge(ctx context.Context, number int64) error {
	address := fmt.Sprintf("%srepos/%s/pulls/%d/merge", s.forge.APIURL(), shopRepository, number)
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, address, bytes.NewReader([]byte("{}")))
	if err != nil {
		return fmt.Errorf("merge #%d: %w", number, err)
	}
	request.Header.Set("Authorization", "Bearer "+s.tokens[approver])
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("merge #%d: %w", number, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(answer.Body)
		return fmt.Errorf("merge #%d: %s: %s", number, answer.Status, said)
	}
	return nil
}

// doorbell passes webhooks on to the controller and notes when those of pushes came.
type doorbell struct {
	*httptest.Server

	mu    sync.Mutex
	rings map[string]ring // by commit
}

// ring is the webhook of one push.
type ring struct {
	came     time.Time
	answered time.Duration
}

func newDoorbell(address string) *doorbell {
	d := &doorbell{rings: map[string]ring{}}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		came := time.Now()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
		var push struct {
			After string `json:"after"`
		}
		if r.Header.Get("X-Github-Event") == "push" && json.Unmarshal(body, &push) == nil {
			d.note(push.After, ring{came: came, answered: time.Since(came)})
		}
	}))
	return d
}

func (d *doorbell) close() error {
	d.Close()
	return nil
}

func (d *doorbell) note(commit string, r ring) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, before := d.rings[commit]; !before {
		d.rings[commit] = r
	}
}

// of waits for the webhook of a push.
func (d *doorbell) of(ctx context.Context, commit string) (r ring, err error) {
	err = poll(ctx, func(context.Context) bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		var came bool
		r, came = d.rings[commit]
		return came
	})
	if err != nil {
		return r, fmt.Errorf("wait for the webhook of %s: %w", commit, err)
	}
	return r, nil
}
