package lookup

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// endless is an API server with more pods than anybody reads, each of them large. It gives as many
// at a time as is requested.
type endless struct {
	client.Reader

	lists *int
}

func (e endless) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	*e.lists++
	var asked client.ListOptions
	asked.ApplyOptions(options)
	from, _ := strconv.Atoi(asked.Continue)
	pods := list.(*corev1.PodList)
	for i := range asked.Limit {
		pods.Items = append(pods.Items, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("web-%d", from+int(i)), Annotations: map[string]string{"large": strings.Repeat("x", 1000)},
				Labels:          map[string]string{"large": strings.Repeat("x", 60), appsv1.ControllerRevisionHashLabelKey: "web-1", corev1.LabelTopologyZone: "a"},
				OwnerReferences: []metav1.OwnerReference{{Name: strings.Repeat("x", 1000)}, {Name: "web", Controller: new(true)}}, Finalizers: []string{"large"},
			},
			Spec: corev1.PodSpec{NodeName: "node-0", Containers: make([]corev1.Container, 1)},
		})
	}
	pods.Continue = strconv.Itoa(from + int(asked.Limit))
	return nil
}

// TestPodsAreReadInPages: however many pods a workload has, and however large they are, reading
// them ends and keeps little.
func TestPodsAreReadInPages(t *testing.T) {
	t.Parallel()
	lists := 0
	var pods corev1.PodList
	if err := (paged{endless{lists: &lists}}).List(t.Context(), &pods, client.InNamespace("shop")); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != mostPods || lists != mostPods/podPage {
		t.Errorf("got %d pods in %d pages", len(pods.Items), lists)
	}
	want := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("web-%d", mostPods-1), OwnerReferences: []metav1.OwnerReference{{Name: "web", Controller: new(true)}},
		Labels: map[string]string{appsv1.ControllerRevisionHashLabelKey: "web-1", corev1.LabelTopologyZone: "a"},
	}, Spec: corev1.PodSpec{NodeName: "node-0"}}
	if diff := cmp.Diff(want, pods.Items[mostPods-1]); diff != "" {
		t.Errorf("the last one (-want +got):\n%s", diff)
	}
}

// vast is an API server whose lists are too large to read.
type vast struct{ client.Reader }

func (vast) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}

func (vast) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return fmt.Errorf("list: %w", &http.MaxBytesError{Limit: 1})
}

// TestLargePartsAreLeftOut: a tenant with large objects hides these from their own page, and
// nothing else: people can still pause the release and roll it back.
func TestLargePartsAreLeftOut(t *testing.T) {
	t.Parallel()
	sight, err := Visible(t.Context(), vast{}, client.ObjectKey{Namespace: "shop", Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(sight.Hidden)
	want := []string{"The gates can't be shown: the answer of the API server is too large.", "The history can't be shown: the answer of the API server is too large."}
	if diff := cmp.Diff(want, sight.Hidden); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
