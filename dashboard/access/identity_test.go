package access

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAdmit: who is let in, as whom, and who is not.
func TestAdmit(t *testing.T) {
	t.Parallel()
	account := "system:serviceaccount:shop:ci"
	cases := map[string]struct {
		reason  string
		who     identity
		want    identity
		refused bool
	}{
		"Person":    {"a person is", identity{Name: "ada", Groups: []string{"ops", "dev", "ops", "system:authenticated"}}, identity{Name: "ada", Groups: []string{"dev", "ops"}}, false},
		"OpenShift": {"everybody there is in a group of theirs", identity{Name: "ada", Groups: []string{"system:authenticated:oauth", "system:authenticated"}}, identity{Name: "ada"}, false},
		"Scopes": {"attributes may narrow rights", identity{Name: "ada", UID: "1", Extra: map[string][]string{
			"scopes.authorization.openshift.io": {"user:info"}, "authentication.kubernetes.io/credential-id": {"JTI=1"},
		}}, identity{Name: "ada", UID: "1", Extra: map[string][]string{"scopes.authorization.openshift.io": {"user:info"}}}, false},
		"Account": {"an account is its name", identity{Name: account, UID: "1", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"}}, identity{Name: account}, false},

		"Masters":        {"they may do all", identity{Name: "ada", Groups: []string{"dev", "system:masters"}}, identity{}, true},
		"Nodes":          {"Kubernetes' own", identity{Name: "system:node:a", Groups: []string{"system:nodes"}}, identity{}, true},
		"Anonymous":      {"nobody", identity{Name: "system:anonymous"}, identity{}, true},
		"Unauthentic":    {"nobody", identity{Name: "ada", Groups: []string{"system:unauthenticated"}}, identity{}, true},
		"Controllers":    {"Kubernetes' own", identity{Name: "system:kube-controller-manager"}, identity{}, true},
		"AccountGroup":   {"a person is no account", identity{Name: "ada", Groups: []string{"system:serviceaccounts:kube-system"}}, identity{}, true},
		"AccountMasters": {"an account is in its groups alone", identity{Name: account, Groups: []string{"system:masters"}}, identity{}, true},
		"AccountOther":   {"an account is in its groups alone", identity{Name: account, Groups: []string{"system:serviceaccounts:kube-system"}}, identity{}, true},
		"AccountPerson":  {"an account is in its groups alone", identity{Name: account, Groups: []string{"dev"}}, identity{}, true},
		"AccountHalf":    {"no name of an account", identity{Name: "system:serviceaccount:shop"}, identity{}, true},
		"AccountPath":    {"no name of an account", identity{Name: "system:serviceaccount:shop:../ci"}, identity{}, true},
		"AccountMore":    {"no name of an account", identity{Name: "system:serviceaccount:shop:ci:x"}, identity{}, true},

		"Empty":      {"nobody", identity{}, identity{}, true},
		"SpaceAfter": {"HTTP would make another name of it", identity{Name: "root "}, identity{}, true},
		"SpaceGroup": {"HTTP would make another group of it", identity{Name: "ada", Groups: []string{" system:masters"}}, identity{}, true},
		"Tab":        {"HTTP would make another name of it", identity{Name: "root\t"}, identity{}, true},
		"Line":       {"HTTP would make two headers of it", identity{Name: "ada\r\nImpersonate-Group: system:masters"}, identity{}, true},
		"Zero":       {"no character", identity{Name: "ada\x00"}, identity{}, true},
		"Invisible":  {"it looks as another name", identity{Name: "ada\u200b"}, identity{}, true},
		"Bytes":      {"no text", identity{Name: "ada\xff"}, identity{}, true},
		"EmptyGroup": {"no group", identity{Name: "ada", Groups: []string{""}}, identity{}, true},
		"ExtraTwice": {"the API server would merge them", identity{Name: "ada", Extra: map[string][]string{"Scope": {"a"}, "scope": {"b"}}}, identity{}, true},
		"Extra":      {"HTTP would make another value of it", identity{Name: "ada", Extra: map[string][]string{"scopes": {"user:info "}}}, identity{}, true},
		"UID":        {"HTTP would make another one of it", identity{Name: "ada", UID: "1 "}, identity{}, true},
		"Long":       {"too much", identity{Name: strings.Repeat("x", maxText+1)}, identity{}, true},
		"Many":       {"too much", identity{Name: "ada", Groups: make([]string, maxGroups+1)}, identity{}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := admit(tc.who)
			var why *refusal
			if tc.refused != errors.As(err, &why) {
				t.Fatalf("%s: got %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if err != nil {
				return
			}
			if again, err := admit(got); err != nil || !cmp.Equal(again, got) {
				t.Errorf("%s: admitted again: %+v, %v", tc.reason, again, err)
			}
		})
	}
}
