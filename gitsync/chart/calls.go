package chart

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
)

// Calls are the calls, in one render, of functions that return something else each time. The first
// render records them. Another one can repeat some of them, so that a caller finds the one on which
// an object depends.
type Calls struct {
	// before are the calls of the first render; nil in that one.
	before []call
	// made are the calls of this render, so far.
	made []call
	// fresh calls return something else than before.
	fresh int
	// refused is the call, from 1, that is an error.
	refused int
}

// call holds the results of a function.
type call struct {
	name    string
	results []reflect.Value
}

// Count returns the number of calls.
func (c *Calls) Count() int { return len(c.made) }

// Again returns the Calls of another render, of which the first calls return something else than
// before, and all others the same.
func (c *Calls) Again(fresh int) *Calls { return &Calls{before: c.made, fresh: fresh} }

// Refusing returns the Calls of another render, in which one call is an error with its place.
func (c *Calls) Refusing(call int) *Calls { return &Calls{before: c.made, refused: call} }

// Name returns the function of a call, from 1.
func (c *Calls) Name(call int) string { return c.made[call-1].name }

// random are the functions of templates that return something else each time.
var random = []string{
	"randAlpha", "randAlphaNum", "randAscii", "randBytes", "randInt", "randNumeric", "shuffle", "uuidv4",
	"bcrypt", "encryptAES", "genCA", "genCAWithKey", "genPrivateKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert",
	"genSignedCertWithKey", "htpasswd",
}

// refused are the functions of templates that ask something other than the chart.
var refused = map[string]string{
	"lookup":        "lookup asks the cluster",
	"getHostByName": "getHostByName asks DNS",
}

// functions returns those that take the place of Helm's.
func (c *Calls) functions() template.FuncMap {
	all, helms := template.FuncMap{}, sprig.TxtFuncMap()
	for _, name := range random {
		all[name] = c.wrap(name, helms[name])
	}
	for name, asks := range refused {
		all[name] = func(...any) (any, error) {
			return nil, errors.New(asks + ", and a chart is rendered from Git alone: take it out, or set the value that makes it unnecessary")
		}
	}
	maps.Copy(all, c.clock(helms))
	maps.Copy(all, template.FuncMap{"keys": sortedKeys, "values": sortedValues})
	return all
}

// clock returns the functions that read the clock. They know no time zone but UTC by themselves.
func (c *Calls) clock(helms template.FuncMap) template.FuncMap {
	now, _ := c.wrap("now", func() time.Time { return time.Now().UTC().Add(c.later()) }).(func() time.Time)
	dated := func(date any) any { // Helm takes all else for now
		switch date.(type) {
		case time.Time, *time.Time, int64, int, int32:
			return date
		}
		return now()
	}
	in, _ := helms["dateInZone"].(func(string, any, string) string)
	inZone := func(layout string, date any, zone string) string { return in(layout, dated(date), zone) }
	ago, _ := helms["ago"].(func(any) string)
	round, _ := helms["durationRound"].(func(any) string)
	return template.FuncMap{
		"now":            now,
		"ago":            c.wrap("ago", func(date any) string { return ago(c.earlier(date)) }),
		"date":           func(layout string, date any) string { return inZone(layout, date, "UTC") },
		"dateInZone":     inZone,
		"date_in_zone":   inZone,
		"htmlDate":       func(date any) string { return inZone(time.DateOnly, date, "UTC") },
		"htmlDateInZone": func(date any, zone string) string { return inZone(time.DateOnly, date, zone) },
		"durationRound": func(duration any) any {
			if at, is := duration.(time.Time); is {
				return c.wrap("durationRound", func() string { return round(c.earlier(at)) }).(func() string)()
			}
			return round(duration)
		},
		"toDate":     func(layout, text string) time.Time { at, _ := time.Parse(layout, text); return at },
		"mustToDate": time.Parse,
	}
}

// muchLater is the time between two renders: each part of a date differs.
const muchLater = 400*24*time.Hour + 61*time.Minute + time.Second

// later returns how much later this render is than the first one.
func (c *Calls) later() time.Duration {
	if c.before == nil {
		return 0
	}
	return muchLater
}

// earlier returns a date that is as long ago now as the given one will be later.
func (c *Calls) earlier(date any) any {
	switch at := date.(type) {
	case time.Time:
		return at.Add(-c.later())
	case int64:
		return at - int64(c.later()/time.Second)
	case int:
		return at - int(c.later()/time.Second)
	}
	return date
}

// wrap returns a function that records what another one returns, or repeats what it returned.
func (c *Calls) wrap(name string, function any) any {
	of := reflect.ValueOf(function)
	return reflect.MakeFunc(of.Type(), func(args []reflect.Value) []reflect.Value {
		n := len(c.made)
		var results []reflect.Value
		switch known := n < len(c.before) && c.before[n].name == name; {
		case n+1 == c.refused:
			panic(errors.New(name + " returns something else each time")) // the template fails with it, where it calls it
		case known && n >= c.fresh:
			results = c.before[n].results
		case known:
			results = differing(of, args, c.before[n].results)
		default:
			results = of.Call(args)
		}
		c.made = append(c.made, call{name, results})
		return results
	}).Interface()
}

// tries limits the calls of a function that is to return something else: a short text may repeat.
const tries = 20

// differing calls a function until it returns something else.
func differing(of reflect.Value, args, before []reflect.Value) []reflect.Value {
	results := of.Call(args)
	for range tries {
		if fmt.Sprint(results[0].Interface()) != fmt.Sprint(before[0].Interface()) {
			break
		}
		results = of.Call(args)
	}
	return results
}

// sortedKeys returns the keys of maps, those of each in order: Helm has them in none.
func sortedKeys(of ...map[string]any) []string {
	all := []string{}
	for _, one := range of {
		all = append(all, slices.Sorted(maps.Keys(one))...)
	}
	return all
}

func sortedValues(of map[string]any) []any {
	all := []any{}
	for _, key := range sortedKeys(of) {
		all = append(all, of[key])
	}
	return all
}
