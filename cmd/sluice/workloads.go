package main

import (
	"fmt"
	"strings"

	"github.com/sluice-dev/sluice/internal/kinds"
)

// workloadKind returns the kind that a user wrote; empty if it can't be released.
func workloadKind(text string) string {
	if kind := kinds.Written(text); kind != nil {
		return kind.Name
	}
	return ""
}

// workloadName splits NAME or KIND/NAME. The kind is empty where there is none.
func workloadName(text string) (kind, name string, err error) {
	before, name, found := strings.Cut(text, "/")
	if !found {
		return "", text, nil
	}
	kind = workloadKind(before)
	if kind == "" || name == "" || strings.Contains(name, "/") {
		forms := []string{"NAME"}
		for _, kind := range kinds.Names() {
			forms = append(forms, strings.ToLower(kind)+"/NAME")
		}
		return "", "", fmt.Errorf("%q does not name a workload: write %s", text, kinds.List(forms))
	}
	return kind, name, nil
}
