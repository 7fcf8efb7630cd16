package examples_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestManifestsHoldKnownFieldsOnly reads each manifest as a client would.
func TestManifestsHoldKnownFieldsOnly(t *testing.T) {
	t.Parallel()
	for _, file := range manifestFiles(t) {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			if len(objectsIn(t, file)) == 0 {
				t.Error("an example must hold an object")
			}
		})
	}
}

// TestTheAPIServerTakesEachManifest applies each of them to a real one, as a dry run.
func TestTheAPIServerTakesEachManifest(t *testing.T) {
	t.Parallel()
	server := strictServer(t)
	for _, file := range manifestFiles(t) {
		for _, document := range documentsIn(t, file) {
			if err := server.Create(t.Context(), asApplied(t, document), client.DryRunAll); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// strictServer refuses what it does not know, in a namespace of its own.
func strictServer(t *testing.T) client.Client {
	t.Helper()
	cptest.GatewayAPI(t)
	server, err := client.New(cptest.Config(t), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return client.WithFieldValidation(client.NewNamespacedClient(server, cptest.Namespace(t)), metav1.FieldValidationStrict)
}

func objectOf(t *testing.T, document []byte) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := sigsyaml.Unmarshal(document, &object.Object); err != nil {
		t.Fatalf("%v in:\n%s", err, document)
	}
	return object
}

// asApplied returns an object as a ReleaseSource applies it: a member of a train has steps of the
// train.
func asApplied(t *testing.T, document []byte) *unstructured.Unstructured {
	t.Helper()
	object := objectOf(t, document)
	_, member, _ := unstructured.NestedMap(object.Object, "spec", "workloadRef")
	_, steps, _ := unstructured.NestedSlice(object.Object, "spec", "strategy", "steps")
	if object.GetKind() == "BatchRelease" && member && !steps {
		all := []any{map[string]any{"replicas": "100%"}}
		if err := unstructured.SetNestedSlice(object.Object, all, "spec", "strategy", "steps"); err != nil {
			t.Fatal(err)
		}
	}
	return object
}

// TestMain has all tests look from where the examples are.
func TestMain(m *testing.M) {
	if err := os.Chdir("../../examples"); err != nil {
		panic(err)
	}
	cptest.Main(m)
}

// manifestFiles returns the YAML files of the examples.
func manifestFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch entry.Name() {
		case ".github", "kustomize", "notices", "chart": // what CI, kustomize, the controller or Helm reads is not a manifest
			return fs.SkipDir
		}
		if filepath.Ext(path) == ".yaml" {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("there are more examples than were found: %v", files)
	}
	return files
}

// objectsIn decodes the documents of a file; a field that is not known, or given twice, is an
// error.
func objectsIn(t *testing.T, file string) []client.Object {
	t.Helper()
	scheme := testScheme(t)
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true})
	var objects []client.Object
	for _, document := range documentsIn(t, file) {
		object, _, err := strict.Decode(document, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		objects = append(objects, object.(client.Object))
	}
	return objects
}

func documentsIn(t *testing.T, file string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	var documents [][]byte
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return documents
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		documents = append(documents, document)
	}
}

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, corev1.AddToScheme, rbacv1.AddToScheme, gatewayv1.Install, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}
