package condition

import (
	"errors"
	"reflect"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// errPattern is the error of a pattern that is made while the condition is evaluated: nothing would
// bound it before it runs.
var errPattern = errors.New(`the pattern of matches must be a text, such as result.status.matches("^ok")`)

// checkPatterns returns an error if a pattern is no text.
func checkPatterns(condition *cel.Ast) (err error) {
	ast.PostOrderVisit(condition.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != overloads.Matches {
			return
		}
		if args := e.AsCall().Args(); len(args) == 0 || args[len(args)-1].Kind() != ast.LiteralKind {
			err = errPattern
		}
	}))
	return err
}

// byElement charges a call for each element of its lists and maps, and of those in them. CEL
// charges one step for a comparison of two lists that have one list each, however long those are.
type byElement struct{}

// readers read a text whole, for which CEL charges one step, too.
var readers = []string{
	overloads.TypeConvertBool, overloads.TypeConvertInt, overloads.TypeConvertUint, overloads.TypeConvertDouble,
	overloads.TypeConvertTimestamp, overloads.TypeConvertDuration,
}

// CallCost implements cost.ActualCostEstimator. Without any of these, CEL's own cost counts.
func (byElement) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	if function == overloads.Size {
		return nil
	}
	count := uint64(0)
	for _, arg := range args {
		count += elements(reflect.ValueOf(arg))
		if text, is := arg.(types.String); is && slices.Contains(readers, function) {
			count += uint64(len(text)) / 10
		}
	}
	if count == 0 {
		return nil
	}
	return &count
}

// elements counts lists and maps in a value, and all that is in them; 0 for another value.
func elements(value reflect.Value) (count uint64) {
	if value.Kind() == reflect.Interface {
		value = value.Elem()
	}
	if value.IsValid() && value.Kind() != reflect.Slice && value.Kind() != reflect.Map {
		switch container := value.Interface().(type) {
		case traits.Lister:
			value = reflect.ValueOf(container.Value())
		case traits.Mapper:
			value = reflect.ValueOf(container.Value())
		}
	}
	switch value.Kind() {
	case reflect.Slice:
		for i := 0; i < value.Len() && count <= maxCost; i++ {
			count += max(1, elements(value.Index(i)))
		}
	case reflect.Map:
		for of := value.MapRange(); of.Next() && count <= maxCost; {
			count += max(1, elements(of.Value()))
		}
	default:
		return 0
	}
	return count + 1
}
