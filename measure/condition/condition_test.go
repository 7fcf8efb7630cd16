package condition

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestHolds(t *testing.T) {
	for text, cases := range map[string]struct{ holds, not []any }{
		"result[0] >= 0.95":                          {[]any{[]float64{0.95, 0}}, []any{[]float64{0.9}, []float64{math.NaN()}}},
		"result[0] < 1":                              {[]any{[]float64{0.5}}, []any{[]float64{1}}},
		"result < 0.05":                              {[]any{0.01}, []any{0.05, math.NaN(), math.Inf(1)}},
		"result.all(x, x < 0.05)":                    {[]any{[]float64{}, []float64{0.01, 0.02}}, []any{[]float64{0.01, 0.05}}},
		"size(result) == 0 || result[0] < 5":         {[]any{[]float64{}, []float64{4}}, []any{[]float64{6}}},
		"isNaN(result[0]) || isInf(result[0])":       {[]any{[]float64{math.NaN()}, []float64{math.Inf(-1)}}, []any{[]float64{0}}},
		`result.status == "ok" && result.errors < 3`: {[]any{decoded(`{"status":"ok","errors":2}`)}, []any{decoded(`{"status":"ok","errors":3}`), decoded(`{"status":"no","errors":0}`)}},
	} {
		c, err := Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for want, results := range map[bool][]any{true: cases.holds, false: cases.not} {
			for _, result := range results {
				if got, err := c.Holds(result); err != nil || got != want {
					t.Errorf("%s, with %v: got %v, %v; want %v", text, result, got, err, want)
				}
			}
		}
	}
}

func decoded(text string) (value any) {
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		panic(err)
	}
	return value
}

// TestNeitherTrueNorFalse: a condition that has no value for a result is an error.
func TestNeitherTrueNorFalse(t *testing.T) {
	for text, result := range map[string]any{
		"result[0] < 1":       []float64{},
		"result.errors < 1":   decoded(`{"status":"ok"}`),
		"result < 1":          "a text",
		"result":              1.5,
		"isNaN(result)":       "a text",
		"1 / int(result) > 0": 0.0,
	} {
		c, err := Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if holds, err := c.Holds(result); err == nil || holds {
			t.Errorf("%s, with %v: got %v without an error", text, result, holds)
		}
	}
}

func TestConditionsThatCannotBe(t *testing.T) {
	for text, says := range map[string]string{
		"":                  "Syntax error",
		"result[0] <":       "Syntax error",
		"results[0] < 1":    "undeclared reference to 'results'",
		"1 + 1":             "gives a int",
		`"yes"`:             "gives a string",
		"env('HOME') == ''": "undeclared reference to 'env'",
		strings.Repeat("(", 100) + "true" + strings.Repeat(")", 100):                              "recursion",
		"true" + strings.Repeat(" || true", MaxLength):                                            "more than 1024",
		"[1,2].exists(x, " + strings.Repeat("[1].all(y, ", 40) + "true" + strings.Repeat(")", 41): "recursion",
	} {
		if _, err := Compile(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40s: got %v, want %q", text, err, says)
		}
	}
}

// TestCost: a condition that would take long ends with an error.
func TestCost(t *testing.T) {
	long := make([]float64, 10_000)
	for text, says := range map[string]string{
		"result.all(a, result.all(b, result.all(c, a + b + c >= 0.0)))":  "cost limit",
		"result.map(a, result.map(b, result)).size() > 0":                "cost limit",
		`("x" + "` + strings.Repeat("x", 900) + `").matches("(x+x+)+y")`: "",
	} {
		c, err := Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if holds, err := c.Holds(long); holds || (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%.60s: got %v, %v; want %q", text, holds, err, says)
		}
	}
}

// TestCostOfCalls: a call that CEL takes for one step costs what is in its lists and texts.
func TestCostOfCalls(t *testing.T) {
	inner := make([]any, 30_000)
	long := []any{inner}
	text := strings.Repeat("x", 60_000)
	for condition, result := range map[string]any{
		"result == result":                           long,
		"result == result || true":                   map[string]any{"a": inner},
		"[result, [1]] == [result, [1]]":             long,
		"(result + result) != (result + result)":     long,
		"result[0] in result":                        long,
		"math.greatest(result) >= 0.0 || true":       make([]float64, 10_000),
		"int(result) == 1 || true":                   text,
		"timestamp(result) == timestamp('') || true": text,
	} {
		ten := "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
		c, err := Compile(ten + ".all(a, " + ten + ".all(b, " + ten + ".all(c, " + condition + ")))")
		if err != nil {
			t.Errorf("%s: %v", condition, err)
			continue
		}
		if _, err := c.Holds(result); err == nil || !strings.Contains(err.Error(), "cost limit") {
			t.Errorf("%s, a thousand times: got %v, want that it costs too much", condition, err)
		}
	}
}

// TestPatterns: a pattern is a text of few steps, so that a match takes no longer than its text.
func TestPatterns(t *testing.T) {
	for pattern, says := range map[string]string{
		`"(x?){1000}y"`:                          "program size",
		`"x{900}" + result.s`:                    "must be a text",
		`result.s`:                               "must be a text",
		`true ? "x" : "y"`:                       "must be a text",
		`"(` + strings.Repeat("x?", 300) + `)y"`: "program size",
		`"^(ok|fine|healthy)$"`:                  "",
	} {
		_, err := Compile("result.s.matches(" + pattern + ")")
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%.30s: got %v, want %q", pattern, err, says)
		}
		if _, err := Compile("matches(result.s, " + pattern + ")"); (err == nil) != (says == "") {
			t.Errorf("%.30s, as a function: got %v, want %q", pattern, err, says)
		}
	}
}

// TestCheckedOnce: a condition is checked once, however many gates have it, and memory is bounded.
func TestCheckedOnce(t *testing.T) {
	first, err := Compile("result[0] < 0.123")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Compile("result[0] < 0.123"); err != nil || again != first {
		t.Errorf("got another condition, and error %v", err)
	}
	_, wrong := Compile("results < 0.123")
	if _, again := Compile("results < 0.123"); again == nil || !errors.Is(again, wrong) {
		t.Errorf("got %v, want %v again", again, wrong)
	}
	for i := range 1000 {
		_, _ = Compile(strings.Repeat("x", 1000) + strconv.Itoa(i))
	}
	if left := known.Left(); left < 0 || left > keptBytes {
		t.Errorf("%d bytes are left of %d", left, keptBytes)
	}
}

// FuzzCompile: any text is refused, or is a condition that ends.
func FuzzCompile(f *testing.F) {
	f.Add("result[0] < 1", 1.0)
	f.Add("result.all(x, x == x)", 0.5)
	f.Fuzz(func(t *testing.T, text string, value float64) {
		if c, err := Compile(text); err == nil {
			_, _ = c.Holds([]float64{value, value})
		}
	})
}
