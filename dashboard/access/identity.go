package access

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
)

// identity is a person as the API server should see them.
type identity struct {
	Name   string              `json:"n"`
	UID    string              `json:"u,omitempty"`
	Groups []string            `json:"g,omitempty"`
	Extra  map[string][]string `json:"e,omitempty"`
}

const (
	// reserved begins the names of Kubernetes' own parts.
	reserved       = "system:"
	accountPrefix  = "system:serviceaccount:"
	accountsGroup  = "system:serviceaccounts"
	everybodyGroup = "system:authenticated"
	// credentialExtra begins the attributes that describe a token, and not its owner: the dashboard
	// does not act by that token.
	credentialExtra = "authentication.kubernetes.io/"
)

// Limits of an identity. A session also has to fit into a cookie.
const (
	maxText   = 512
	maxGroups = 1000
	maxExtra  = 20
)

// refusal is the reason why somebody is not let in, in words for them.
type refusal struct{ why string }

func (r *refusal) Error() string { return r.why }

func refuse(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }

// admit returns a person as they are impersonated, or why they are not let in. A service account is
// impersonated only by its name: the API server knows its groups. The API server adds groups that
// everybody is in.
func admit(who identity) (identity, error) {
	if err := who.wellFormed(); err != nil {
		return identity{}, err
	}
	if strings.HasPrefix(who.Name, accountPrefix) {
		return admitAccount(who)
	}
	if strings.HasPrefix(who.Name, reserved) {
		return identity{}, refuse("%s is a part of Kubernetes. Log in as a person or as a service account.", who.Name)
	}
	extra, err := ownExtra(who.Extra)
	if err != nil {
		return identity{}, err
	}
	admitted := identity{Name: who.Name, UID: who.UID, Groups: ownGroups(who.Groups), Extra: extra}
	for _, group := range admitted.Groups {
		if strings.HasPrefix(group, reserved) {
			return identity{}, refuse("%s is in the group %s, and the dashboard acts for no member of that group. Log in as somebody else.", who.Name, group)
		}
	}
	return admitted, nil
}

// admitAccount returns admit for a service account.
func admitAccount(who identity) (identity, error) {
	namespace, name, _ := strings.Cut(strings.TrimPrefix(who.Name, accountPrefix), ":")
	if len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return identity{}, refuse("%s is not the name of a service account.", who.Name)
	}
	for _, group := range ownGroups(who.Groups) {
		if group != accountsGroup && group != accountsGroup+":"+namespace {
			return identity{}, refuse("%s is in the group %s, which is not a group of service accounts.", who.Name, group)
		}
	}
	return identity{Name: who.Name}, nil
}

// ownGroups returns the groups that the API server does not add by itself, in order and each once.
// OpenShift has everybodyGroup:oauth.
func ownGroups(all []string) []string {
	var own []string
	for _, group := range all {
		if group != everybodyGroup && !strings.HasPrefix(group, everybodyGroup+":") {
			own = append(own, group)
		}
	}
	slices.Sort(own)
	return slices.Compact(own)
}

// ownExtra returns the attributes of a person: some authorizers limit rights by them, so none may
// be left out. Their names are in lower case, as the API server reads them from the headers of an
// impersonation; an EKS login has others.
func ownExtra(all map[string][]string) (map[string][]string, error) {
	var own map[string][]string
	for key, values := range all {
		if strings.HasPrefix(key, credentialExtra) || len(values) == 0 {
			continue
		}
		if own == nil {
			own = map[string][]string{}
		}
		lower := strings.ToLower(key)
		if _, twice := own[lower]; twice {
			return nil, refuse("The login has two attributes that differ only in case: %.60q. The API server can't tell them apart when the dashboard acts as somebody.", lower)
		}
		own[lower] = values
	}
	return own, nil
}

// wellFormed refuses texts that would change as headers, and so name somebody else: HTTP trims
// spaces and ends a value at the end of the line.
func (who identity) wellFormed() error {
	if who.Name == "" {
		return refuse("The login has no user name.")
	}
	if len(who.Groups) > maxGroups || len(who.Extra) > maxExtra {
		return refuse("The login has %d groups and %d attributes; at most %d and %d are allowed. %s", len(who.Groups), len(who.Extra), maxGroups, maxExtra, tooManyHint)
	}
	texts := append([]string{who.Name}, who.Groups...)
	if who.UID != "" {
		texts = append(texts, who.UID)
	}
	for key, values := range who.Extra {
		texts = append(append(texts, key), values...)
	}
	for _, text := range texts {
		if !plainText(text) {
			return refuse("The login has a name, group or attribute that is empty, longer than %d bytes, has a space at an end, or a character that can't be printed: %.60q", maxText, text)
		}
	}
	return nil
}

// plainText reports whether a text arrives in a header as it was sent.
func plainText(text string) bool {
	return text != "" && len(text) <= maxText && utf8.ValidString(text) && strings.TrimSpace(text) == text &&
		strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
