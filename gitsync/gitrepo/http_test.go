package gitrepo

import (
	"net/http"
	"net/url"
	"testing"
)

// TestRedirectsThatAreFollowed: to the same server only, and never out of TLS.
func TestRedirectsThatAreFollowed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		way      []string
		followed bool
	}{
		"the same server":                {[]string{"https://h/a", "https://h/b"}, true},
		"its port written out":           {[]string{"https://h/a", "https://h:443/b"}, true},
		"the same server without TLS":    {[]string{"http://h/a", "http://h/b"}, true},
		"to TLS":                         {[]string{"http://h/a", "https://h/b"}, true},
		"another host":                   {[]string{"https://h/a", "https://i/a"}, false},
		"another port":                   {[]string{"https://h/a", "https://h:8443/a"}, false},
		"out of TLS":                     {[]string{"https://h/a", "http://h/a"}, false},
		"out of TLS, on the same port":   {[]string{"https://h:8443/a", "http://h:8443/a"}, false},
		"out of TLS, on its port":        {[]string{"https://h/a", "http://h:443/a"}, false},
		"to TLS and out of it":           {[]string{"http://h/a", "https://h/a", "http://h/a"}, false},
		"another protocol":               {[]string{"https://h/a", "file:///a"}, false},
		"another host, some steps later": {[]string{"https://h/a", "https://h/b", "https://i/c"}, false},
		"over and over":                  {[]string{"https://h/1", "https://h/2", "https://h/3", "https://h/4", "https://h/5", "https://h/6", "https://h/7"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var via []*http.Request
			for _, address := range test.way {
				at, err := url.Parse(address)
				if err != nil {
					t.Fatal(err)
				}
				via = append(via, &http.Request{URL: at})
			}
			last := len(via) - 1
			if err := sameOrigin(via[last], via[:last]); (err == nil) != test.followed {
				t.Errorf("want it followed: %t, got %v", test.followed, err)
			}
		})
	}
}
