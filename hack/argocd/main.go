// Command argocd applies a manifest as Argo CD does, by its GitOps engine. It is for tests: Argo
// CD's own controller also needs its server of repositories and Redis.
//
// For each line that it reads, it applies the file once and prints a line: the differences that
// Argo CD shows before that, by its diff and by its server-side diff, and how the sync ends.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/cache"
	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/diff"
	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/engine"
	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/utils/kube"
	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/utils/tracing"
	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

const manager = "argocd-controller"

// answer says how one sync went.
type answer struct {
	// Client and Server have the live object and what Argo CD expects of it where these differ, by
	// its two kinds of diff.
	Client, Server *difference `json:",omitempty"`
	// Results has the result of each object, and Error what the sync failed with.
	Results []string
	Error   string `json:",omitempty"`
}

type difference struct{ Live, Predicted json.RawMessage }

// syncer applies a file.
type syncer struct {
	engine     engine.GitOpsEngine
	config     *rest.Config
	file       string
	namespace  string
	serverSide bool
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	kubeconfig := flag.String("kubeconfig", "", "path of the kubeconfig")
	s := syncer{}
	flag.StringVar(&s.namespace, "namespace", "", "namespace of the object")
	flag.StringVar(&s.file, "file", "", "path of the manifest")
	flag.BoolVar(&s.serverSide, "server-side", false, "apply with ServerSideApply=true")
	flag.Parse()
	var err error
	if s.config, err = clientcmd.BuildConfigFromFlags("", *kubeconfig); err != nil {
		return err
	}
	objects := cache.NewClusterCache(s.config, cache.SetNamespaces([]string{s.namespace}),
		cache.SetPopulateResourceInfoHandler(func(*unstructured.Unstructured, bool) (any, bool) { return nil, true }))
	s.engine = engine.NewEngine(s.config, objects)
	stop, err := s.engine.Run()
	if err != nil {
		return err
	}
	defer stop()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if err := json.NewEncoder(os.Stdout).Encode(s.sync(ctx, lines.Text())); err != nil {
			return err
		}
	}
	return lines.Err()
}

// sync compares and applies the file.
func (s syncer) sync(ctx context.Context, revision string) answer {
	var a answer
	if err := s.try(ctx, revision, &a); err != nil {
		a.Error = err.Error()
	}
	return a
}

func (s syncer) try(ctx context.Context, revision string, a *answer) error {
	text, err := os.ReadFile(s.file)
	if err != nil {
		return err
	}
	target := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &target.Object); err != nil {
		return err
	}
	key := kube.GetResourceKey(target)
	ours := func(r *cache.Resource) bool { return r.ResourceKey() == key }
	if err := s.compare(ctx, target, a); err != nil {
		return err
	}
	results, err := s.engine.Sync(ctx, []*unstructured.Unstructured{target.DeepCopy()}, ours, revision, s.namespace,
		sync.WithServerSideApply(s.serverSide), sync.WithServerSideApplyManager(manager))
	for _, result := range results {
		a.Results = append(a.Results, fmt.Sprintf("%s: %s", result.Status, result.Message))
		if result.Status != "Synced" {
			err = errors.Join(err, fmt.Errorf("%s: %s", result.ResourceKey, result.Message))
		}
	}
	return err
}

// compare fills in the differences of the two kinds of diff. It reads the object itself, as the
// engine's cache may not show yet what the last sync wrote.
func (s syncer) compare(ctx context.Context, target *unstructured.Unstructured, a *answer) error {
	kubectl := &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}
	live, err := kubectl.GetResource(ctx, s.config, target.GroupVersionKind(), target.GetName(), s.namespace)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	_, parser, err := kubectl.LoadOpenAPISchema(s.config)
	if err != nil {
		return err
	}
	applier, closing, err := kubectl.ManageServerSideDiffDryRuns(s.config)
	if err != nil {
		return err
	}
	defer closing()
	client, err := diff.Diff(ctx, target.DeepCopy(), live.DeepCopy(), diff.WithGVKParser(parser), diff.WithManager(manager))
	if err != nil {
		return err
	}
	server, err := diff.Diff(ctx, target.DeepCopy(), live.DeepCopy(), diff.WithGVKParser(parser), diff.WithManager(manager),
		diff.WithServerSideDiff(true), diff.WithServerSideDryRunner(diff.NewK8sServerSideDryRunner(applier)))
	if err != nil {
		return err
	}
	a.Client, a.Server = differing(client), differing(server)
	return nil
}

// differing returns a difference; nil if there is none.
func differing(r *diff.DiffResult) *difference {
	if !r.Modified {
		return nil
	}
	return &difference{Live: r.NormalizedLive, Predicted: r.PredictedLive}
}
