package podtemplate

import (
	"slices"
	"testing"
)

func TestDropped(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		given, kept string
		want        []string
	}{
		"nothing":               {`{"spec":{"a":1}}`, `{"spec":{"a":1,"b":2}}`, nil},
		"a field":               {`{"spec":{"a":1,"b":{"c":2}}}`, `{"spec":{"a":1}}`, []string{"spec.template.spec.b"}},
		"a field of an item":    {`{"spec":{"containers":[{"n":1},{"n":2,"x":3}]}}`, `{"spec":{"containers":[{"n":1},{"n":2}]}}`, []string{"spec.template.spec.containers[1].x"}},
		"an item":               {`{"spec":{"containers":[1,2]}}`, `{"spec":{"containers":[1]}}`, []string{"spec.template.spec.containers"}},
		"an item that is added": {`{"spec":{"containers":[1]}}`, `{"spec":{"containers":[1,2]}}`, nil},
		"what is empty":         {`{"metadata":{"creationTimestamp":null},"spec":{"a":"","b":[],"c":{},"d":false}}`, `{"spec":{}}`, nil},
		"another value":         {`{"spec":{"cpu":"1000m"}}`, `{"spec":{"cpu":"1"}}`, nil},
	}
	for name, test := range tests {
		if got, err := Dropped([]byte(test.given), []byte(test.kept)); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, test.want)
		}
	}
}
