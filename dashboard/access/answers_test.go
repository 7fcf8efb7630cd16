package access

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/kube"
)

// vast is an API server whose lists of pods never end, because a tenant can fill a namespace.
type vast struct{}

func (vast) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/api":
		_, _ = io.WriteString(w, `{"kind":"APIVersions","versions":["v1"]}`)
	case r.URL.Path == "/apis":
		_, _ = io.WriteString(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
	case r.URL.Path == "/api/v1":
		_, _ = io.WriteString(w, `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","namespaced":true,"kind":"Pod","verbs":["list","watch"]}]}`)
	default:
		part := strings.Repeat(" ", 1<<20)
		for sent := 0; sent < 4*maxAnswer; sent += len(part) {
			if _, err := io.WriteString(w, part); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w, `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7"}}}`)
	}
}

// TestVastAnswers: a full namespace does not fill the memory of the dashboard, which reads a
// limited part of an answer. A watch may last.
func TestVastAnswers(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(vast{})
	t.Cleanup(server.Close)
	known, err := newPeople(&rest.Config{Host: server.URL}, kube.NewScheme())
	if err != nil {
		t.Fatal(err)
	}
	acts, err := known.client(identity{Name: "mallory"})
	if err != nil {
		t.Fatal(err)
	}
	if err := acts.List(t.Context(), &corev1.PodList{}, client.InNamespace("shop")); !errors.As(err, new(*http.MaxBytesError)) {
		t.Errorf("all of it is read: %v", err)
	}
	events, err := acts.Watch(t.Context(), &corev1.PodList{}, client.InNamespace("shop"))
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	if event := <-events.ResultChan(); event.Type != "BOOKMARK" {
		t.Errorf("a watch ends: %+v", event)
	}
}
