package gitsync

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/kube"
)

// TestAccountsAreForgotten: who changes the account of a source again and again does not fill the
// controller's memory, and the account that is used has one client.
func TestAccountsAreForgotten(t *testing.T) {
	t.Parallel()
	nowhere := &rest.Config{Host: "http://127.0.0.1:1"}
	own, err := client.New(nowhere, client.Options{Scheme: kube.NewScheme(), Mapper: meta.NewDefaultRESTMapper([]schema.GroupVersion{})})
	if err != nil {
		t.Fatal(err)
	}
	a := newAccounts(own, nowhere)
	used, err := a.client("shop", "used")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 * mostAccounts {
		if _, err := a.client("tenant", fmt.Sprintf("made-up-%d", i)); err != nil {
			t.Fatal(err)
		}
		if again, err := a.client("shop", "used"); again != used || err != nil {
			t.Fatalf("the account in use has another client after %d others: %v", i, err)
		}
	}
	if left := a.clients.Left(); left != 0 {
		t.Errorf("want %d clients kept, and room for %d more", mostAccounts, left)
	}
	if a.clients.Get("system:serviceaccount:tenant:made-up-0") != nil {
		t.Error("the first made-up account is still kept")
	}
}
