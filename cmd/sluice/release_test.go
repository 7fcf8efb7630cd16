package main

import (
	"errors"
	"testing"
)

// TestReleaseName: releases are named as kubectl names objects.
func TestReleaseName(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		args   []string
		want   string
		wrong  bool
	}{
		"Name":      {"a name alone is that of a release", []string{"web"}, "web", false},
		"Kind":      {"with its kind", []string{"batchrelease/web"}, "web", false},
		"ShortKind": {"or its short name", []string{"br/web"}, "web", false},
		"FullKind":  {"or as -o name prints it", []string{"batchrelease.rollouts.sluice.dev/web"}, "web", false},
		"None":      {"none is for the only one", nil, "", false},
		"Other":     {"another kind is no release", []string{"deployment/web"}, "", true},
		"Empty":     {"a kind alone names nothing", []string{"batchrelease/"}, "", true},
		"Slashes":   {"nor does a path", []string{"br/shop/web"}, "", true},
		"Two":       {"verbs are about one release", []string{"web", "api"}, "", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := releaseName(tc.args)
			if got != tc.want || errors.As(err, new(usageError)) != tc.wrong {
				t.Errorf("%s: want %q, wrong %t, got %q, %v", tc.reason, tc.want, tc.wrong, got, err)
			}
		})
	}
}
