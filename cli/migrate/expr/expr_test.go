package expr

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/measure/condition"
)

// TestToCEL: conditions of Argo Rollouts in CEL. Each is a condition of Sluice.
func TestToCEL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"result[0] >= 0.95":                             "result[0] >= 0.95",
		"result[0] >= 90.000000":                        "result[0] >= 90.0",
		"result == true":                                "result == true",
		"result.ok && result.successPercent >= 0.90":    "result.ok && result.successPercent >= 0.9",
		"result.major == '1'":                           `result.major == "1"`,
		"result == \"I am \\\"OK\\\"\"":                 `result == "I am \"OK\""`,
		"result == `raw\\`":                             `result == "raw\\"`,
		"isNaN(result) || result >= 0.95":               "isNaN(result) || result >= 0.95",
		"len(result) == 0 || result[0] >= 0.95":         "size(result) == 0 || result[0] >= 0.95",
		"default(result, 0) < 0.05":                     "(result == null ? 0.0 : result) < 0.05",
		"max(result) < 0.05":                            "math.greatest(result) < 0.05",
		"all(result, # < 1000)":                         "result.all(x, x < 1000)",
		"all(result.values, {asFloat(.value) >= 9900})": "result.values.all(x, double(x.value) >= 9900)",
		"any(result, {# > 5 and # < 7})":                "result.exists(x, x > 5 && x < 7)",
		"none(result, # > 5)":                           "!result.exists(x, x > 5)",
		"one(result, # > 5)":                            "result.exists_one(x, x > 5)",
		"count(result, # > 5) <= 2":                     "size(result.filter(x, x > 5)) <= 2",
		"len(filter(result, # > 5)) / len(result) < .5": "double(size(result.filter(x, x > 5))) / double(size(result)) < 0.5",
		"any(map(result, # * 2), # > 5)":                "result.map(x, x * 2.0).exists(x, x > 5)",
		"all(result, {any(.values, # > 1)})":            "result.all(x, x.values.exists(xx, xx > 1))",
		"not (result[0] > 1)":                           "!(result[0] > 1)",
		"!isInf(result)":                                "!isInf(result)",
		"not isNaN(result) and result > 1 or false":     "!isNaN(result) && result > 1 || false",
		"(result > 1 or result < 0) and true":           "(result > 1 || result < 0) && true",
		"0 < result <= 5":                               "0 < result && result <= 5",
		"result * 100 > 5":                              "result * 100.0 > 5",
		"result.errors / result.requests < 0.05":        "result.errors / result.requests < 0.05",
		"1 - result > 2 - (1 - 3)":                      "1.0 - result > 2.0 - (1.0 - 3.0)",
		"result[-1] > -1":                               "result[size(result) - 1] > -1",
		"result.status in [200, 204]":                   "result.status in [200, 204]",
		"result.state not in ['a', 'b']":                `!(result.state in ["a", "b"])`,
		"result contains 'ok' && result matches '^o'":   `result.contains("ok") && result.matches("^o")`,
		"result not startsWith 'x'":                     `!result.startsWith("x")`,
		"result.a == nil":                               "!has(result.a) || result.a == null",
		"result.a.b != nil && true":                     "has(result.a.b) && result.a.b != null && true",
		"isNil(result) || asInt(result.n) == 3":         "result == null || int(result.n) == 3",
		"result.namespace == 'x'":                       `result["namespace"] == "x"`,
		"result['a-b'].c[0]['d'] > 1_000":               `result["a-b"].c[0].d > 1000`,
		"result > 0x10 ? true : result < 1e-7":          "result > 16 ? true : result < 1e-07",
		"round(result) == 3":                            "math.round(result) == 3.0",
		"true":                                          "true",
	} {
		got, err := ToCEL(text)
		if err != nil || got != want {
			t.Errorf("%s: want %s, got %s, %v", text, want, got, err)
			continue
		}
		if _, err := condition.Compile(got); err != nil {
			t.Errorf("%s: want a condition, got %s: %v", text, got, err)
		}
	}
}

// TestPath: the path of an answer is a part of the condition.
func TestPath(t *testing.T) {
	t.Parallel()
	got, err := ToCEL("result.ok && default(result, 1) < len(result.items)", "data", "a-b", 0)
	if want := `result.data["a-b"][0].ok && (result.data["a-b"][0] == null ? 1.0 : result.data["a-b"][0]) < size(result.data["a-b"][0].items)`; err != nil || got != want {
		t.Errorf("want %s, got %s, %v", want, got, err)
	}
}

