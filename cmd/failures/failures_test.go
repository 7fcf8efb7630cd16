package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// said are the events of a test that said these lines and then failed.
func said(name string, lines ...string) string {
	var events strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&events, `{"Action":"output","Package":"shop","Test":%q,"Output":%q}`+"\n", name, line+"\n")
	}
	fmt.Fprintf(&events, `{"Action":"fail","Package":"shop","Test":%q}`+"\n", name)
	return events.String()
}

func numbered(n int, format string) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf(format, i)
	}
	return lines
}

const packageFails = `{"Action":"output","Package":"shop","Output":"FAIL\tshop\t0.1s\n"}
{"Action":"fail","Package":"shop"}
`

func TestReport(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		events string
		want   []string
	}{
		"what passes, and the parents of what fails, are not told": {
			events: said("TestWeb/Two", "=== RUN   TestWeb/Two", "    web_test.go:7: want 2, got 3", "    --- FAIL: TestWeb/Two (0.00s)") +
				said("TestWeb", "--- FAIL: TestWeb (0.00s)") +
				`{"Action":"output","Package":"shop","Test":"TestWebs","Output":"    web_test.go:9: fine\n"}` + "\n" +
				`{"Action":"pass","Package":"shop","Test":"TestWebs"}` + "\n" + packageFails,
			want: []string{"FAIL shop TestWeb/Two", "    web_test.go:7: want 2, got 3"},
		},
		"a message of several lines has its beginning shown, a log its first line": {
			events: said("TestWeb", append(append([]string{"    web_test.go:7: (-want +got):"}, numbered(9, "        + line %d")...),
				append([]string{"    web_test.go:8: log of web:"}, numbered(200, "        did %d")...)...)...) + packageFails,
			want: []string{
				"FAIL shop TestWeb", "    web_test.go:7: (-want +got):", "        + line 0", "        + line 1", "        + line 2",
				"    web_test.go:8: log of web:",
			},
		},
		"a panic has its stack begun": {
			events: said("TestWeb", append([]string{"panic: no map", ""}, numbered(30, "main.f%d()")...)...) + packageFails,
			want: append([]string{"FAIL shop TestWeb", "    panic: no map"},
				numbered(9, "    main.f%d()")...),
		},
		"a test that never ended is told if the panic is in its output, one that passed is not": {
			events: `{"Action":"output","Package":"shop","Test":"TestWeb/Two","Output":"panic: test timed out after 30m\n"}
{"Action":"output","Package":"shop","Test":"TestWeb/One","Output":"panic: as was to be expected\n"}
{"Action":"pass","Package":"shop","Test":"TestWeb/One"}
` + packageFails,
			want: []string{"FAIL shop TestWeb/Two", "    panic: test timed out after 30m"},
		},
		"an output without messages has its end shown": {
			events: `{"Action":"output","Package":"shop","Output":"no control plane\n"}` + "\n" + packageFails,
			want:   []string{"FAIL shop", "    no control plane"},
		},
		"what does not compile is told once": {
			events: `{"ImportPath":"shop [shop.test]","Action":"build-output","Output":"# shop\n"}
{"ImportPath":"shop [shop.test]","Action":"build-output","Output":"./web.go:3:7: undefined: x\n"}
{"ImportPath":"shop [shop.test]","Action":"build-fail"}
{"Action":"fail","Package":"shop","FailedBuild":"shop [shop.test]"}
`,
			want: []string{"FAIL shop [shop.test]", "    # shop", "    ./web.go:3:7: undefined: x"},
		},
		"lines are cut": {
			events: said("TestWeb", "    web_test.go:7: "+strings.Repeat("ü", 200)) + packageFails,
			want:   []string{"FAIL shop TestWeb", "    web_test.go:7: " + strings.Repeat("ü", 142) + "…"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := read(strings.NewReader(tc.events))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, report(failed(found))); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

// However much fails, what is said fits on a screen or two.
func TestReportIsShort(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 5, 60, 1000} {
		var events strings.Builder
		for i := range n {
			events.WriteString(said(fmt.Sprintf("Test%d", i), numbered(50, "    web_test.go:%d: wrong")...))
		}
		found, err := read(strings.NewReader(events.String()))
		if err != nil {
			t.Fatal(err)
		}
		if lines := report(failed(found)); len(lines) < 3 || len(lines) > mostTests*(1+leastOfTest)+1 {
			t.Errorf("%d tests that failed are told of in %d lines", n, len(lines))
		}
	}
}

// The runner may be killed in the middle of a line.
func TestReadStopsWhereTheEventsDo(t *testing.T) {
	t.Parallel()
	events := said("TestWeb", "    web_test.go:7: want 2, got 3") + packageFails
	found, err := read(strings.NewReader(events + `{"Action":"out`))
	if err != nil || len(failed(found)) != 1 {
		t.Errorf("want what was read up to there, got %d tests that failed and error %v", len(failed(found)), err)
	}
}

func TestReadRefusesWhatIsNoEvent(t *testing.T) {
	t.Parallel()
	if _, err := read(strings.NewReader("make: *** [race] Error 1\n")); err == nil {
		t.Error("want an error")
	}
}
