package worlds

// service returns the world that others vary: 20 pods, of which half run the new version, 10
// requests a second, and errors of 1 % that come one by one.
func service(name string, change func(*World)) World {
	w := World{
		Name: name, Requests: 10, Errors: 0.01, Ratio: 1, Pods: 20,
		Share: Constant(0.5), Load: Constant(1), Burst: 1,
	}
	change(&w)
	return w
}

// Equal and Bursts are the worlds that tests name.
var (
	Equal  = service("equal", func(*World) {})
	Bursts = service("errors in bursts of 10", func(w *World) { w.Burst = 10 })
)

// Good are worlds in which the new version is as good as the old one.
var Good = []World{
	Equal,
	service("steps from 5 to 50 %", func(w *World) { w.Share = Steps }),
	service("a day's rhythm, steps", func(w *World) { w.Share, w.Load = Steps, Day }),
	service("errors in bursts of 3", func(w *World) { w.Burst = 3 }),
	Bursts,
	service("pods that differ by 20 %", func(w *World) { w.Deviation = 0.2 }),
	service("pods that differ by 20 %, steps", func(w *World) { w.Share, w.Deviation = Steps, 0.2 }),
	service("pods that differ by 20 %, 100 requests a second", func(w *World) { w.Requests, w.Deviation = 100, 0.2 }),
	service("restarts of the controller and of Prometheus", func(w *World) { w.Restarts = 0.02 }),
}

// Bad are worlds in which the new version has more errors.
var Bad = []World{
	service("1 % against 2 %", func(w *World) { w.Requests, w.Ratio, w.Pods, w.MostRequests = 2, 2, 40, 3900 }),
	service("0.1 % against 5 %, share of 5 %", func(w *World) { w.Errors, w.Ratio, w.Share, w.MostRequests = 0.001, 50, Constant(0.05), 100 }),
	service("1 % against 2 %, share of 10 %", func(w *World) { w.Ratio, w.Share = 2, Constant(0.1) }),
	service("1 % against 2 %, bursts of 3", func(w *World) { w.Ratio, w.Burst = 2, 3 }),
	service("1 % against 2 %, pods that differ by 20 %", func(w *World) { w.Ratio, w.Deviation = 2, 0.2 }),
	service("1 % against 2 %, 100 requests a second", func(w *World) { w.Ratio, w.Requests = 2, 100 }),
}
