package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MetricProvider is a server of metrics, with metrics that gates of its namespace share.
// Credentials go to its address, so Sluice never creates one from Git.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=mprov,categories=sluice
// +kubebuilder:printcolumn:name="Prometheus",type=string,JSONPath=`.spec.prometheus.address`
// +kubebuilder:printcolumn:name="HTTP",type=string,JSONPath=`.spec.http.address`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type MetricProvider struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec MetricProviderSpec `json:"spec"`
}

// MetricProviderList is a list of MetricProviders.
//
// +kubebuilder:object:root=true
type MetricProviderList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MetricProvider `json:"items"`
}

// MetricProviderSpec defines exactly one server, and the metrics on it that gates share.
//
// +kubebuilder:validation:XValidation:rule="[has(self.prometheus), has(self.http)].filter(is, is).size() == 1",message="a provider has exactly one of prometheus and http"
type MetricProviderSpec struct {
	// Prometheus is a server that speaks the API of Prometheus: also Thanos, Mimir, VictoriaMetrics.
	// +optional
	Prometheus *MetricServer `json:"prometheus,omitempty"`
	// HTTP is a server that answers GET requests in JSON.
	// +optional
	HTTP *MetricServer `json:"http,omitempty"`
	// Metrics are the metrics that gates can name.
	// +kubebuilder:validation:MaxItems=50
	// +listType=map
	// +listMapKey=name
	// +optional
	Metrics []SharedMetric `json:"metrics,omitempty"`
}

