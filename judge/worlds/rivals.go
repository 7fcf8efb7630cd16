package worlds

import (
	"math"
	"slices"

	"github.com/sluice-dev/sluice/judge"
)

// Rival is a judge of others. Its function takes each look of one release, and reports whether it
// rejects the version now.
type Rival struct {
	Name  string
	Judge func() func(judge.Look) bool
}

// Judges that others use or advise, at the settings of their documentation.
var (
	ZTest       = Rival{"z-test of the shares at each look, 1 %", zTest}
	MannWhitney = Rival{"Mann-Whitney as Kayenta has it, each 10 minutes", mannWhitney}
	TwiceRate   = Rival{"threshold at twice the rate, 3 failures of 1 minute", func() func(judge.Look) bool { return threshold(0.02, perMinute, 3) }}
	Argo        = Rival{"Argo Rollouts' example: success below 95 %, more than 3 failures of 5 minutes", func() func(judge.Look) bool { return threshold(0.05, 5*perMinute, 4) }}
	Flagger     = Rival{"Flagger's example: success below 99 %, 5 failures of 1 minute", func() func(judge.Look) bool { return threshold(0.01, perMinute, 5) }}
)

// Rivals are all of them, in the order of the table.
var Rivals = []Rival{ZTest, MannWhitney, TwiceRate, Argo, Flagger}

// perMinute is the number of looks in a minute.
const perMinute = 60 / Interval

func old(look judge.Look) (sum judge.Count) {
	for _, p := range look.Old {
		sum.Requests += p.Requests
		sum.Errors += p.Errors
	}
	return sum
}

func add(sum *judge.Count, c judge.Count) {
	sum.Requests += c.Requests
	sum.Errors += c.Errors
}

// zTest compares the shares of all errors so far, as if nobody had looked before.
func zTest() func(judge.Look) bool {
	var a, b judge.Count
	return func(look judge.Look) bool {
		add(&a, look.New)
		add(&b, old(look))
		if a.Requests == 0 || b.Requests == 0 || a.Errors+b.Errors == 0 {
			return false
		}
		pooled := (a.Errors + b.Errors) / (a.Requests + b.Requests)
		deviation := math.Sqrt(pooled * (1 - pooled) * (1/a.Requests + 1/b.Requests))
		return (a.Errors/a.Requests-b.Errors/b.Requests)/deviation > 2.326
	}
}

// threshold rejects after a number of windows in which the rate of errors of the new version was
// above limit.
func threshold(limit float64, window, failures int) func(judge.Look) bool {
	var now judge.Count
	looks, failed := 0, 0
	return func(look judge.Look) bool {
		add(&now, look.New)
		if looks++; looks%window > 0 {
			return false
		}
		if now.Requests > 0 && now.Errors/now.Requests > limit {
			failed++
		}
		now = judge.Count{}
		return failed >= failures
	}
}

// Kayenta's judge: a version is worse if the lower end of the 98 % confidence interval of the
// shift of its values is above a quarter of the shift itself; it wants 50 values.
const (
	kayentaValues    = 50
	kayentaQuantile  = 2.326
	kayentaTolerance = 0.25
	kayentaLooks     = 10 * perMinute
)

// mannWhitney compares rates of errors by the minute.
func mannWhitney() func(judge.Look) bool {
	var a, b judge.Count
	var x, y []float64
	looks := 0
	return func(look judge.Look) bool {
		add(&a, look.New)
		add(&b, old(look))
		if looks++; looks%perMinute > 0 {
			return false
		}
		if a.Requests > 0 && b.Requests > 0 {
			x, y = append(x, a.Errors/a.Requests), append(y, b.Errors/b.Requests)
		}
		a, b = judge.Count{}, judge.Count{}
		if looks%kayentaLooks > 0 || len(x) < kayentaValues {
			return false
		}
		shift, lower := hodgesLehmann(x, y)
		return lower > kayentaTolerance*math.Abs(shift)
	}
}

// hodgesLehmann returns the median of all differences, and the lower end of its confidence
// interval by the normal approximation of the Mann-Whitney statistic.
func hodgesLehmann(x, y []float64) (shift, lower float64) {
	differences := make([]float64, 0, len(x)*len(y))
	for _, a := range x {
		for _, b := range y {
			differences = append(differences, a-b)
		}
	}
	slices.Sort(differences)
	n, m := float64(len(x)), float64(len(y))
	at := int(n*m/2 - kayentaQuantile*math.Sqrt(n*m*(n+m+1)/12))
	return differences[len(differences)/2], differences[max(0, at)]
}
