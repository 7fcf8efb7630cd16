package cptest

import "testing"

func TestNamePrefix(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"TestRelease":              "release-",
		"TestRelease/one_pod,_90%": "release-one-pod-90-",
		"Test/ÄÖ":                  "-",
		"TestAVeryLongNameOfATestThatGoesOnAndOn/case": "averylongnameofatestthatgoesonandon-case-",
		"TestAVeryLongNameOfATestThatGoesOnAndOn/cas/": "averylongnameofatestthatgoesonandon-cas-",
	}
	for test, want := range tests {
		if got := namePrefix(test); got != want {
			t.Errorf("namePrefix(%q) = %q, want %q", test, got, want)
		}
	}
}