// TestNoEqual: a condition without an equal is an error that names the part.
func TestNoEqual(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"results[0] > 1":                          `"results" is not a variable`,
		"result ** 2 > 1":                         "** has no equal in CEL: multiply",
		"result % 2 == 0":                         "% has no equal",
		"result ?? 0 < 1":                         "?? has no equal in CEL: use has",
		"result?.a > 1":                           "?. has no equal",
		"result in 1..5":                          ".. has no equal",
		"result | len() > 1":                      "| has no equal",
		"let x = result; x > 1":                   "let has no equal",
		"if result > 1 { true } else { false }":   "if has no equal",
		"result > 1 // comment":                   "// has no equal",
		"{a: 1}.a > 1":                            "{ has no equal",
		"sum(result) > 1":                         "the function sum has no equal",
		"count(result) > 1":                       "count without a predicate",
		"result.len() > 1":                        "the method len has no equal",
		"result[1:2] == 3":                        "a slice, has no equal",
		"result[result.i] > 1":                    "an index that is not a number",
		"all(result, #index < 3)":                 "#index has no equal",
		"# > 1":                                   `"#" is not expected`,
		"default(result.a, 0) < 1":                "default of anything but result",
		"result[0] == nil":                        "the comparison of result[0] with nil",
		"result >":                                "the end is not expected",
		"(result > 1":                             `")" is expected, not the end`,
		"result > 1)":                             `")" is not expected`,
		"result > 1 true":                         `"true" is not expected`,
		"":                                        "the end is not expected",
		"result == 'a":                            "no closing '",
		`result == "\q"`:                          "unknown escape",
		"result == 1x":                            `"1x" is not a number`,
		"result == 99999999999999999999":          "is not a number",
		"result & 1":                              "is not an operator",
		"result > 1 ?: 2":                         "?: has no equal",
		strings.Repeat("(", 500) + "true":         "nested too deep",
		strings.Repeat("!", 500) + "true":         "nested too deep",
		strings.Repeat("-", 500) + "1":            "nested too deep",
		"result" + strings.Repeat("[-1]", 250):    "more than 1024 characters",
		"result == '" + strings.Repeat("x", 1024): "more than 1024",
	} {
		if got, err := ToCEL(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60s: want an error with %q, got %s, %v", text, says, got, err)
		}
	}
}

// TestSameVerdict: conditions come to what they come to in Argo, for what Prometheus and JSON give.
func TestSameVerdict(t *testing.T) {
	t.Parallel()
	for text, cases := range map[string]struct{ holds, not []any }{
		"len(result) == 0 or result[0] * 100 >= 95": {[]any{[]float64{}, []float64{0.96}}, []any{[]float64{0.9}, []float64{math.NaN()}}},
		"result / 2 == 1":                          {[]any{2.0}, []any{3.0}},
		"result.n / 2 == 1.5 and result.n in [3]":  {[]any{decoded(`{"n": 3}`)}, []any{decoded(`{"n": 2}`)}},
		"0 < result <= 5":                          {[]any{5.0}, []any{0.0, 5.1}},
		"result[-1] > result[0]":                   {[]any{[]float64{1, 2}}, []any{[]float64{2, 1}}},
		"count(result, # > 1) / len(result) > 0.5": {[]any{[]float64{1, 2, 3}}, []any{[]float64{1, 1, 3}}},
		"result.a == nil":                          {[]any{decoded(`{}`), decoded(`{"a": null}`)}, []any{decoded(`{"a": 1}`)}},
		"default(result, 0) < 1":                   {[]any{nil, 0.5}, []any{1.5}},
		"asInt(result.n) == 7":                     {[]any{decoded(`{"n": "7"}`), decoded(`{"n": 7.9}`)}, []any{decoded(`{"n": 8}`)}},
		"none(result, {# > 2 and # < 5})":          {[]any{[]float64{1, 6}}, []any{[]float64{3}}},
	} {
		written, err := ToCEL(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		compiled, err := condition.Compile(written)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for want, results := range map[bool][]any{true: cases.holds, false: cases.not} {
			for _, result := range results {
				if got, err := compiled.Holds(result); err != nil || got != want {
					t.Errorf("%s as %s, with %v: want %v, got %v, %v", text, written, result, want, got, err)
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

// FuzzToCEL: any text is refused, or becomes a text that is short, and the same each time.
func FuzzToCEL(f *testing.F) {
	for _, text := range []string{"all(result, {# > 1})", "not (result['a'] in [1, 'x'])", "default(result, -1) ? 1 : 2", "result.a == nil", "len(result[-1]) ** 2", "1 < 2 < 3", "'\\x41' matches `a`"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ToCEL(text)
		again, _ := ToCEL(text)
		if got != again || err == nil && (got == "" || len(got) > 4*maxLength) {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	})
}
