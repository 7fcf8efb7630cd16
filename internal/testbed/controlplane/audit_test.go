package controlplane

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	getEvent = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"1","stage":"ResponseComplete",` +
		`"requestURI":"/apis/apps/v1/namespaces/shop/deployments/web/status","verb":"get","user":{"username":"admin","groups":["system:masters"]},` +
		`"impersonatedUser":{"username":"jane"},"sourceIPs":["127.0.0.1"],"userAgent":"sluice/v1","objectRef":{"resource":"deployments",` +
		`"namespace":"shop","name":"web","apiGroup":"apps","apiVersion":"v1","subresource":"status"},"responseStatus":{"metadata":{},"code":200},` +
		`"requestReceivedTimestamp":"2026-11-21T03:45:45.852306Z","stageTimestamp":"2026-11-21T03:45:45.853Z"}` + "\n"
	readyzEvent = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","requestURI":"/readyz","verb":"get",` +
		`"user":{"username":"admin"},"userAgent":"curl/8","responseStatus":{"code":500},"requestReceivedTimestamp":"2026-11-21T03:45:46Z"}` + "\n"
	watchEvent = `{"kind":"Event","stage":"ResponseStarted","requestURI":"/api/v1/pods?watch=true","verb":"watch","user":{"username":"admin"},` +
		`"userAgent":"sluice/v1","objectRef":{"resource":"pods"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-11-21T03:45:47Z"}` + "\n"
)

func TestCountRequestsReadsLogs(t *testing.T) {
	t.Parallel()
	get := Request{
		Verb: "get", User: "jane", UserAgent: "sluice/v1", Resource: "deployments/status", Namespace: "shop", Name: "web",
		Code: 200, Received: time.Date(2026, 11, 21, 3, 45, 45, 852306000, time.UTC), Answered: time.Date(2026, 11, 21, 3, 45, 45, 853000000, time.UTC),
	}
	readyz := Request{
		Verb: "get", User: "admin", UserAgent: "curl/8", Resource: "/readyz",
		Code: 500, Received: time.Date(2026, 11, 21, 3, 45, 46, 0, time.UTC),
	}
	watch := Request{
		Verb: "watch", User: "admin", UserAgent: "sluice/v1", Resource: "pods",
		Code: 200, Received: time.Date(2026, 11, 21, 3, 45, 47, 0, time.UTC),
	}
	tests := map[string]struct {
		reason string
		files  map[string]string
		want   []Request
		counts map[string]int
	}{
		"one log": {
			reason: "each line is a request; an impersonated user is whom it was made as",
			files:  map[string]string{"audit.log": getEvent + readyzEvent + watchEvent},
			want:   []Request{get, readyz, watch},
			counts: map[string]int{"get": 2, "watch": 1},
		},
		"rotated": {
			reason: "what the log was rotated to counts as well",
			files: map[string]string{
				"audit-2026-11-21T03-45-46.000.log": getEvent,
				"audit-2026-11-21T03-45-47.000.log": readyzEvent,
				"audit.log":                         watchEvent,
			},
			want:   []Request{get, readyz, watch},
			counts: map[string]int{"get": 2, "watch": 1},
		},
		"being written": {
			reason: "a line without an end is not there yet",
			files:  map[string]string{"audit.log": getEvent + readyzEvent[:100]},
			want:   []Request{get},
			counts: map[string]int{"get": 1},
		},
		"no request yet": {
			reason: "kube-apiserver makes the file with the first request",
			counts: map[string]int{},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, content := range tc.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var seen []Request
			counts, err := Access{AuditLog: filepath.Join(dir, "audit.log")}.CountRequests(func(r Request) bool {
				seen = append(seen, r)
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, seen); diff != "" {
				t.Errorf("%s: requests (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.counts, counts); diff != "" {
				t.Errorf("%s: counts (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
