package subset

import (
	"encoding/json"
	"testing"
)

func TestOf(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		part, whole string
		want        bool
	}{
		"the same":                        {`{"a":[1,"x"]}`, `{"a":[1,"x"]}`, true},
		"a field that was filled in":      {`{"a":{"b":1}}`, `{"a":{"b":1,"c":2},"d":3}`, true},
		"nothing":                         {`null`, `{"a":1}`, true},
		"null":                            {`{"a":null}`, `{}`, true},
		"nothing of an object that lacks": {`{"a":{}}`, `{}`, true},
		"another value":                   {`{"a":1}`, `{"a":2}`, false},
		"a field that is missing":         {`{"a":1}`, `{"b":1}`, false},
		"another type":                    {`{"a":{"b":1}}`, `{"a":[1]}`, false},
		"no list":                         {`{"a":[1]}`, `{"a":1}`, false},
		"a longer list":                   {`[1,2]`, `[1]`, false},
		"a shorter list":                  {`[1]`, `[1,2]`, false},
		"an element that was filled in":   {`[{"a":1}]`, `[{"a":1,"b":2}]`, true},
		"elements in another order":       {`[1,2]`, `[2,1]`, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Of(decode(t, test.part), decode(t, test.whole)); got != test.want {
				t.Errorf("Of(%s, %s) = %t", test.part, test.whole, got)
			}
		})
	}
}

func decode(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
