package approvals

import (
	"crypto/ed25519"
	"encoding/pem"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/proof"
)

func attestationKey(t *testing.T, seed byte) *proof.Key {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.NewChaCha8([32]byte{seed}))
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	key, err := proof.ParseKey(pem.EncodeToMemory(block))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestOwn: a repository gets the statement that the controller has signed about the gate, and
// nothing else that users write into the gate's status.
func TestOwn(t *testing.T) {
	t.Parallel()
	key := attestationKey(t, 1)
	g := &v1alpha1.Gate{Spec: v1alpha1.GateSpec{ReleaseRef: v1alpha1.ReleaseReference{Name: "web", UID: "uid"}, Attempt: 3}}
	g.Namespace, g.Name = "shop", "web-7f9c-3-0-0"
	statement := func(change func(*proof.Statement)) string {
		s := proof.Statement{Commit: strings.Repeat("ab", 20), Source: "shop/main", Release: "shop/web", Gate: g.Name, Attempt: 3}
		s.Predicate.UID = "uid"
		change(&s)
		envelope, err := key.Sign(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(envelope)
	}
	honest := statement(func(*proof.Statement) {})
	for text, want := range map[string]bool{
		honest: true, "": false, "{}": false, strings.Replace(honest, `"sig":"`, `"sig":"A`, 1): false,
		statement(func(s *proof.Statement) { s.Gate = "web-7f9c-3-1-0" }):   false,
		statement(func(s *proof.Statement) { s.Release = "shop/db" }):       false,
		statement(func(s *proof.Statement) { s.Release = "payments/web" }):  false,
		statement(func(s *proof.Statement) { s.Attempt = 2 }):               false,
		statement(func(s *proof.Statement) { s.Predicate.UID = "earlier" }): false,
	} {
		g.Status.Attestation = text
		if _, is := own(g, key); is != want {
			t.Errorf("want own %t, got %t: %s", want, is, text)
		}
	}
	g.Status.Attestation = honest
	if _, is := own(g, attestationKey(t, 2)); is {
		t.Error("want a statement by another key refused")
	}
}
