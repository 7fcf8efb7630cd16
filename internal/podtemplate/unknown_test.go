package podtemplate

import "testing"

func TestUnknownIsWhatOurTypesLack(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"spec":{"containers":[{"name":"a","image":"b"}]}}`:                                                                           "",
		`{"metadata":{"creationTimestamp":null},"spec":{"hostNetwork":false,"nodeSelector":{},"containers":[]}}`:                       "",
		`{"spec":{"containers":[{"name":"a","resources":{"limits":{"memory":"1073741824"}}}],"volumes":[{"name":"v","emptyDir":{}}]}}`: "",
		`{"spec":{"fieldOfTomorrow":"x","containers":[{"name":"a"},{"name":"b","another":{"deep":[1]}}]}}`:                             `{"spec":{"containers":{"1":{"another":{"deep":[1]}}},"fieldOfTomorrow":"x"}}`,
	} {
		if got, err := Unknown([]byte(raw)); err != nil || got != want {
			t.Errorf("Unknown(%s) = %q, %v, want %q", raw, got, err, want)
		}
	}
	if _, err := Unknown([]byte(`[]`)); err == nil {
		t.Error("a list is taken for a template")
	}
}
