package gitsync_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync"
)

// TestServiceAccountTokenIsNotSent: Anyone who may write a source must not get the token of an
// account of the namespace sent to a server of theirs.
func TestServiceAccountTokenIsNotSent(t *testing.T) {
	w := newWorld(t)
	var requests atomic.Int64
	theirs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(theirs.Close)
	w.create(
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "admin"}},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: w.namespace, Name: "admin-token", Annotations: map[string]string{corev1.ServiceAccountNameKey: "admin"},
			},
			Type: corev1.SecretTypeServiceAccountToken,
			Data: map[string][]byte{"bearerToken": []byte("t"), "password": []byte("t"), corev1.ServiceAccountTokenKey: []byte("t")},
		},
	)
	w.controller(gitsync.Options{})
	w.source(func(s *v1alpha1.ReleaseSource) {
		s.Spec.URL = theirs.URL + "/x"
		s.Spec.SecretRef = &v1alpha1.LocalReference{Name: "admin-token"}
	})
	w.wantReady(w.sync("shop"), v1alpha1.ReasonInvalidSecret, "kubernetes.io/service-account-token", "type Opaque")
	if requests.Load() > 0 {
		t.Error("the server was asked")
	}
}
