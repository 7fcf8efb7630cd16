// Package condition evaluates conditions on measurements, written in CEL; pure.
//
// A condition is a text such as
//
//	result[0] < 0.05 || size(result) == 0
//
// of which result is the list of the numbers that a query gave, the number of a query that gives
// one, or what a JSON answer holds. Conditions of Argo Rollouts that compare a result mean the same
// here.
//
// What must hold:
//
//   - whoever may write a condition can't make it take long, or much memory;
//   - a condition that can't be evaluated is an error, and neither true nor false.
package condition

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"

	"github.com/sluice-dev/sluice/internal/lru"
)

const (
	// MaxLength is the length of a condition, in bytes.
	MaxLength = 1024
	// maxCost bounds the steps of an evaluation: a comparison takes about three.
	maxCost = 100_000
	// maxDepth bounds how deep parentheses and lists nest.
	maxDepth = 32
	// maxPattern bounds the steps that a pattern of matches takes for each character of a text.
	maxPattern = 200
	// keptBytes is the memory for conditions that were checked. Each takes about so much, and so much
	// for each of its characters.
	keptBytes, bytesOfCondition, bytesOfCharacter = 32 << 20, 2 << 10, 80
)

// Condition is a condition that was checked. It is safe for concurrent use.
type Condition struct {
	program cel.Program
}

// environment is made once it is needed: it takes some MB.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	number := func(name string, is func(float64) bool) cel.EnvOption {
		return cel.Function(name, cel.Overload(name+"_dyn", []*cel.Type{cel.DynType}, cel.BoolType, cel.UnaryBinding(func(value ref.Val) ref.Val {
			double, ok := value.ConvertToType(types.DoubleType).(types.Double)
			if !ok {
				return types.NewErr("%s takes a number", name)
			}
			return types.Bool(is(float64(double)))
		})))
	}
	return cel.NewEnv(
		cel.Variable("result", cel.DynType),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserRecursionLimit(maxDepth),
		cel.ParserExpressionSizeLimit(MaxLength),
		cel.RegexProgramSizeLimit(maxPattern),
		ext.Math(),
		number("isNaN", math.IsNaN),
		number("isInf", func(x float64) bool { return math.IsInf(x, 0) }),
	)
})

// checked holds a condition, or the error of one that can't be.
type checked struct {
	condition *Condition
	err       error
}

// known keeps conditions that were checked: a gate checks its own at each pass, and one of a
// thousand characters takes 10 ms.
var known = lru.New[string, *checked](keptBytes)

// Compile checks a condition. An error says what is wrong with it, and where.
func Compile(text string) (*Condition, error) {
	if len(text) > MaxLength {
		return nil, fmt.Errorf("the condition has %d characters, more than %d", len(text), MaxLength)
	}
	if before := known.Get(text); before != nil {
		return before.condition, before.err
	}
	condition, err := compile(text)
	known.Put(text, &checked{condition, err}, bytesOfCondition+bytesOfCharacter*int64(len(text)))
	return condition, err
}

func compile(text string) (*Condition, error) {
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("make environment of conditions: %w", err)
	}
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	if out := ast.OutputType(); !out.IsExactType(cel.BoolType) && !out.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("the condition gives a %s, not true or false", out)
	}
	if err := checkPatterns(ast); err != nil {
		return nil, err
	}
	program, err := env.Program(ast, cel.CostLimit(maxCost), cel.CostTracking(byElement{}))
	if err != nil {
		return nil, fmt.Errorf("read condition: %w", err)
	}
	return &Condition{program}, nil
}

// errNoTruth is the error of a condition that gives something else.
var errNoTruth = errors.New("the condition gives neither true nor false")

// Holds reports whether the condition holds for a result: a number, a list of numbers, or JSON.
func (c *Condition) Holds(result any) (bool, error) {
	out, _, err := c.program.Eval(map[string]any{"result": result})
	if err != nil {
		return false, fmt.Errorf("evaluate condition: %w", err)
	}
	holds, is := out.Value().(bool)
	if !is {
		return false, errNoTruth
	}
	return holds, nil
}
