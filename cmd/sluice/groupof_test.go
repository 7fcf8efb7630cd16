package main

import "testing"

func TestGroupOf(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://gitlab.com/example/apps/shop.git": "example/apps", "https://gitlab.com/example/shop": "example",
		"git@gitlab.com:example/apps/shop.git": "example/apps", "ssh://git@gitlab.com:22/example/shop.git": "example",
		"https://gitlab.com/": "", "": "", "shop": "",
	} {
		if got := groupOf(address); got != want {
			t.Errorf("%q: got %q, want %q", address, got, want)
		}
	}
}
