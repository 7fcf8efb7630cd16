package github

import "testing"

// TestGitHost: credentials go to the server of the API, whatever it is called.
func TestGitHost(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"":                                  "github.com",
		"https://github.com":                "github.com",
		"https://api.octo.ghe.com":          "octo.ghe.com",
		"https://git.example.com:8443":      "git.example.com:8443",
		"https://git.example.com/api/v3":    "git.example.com",
		"https://api.example.com/api/v3/":   "api.example.com",
		"https://api.example.com:80/api/v3": "api.example.com:80",
	} {
		api, err := apiURL(address, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := gitHost(api); got != want {
			t.Errorf("%s: want %s, got %s", address, want, got)
		}
	}
}