// MetricServer defines a server, and the credentials for it.
type MetricServer struct {
	// Address is the URL of the server, with http or https, without credentials. A path is kept.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^/?#@\s][^?#@\s]*$`
	Address string `json:"address"`
	// Headers are sent with each request, for example X-Scope-OrgID. Credentials belong in the Secret.
	// +kubebuilder:validation:MaxItems=10
	// +listType=map
	// +listMapKey=name
	// +optional
	Headers []MetricHeader `json:"headers,omitempty"`
	// SecretRef names a Secret in the same namespace with bearerToken, or username and password, and
	// ca.crt. A key that begins with "header." is the value of the header after it.
	// +optional
	SecretRef *LocalReference `json:"secretRef,omitempty"`
	// Timeout is the timeout of a request. Default 10s.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('30s')",message="must be from 1s to 30s"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// MetricHeader is a header of requests.
type MetricHeader struct {
	// Name is the name of the header.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Name string `json:"name"`
	// Value is the value of the header.
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
}

// SharedMetric is a metric that gates name, with the arguments that they can give.
type SharedMetric struct {
	// Name is the name of the metric.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Arguments are the arguments of the metric. One without a default value must be given.
	// +kubebuilder:validation:MaxItems=20
	// +listType=map
	// +listMapKey=name
	// +optional
	Arguments []MetricParameter `json:"arguments,omitempty"`

	MetricCheck `json:",inline"`
}

// MetricParameter is an argument that a shared metric takes.
type MetricParameter struct {
	// Name is the name of the argument: $(name) stands for its value.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9_-]*$`
	Name string `json:"name"`
	// Default is its value if a gate gives none.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Default *string `json:"default,omitempty"`
}

// MetricCheck judges a metric by exactly one of compare and query.
//
// In queries, $(namespace), $(workload), $(release), $(revision) and $(stableRevision) stand for
// those of the release.
type MetricCheck struct {
	// Compare compares the pods of the new version with those of the old one, and ends by itself.
	// +optional
	Compare *CompareMetric `json:"compare,omitempty"`
	// Query checks the result of a query against conditions.
	// +optional
	Query *QueryMetric `json:"query,omitempty"`
}

// MetricsGate passes when each of its metrics has passed, and rejects as soon as one has failed.
// A metric that can't be decided leaves the decision to a user.
type MetricsGate struct {
	// Provider names a MetricProvider in the namespace of the release.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Provider string `json:"provider"`
	// Interval is the time between two measurements. Default 15s, at least 1s and at most 1h.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="must be from 1s to 1h"
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`
	// InitialDelay is the time from when the gate opens to the first measurement; at most 24h.
	// Default: none.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="must be from 0s to 24h"
	// +optional
	InitialDelay *metav1.Duration `json:"initialDelay,omitempty"`
	// Metrics are the metrics to measure.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +listType=map
	// +listMapKey=name
	Metrics []GateMetric `json:"metrics"`
}

// GateMetric is one metric of a gate: one of the provider's, by its name, or one of its own.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.compare) && has(self.query))",message="a metric has one of compare and query"
// +kubebuilder:validation:XValidation:rule="!has(self.arguments) || !(has(self.compare) || has(self.query))",fieldPath=".arguments",message="only a metric of the provider takes arguments: remove compare and query, or the arguments"
type GateMetric struct {
	// Name is the name of the metric. Without compare and query it names one of the provider.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Arguments are the arguments for the provider's metric.
	// +kubebuilder:validation:MaxItems=20
	// +listType=map
	// +listMapKey=name
	// +optional
	Arguments []MetricArgument `json:"arguments,omitempty"`

	MetricCheck `json:",inline"`

	// DryRun measures and shows the metric, which then decides nothing.
	// +optional
	DryRun bool `json:"dryRun,omitempty"`
}

// MetricArgument is the value of an argument.
type MetricArgument struct {
	// Name is the name of the argument.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Value is its value, without quotes, backslashes, control characters and any of # % & ?
	// +kubebuilder:validation:MaxLength=256
	Value string `json:"value"`
}

// CompareMetric counts failed or slow requests of each version, pod by pod. Its queries return
// counters as they are, such as sum by (pod) (http_requests_total{namespace="$(namespace)"}), and
// no rates or increases.
//
// +kubebuilder:validation:XValidation:rule="[has(self.requests) && has(self.errors) && !has(self.buckets), has(self.buckets) && !has(self.requests) && !has(self.errors)].exists(is, is)",message="compare needs requests and errors, or buckets alone"
type CompareMetric struct {
	// Requests is a query for the counters of all requests by pod.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	Requests string `json:"requests,omitempty"`
	// Errors is a query for the counters of failed requests by pod. A pod without one has none.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	Errors string `json:"errors,omitempty"`
	// Buckets is a query for the buckets of a latency histogram by pod and le. A version is judged by
	// the requests that are slower than up to three of its bounds.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	Buckets string `json:"buckets,omitempty"`
	// PodLabel is the label of a series that holds the name of the pod. Default pod.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_][a-zA-Z0-9_]*$`
	// +optional
	PodLabel string `json:"podLabel,omitempty"`
	// Worse is the ratio of the new version's share of errors to the old one's that must not pass.
	// Default "2".
	// +kubebuilder:validation:Enum="1.25";"1.5";"2";"3";"5";"10"
	// +optional
	Worse string `json:"worse,omitempty"`
	// Floor is a share of errors that is good enough whatever the old version has, for example
	// "0.001" for one request in a thousand. A service without errors passes only by it.
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:Pattern=`^0(\.[0-9]{1,8})?$`
	// +optional
	Floor string `json:"floor,omitempty"`
	// Young is the age below which a pod is left out. Default 30s, at most 1h.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="must be from 0s to 1h"
	// +optional
	Young *metav1.Duration `json:"young,omitempty"`
}

// EmptyPolicy defines what a measurement without a value is.
//
// +kubebuilder:validation:Enum=Inconclusive;Successful;Failed;Measured
type EmptyPolicy string

// The policies for measurements without a value. EmptyMeasured leaves it to the conditions.
const (
	EmptyInconclusive EmptyPolicy = "Inconclusive"
	EmptySuccessful   EmptyPolicy = "Successful"
	EmptyFailed       EmptyPolicy = "Failed"
	EmptyMeasured     EmptyPolicy = "Measured"
)

// QueryMetric measures one result again and again. A measurement is failed if failure holds, or
// successful if success does; with one of the two conditions alone it is else the other, and with
// both it is else inconclusive.
//
// +kubebuilder:validation:XValidation:rule="has(self.success) || has(self.failure)",message="a query needs a condition: success, failure, or both"
// +kubebuilder:validation:XValidation:rule="!has(self.count) || self.count > 0 || (has(self.successes) && self.successes > 0)",fieldPath=".count",message="without a count, the metric needs successes to ever pass"
type QueryMetric struct {
	// Query is a PromQL query; for an http provider the path below its address, with a query after ?,
	// for example "/errors?service=$(workload)".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Query string `json:"query"`
	// Success is a condition in CEL, for example "result[0] < 0.05". The variable result is a list of
	// numbers, one for each series; a number, if the query is a scalar; or the JSON of an http
	// provider.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Success string `json:"success,omitempty"`
	// Failure is a condition as success is.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Failure string `json:"failure,omitempty"`
	// Count is the number of measurements after which the metric passes, if no limit is exceeded. If
	// successes is set and not reached, a user decides then. Default 1, or 0 with successes: any
	// number.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Count *int32 `json:"count,omitempty"`
	// Successes is the number of successful measurements in a row after which the metric passes. With
	// it, nothing else passes the metric.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Successes *int32 `json:"successes,omitempty"`
	// FailureLimit is the number of failed measurements above which the metric fails. Default 0: the
	// first one fails it. With -1, none does.
	// +kubebuilder:validation:Minimum=-1
	// +optional
	FailureLimit *int32 `json:"failureLimit,omitempty"`
	// InconclusiveLimit is the number of inconclusive measurements above which a user decides.
	// Default 0. With -1, none matters.
	// +kubebuilder:validation:Minimum=-1
	// +optional
	InconclusiveLimit *int32 `json:"inconclusiveLimit,omitempty"`
	// ErrorLimit is the number of measurements in a row that could not be taken above which a user
	// decides. Default: the metric waits for the server.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ErrorLimit *int32 `json:"errorLimit,omitempty"`
	// Empty says what a measurement without a value is: a list without series, NaN, or null as
	// a JSON. With Measured, the conditions decide. Default Inconclusive.
	// +optional
	Empty EmptyPolicy `json:"empty,omitempty"`
}

// MetricOutcome is the outcome of a metric of a gate; empty while it is measured.
//
// +kubebuilder:validation:Enum=Passed;Failed;Undecided
type MetricOutcome string

// The outcomes of a metric. MetricUndecided leaves the decision to a user.
const (
	MetricPassed    MetricOutcome = "Passed"
	MetricFailed    MetricOutcome = "Failed"
	MetricUndecided MetricOutcome = "Undecided"
)

// MetricStatus holds the measurements of a metric.
type MetricStatus struct {
	// Name is the name of the metric.
	Name string `json:"name"`
	// Outcome is the outcome of the metric; empty while it is measured.
	// +optional
	Outcome MetricOutcome `json:"outcome,omitempty"`
	// Trouble is the cause why the last measurement could not be taken; empty if it could.
	// +optional
	Trouble MetricTrouble `json:"trouble,omitempty"`
	// Message is a human readable message.
	// +optional
	Message string `json:"message,omitempty"`
	// MeasuredAt is the time of the last measurement that is part of this status.
	// +optional
	MeasuredAt *metav1.MicroTime `json:"measuredAt,omitempty"`
	// CheckDigest is the digest of the queries and conditions that were measured. With others, the
	// metric begins anew.
	// +optional
	CheckDigest string `json:"checkDigest,omitempty"`
	// URL is the address of the graph for users.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	URL string `json:"url,omitempty"`
	// Compared is the comparison of the versions, of a metric that compares.
	// +optional
	Compared *Compared `json:"compared,omitempty"`
	// Measured counts the measurements of a query.
	// +optional
	Measured *Measured `json:"measured,omitempty"`
}

// MetricTrouble is the cause why nothing could be measured.
type MetricTrouble string

// The causes. The first five are those of package measure.
const (
	TroubleUnreachable   MetricTrouble = "Unreachable"
	TroubleUnauthorised  MetricTrouble = "Unauthorised"
	TroubleMisconfigured MetricTrouble = "Misconfigured"
	TroubleBadQuery      MetricTrouble = "BadQuery"
	TroubleBadAnswer     MetricTrouble = "BadAnswer"
	// TroubleNoData: the answer has nothing of the pods.
	TroubleNoData MetricTrouble = "NoData"
	// TroubleStale: the answer is no newer than the one before.
	TroubleStale MetricTrouble = "Stale"
	// TroubleNoOldPods: no pods of the old version serve, so that there is nothing to compare with.
	TroubleNoOldPods MetricTrouble = "NoOldPods"
	// TroubleNoNewPods: no pods of the new version are old enough.
	TroubleNoNewPods MetricTrouble = "NoNewPods"
)

// Compared sums up the requests of two versions.
type Compared struct {
	// New and Old count the requests of the versions.
	New ComparedVersion `json:"new"`
	Old ComparedVersion `json:"old"`
	// Looks is the number of measurements that brought requests of both versions.
	Looks int64 `json:"looks"`
	// Low and High bound the ratio of the shares of errors, new to old, as decimal numbers; empty while
	// nothing is known. The ratio is between them with 95 % confidence, whenever they are read.
	// +optional
	Low string `json:"low,omitempty"`
	// +optional
	High string `json:"high,omitempty"`
	// Rules are the rules of the verdict.
	Rules ComparedRules `json:"rules"`
	// Trail is the course of the comparison, the oldest point first. Points of long ago are further
	// apart.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Trail []ComparedPoint `json:"trail,omitempty"`
	// Bounds are the bounds of latency that are judged, each with its evidence. A metric of errors has
	// one, with an empty bound.
	// +kubebuilder:validation:MaxItems=3
	// +listType=atomic
	// +optional
	Bounds []ComparedBound `json:"bounds,omitempty"`
}

// ComparedRules are the rules of a verdict, as decimal numbers.
type ComparedRules struct {
	// Alpha is the chance that a version that is no worse is rejected.
	// +kubebuilder:validation:MaxLength=32
	Alpha string `json:"alpha"`
	// Beta is the chance that a version that is worse times as bad passes.
	// +kubebuilder:validation:MaxLength=32
	Beta string `json:"beta"`
	// Worse is the ratio that must not pass.
	// +kubebuilder:validation:MaxLength=32
	Worse string `json:"worse"`
	// Floor is the share of errors that is good enough; 0 if there is none.
	// +kubebuilder:validation:MaxLength=32
	Floor string `json:"floor"`
}

// ComparedPoint is the comparison at one time, in decimal numbers.
type ComparedPoint struct {
	// Time is the time of the measurement.
	Time metav1.Time `json:"time"`
	// New and Old are the shares of errors so far.
	New string `json:"new"`
	Old string `json:"old"`
	// Low and High bound the ratio, as in the comparison.
	// +optional
	Low string `json:"low,omitempty"`
	// +optional
	High string `json:"high,omitempty"`
}

// ComparedVersion counts the requests of one version.
type ComparedVersion struct {
	// Requests is the number of requests.
	Requests int64 `json:"requests"`
	// Errors is the number of these that failed, or were slower than the bound that is nearest to a
	// verdict.
	Errors int64 `json:"errors"`
	// Pods is the number of pods that the last measurement had.
	Pods int32 `json:"pods"`
}

// ComparedBound is the evidence at one bound.
type ComparedBound struct {
	// Bound is a bound of latency in the unit of the histogram; empty for errors.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Bound string `json:"bound,omitempty"`
	// Evidence is the evidence in the form of package judge. The command sluice judge --replay reads
	// it.
	// +kubebuilder:validation:MaxLength=2048
	Evidence string `json:"evidence"`
}

// Measured counts the measurements of a query.
type Measured struct {
	// +optional
	Successful int32 `json:"successful,omitempty"`
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// +optional
	Inconclusive int32 `json:"inconclusive,omitempty"`
	// +optional
	Errors int32 `json:"errors,omitempty"`
	// ErrorsInARow and SuccessesInARow count the last measurements.
	// +optional
	ErrorsInARow int32 `json:"errorsInARow,omitempty"`
	// +optional
	SuccessesInARow int32 `json:"successesInARow,omitempty"`
	// Last are the last 10 measurements, the newest last.
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	Last []Measurement `json:"last,omitempty"`
}

// MeasurementOutcome is the outcome of a measurement.
//
// +kubebuilder:validation:Enum=Successful;Failed;Inconclusive;Error
type MeasurementOutcome string

// The outcomes of a measurement.
const (
	MeasurementSuccessful   MeasurementOutcome = "Successful"
	MeasurementFailed       MeasurementOutcome = "Failed"
	MeasurementInconclusive MeasurementOutcome = "Inconclusive"
	MeasurementError        MeasurementOutcome = "Error"
)

// Measurement is one measurement of a query.
type Measurement struct {
	// Time is the time of the measurement.
	Time metav1.Time `json:"time"`
	// Outcome is the outcome of the measurement.
	Outcome MeasurementOutcome `json:"outcome"`
	// Value is the result in JSON, cut to 100 characters.
	// +kubebuilder:validation:MaxLength=100
	// +optional
	Value string `json:"value,omitempty"`
}
