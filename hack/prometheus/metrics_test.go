package prometheus

import "strings"

// Kinds of metrics.
const (
	counter   = "counter"
	gauge     = "gauge"
	histogram = "histogram"
)

// metric holds the properties of a metric that rules and dashboard may rely on.
type metric struct {
	kind   string
	labels []string
}

// metrics are all that rules and dashboard may name: those of Sluice, and the few of others that it
// exports. The page docs/alerts.md has the same list.
var metrics = map[string]metric{
	"sluice_releases":                              {gauge, words("namespace phase")},
	"sluice_release_state":                         {gauge, words("namespace release state train")},
	"sluice_release_state_since_timestamp_seconds": {gauge, words("namespace release")},
	"sluice_release_stopped":                       {gauge, words("namespace release cause")},
	"sluice_release_stalled":                       {gauge, words("namespace release cause")},
	"sluice_batch_duration_seconds":                {histogram, words("namespace")},
	"sluice_gate_wait_seconds":                     {histogram, words("type decision")},
	"sluice_release_duration_seconds":              {histogram, words("outcome")},
	"sluice_release_ends_total":                    {counter, words("namespace outcome")},
	"sluice_rollbacks_total":                       {counter, words("namespace trigger")},
	"sluice_commit_to_batch_seconds":               {histogram, words("batch")},
	"sluice_lead_time_seconds":                     {histogram, words("namespace")},
	"sluice_time_to_restore_seconds":               {histogram, words("namespace")},
	"sluice_source_sync_duration_seconds":          {histogram, words("namespace source")},
	"sluice_source_syncs_total":                    {counter, words("namespace source result")},
	"sluice_source_errors":                         {gauge, words("namespace source")},
	"sluice_writes_total":                          {counter, words("kind verb result")},
	"sluice_forge_requests_limit":                  {gauge, words("namespace source")},
	"sluice_forge_requests_remaining":              {gauge, words("namespace source")},
	"sluice_forge_reset_timestamp_seconds":         {gauge, words("namespace source")},
	"sluice_forge_limited_until_timestamp_seconds": {gauge, words("namespace source")},
	"sluice_forge_requests":                        {gauge, words("namespace source")},
	"sluice_forge_requests_unchanged":              {gauge, words("namespace source")},
	"sluice_forge_reports_waiting":                 {gauge, words("namespace source")},
	"sluice_forge_queue_depth":                     {gauge, nil},
	"sluice_put_back_total":                        {counter, words("reason")},
	"sluice_webhooks_total":                        {counter, words("event result")},
	"sluice_invariant_violations_total":            {counter, words("invariant")},
	"sluice_notices_total":                         {counter, words("receiver result")},
	"sluice_notices_pending":                       {gauge, words("receiver")},
	"sluice_notices_config_valid":                  {gauge, nil},
	"sluice_notices_record_failures_total":         {counter, nil},
	"sluice_spans_dropped_total":                   {counter, words("reason")},
	"controller_runtime_reconcile_errors_total":    {counter, words("controller")},
	"controller_runtime_reconcile_time_seconds":    {histogram, words("controller")},
	"leader_election_master_status":                {gauge, words("name")},
	"process_cpu_seconds_total":                    {counter, nil},
	"process_resident_memory_bytes":                {gauge, nil},
	"rest_client_requests_total":                   {counter, words("code host method")},
	"up":                                           {gauge, nil},
	"workqueue_depth":                              {gauge, words("name controller priority")},
	"workqueue_longest_running_processor_seconds":  {gauge, words("name controller")},
}

// ofTarget are the labels that Prometheus adds to what it scrapes.
var ofTarget = words("job namespace pod instance")

func words(text string) []string { return strings.Fields(text) }

// find returns the metric to which a series belongs, and the series' kind: the parts of a histogram
// count up.
func find(series string) (metric, string, bool) {
	if m, ok := metrics[series]; ok {
		return m, m.kind, m.kind != histogram
	}
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		name, is := strings.CutSuffix(series, part)
		if m, ok := metrics[name]; is && ok && m.kind == histogram {
			m.labels = append([]string{"le"}, m.labels...)
			return m, counter, true
		}
	}
	return metric{}, "", false
}
