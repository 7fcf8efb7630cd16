package rollout

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// putBacks counts what was undone. One that grows all the time is a GitOps tool that does not leave to
// Sluice what it holds.
var putBacks = promauto.With(metrics.Registry).NewCounterVec(prometheus.CounterOpts{
	Name: "sluice_put_back_total",
	Help: "Changes of Deployments that Sluice holds that were made by others and put back, by what was changed.",
}, []string{"reason"})
