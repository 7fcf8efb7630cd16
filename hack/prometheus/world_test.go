package prometheus

import (
	"fmt"
	"time"
)

// The labels that Prometheus adds to what the two controllers export.
const (
	active  = `job="sluice-metrics", namespace="sluice-system", pod="sluice-controller-a", instance="10.0.0.1:8080"`
	standby = `job="sluice-metrics", namespace="sluice-system", pod="sluice-controller-b", instance="10.0.0.2:8080"`
)

// ofSluice names a series of the active controller that has a namespace of its own, as honor_labels
// keeps it.
func ofSluice(name, own string) string {
	return fmt.Sprintf(`%s{job="sluice-metrics", pod="sluice-controller-a", instance="10.0.0.1:8080", %s}`, name, own)
}

// ofProcess names a series of the active controller that has none, and gets that of the controller.
func ofProcess(name, own string) string {
	if own != "" {
		own = ", " + own
	}
	return fmt.Sprintf(`%s{%s%s}`, name, active, own)
}

// forever stands for as many times as a world has steps.
const forever = "x10000"

// constant returns a value that stays.
func constant(value int64) string { return fmt.Sprintf("%d%s", value, forever) }

const (
	web  = `namespace="shop", release="web"`
	git  = `namespace="shop", source="shop"`
	shop = `namespace="shop"`
)

// idle returns a healthy system in which nothing happens: two controllers, three releases that
// completed, one source that is read each minute.
func idle() world {
	all := series{
		"up{" + active + "}":  constant(1),
		"up{" + standby + "}": constant(1),
		"leader_election_master_status{" + active + `, name="sluice-controller"}`:             constant(1),
		"leader_election_master_status{" + standby + `, name="sluice-controller"}`:            constant(0),
		ofSluice("sluice_source_syncs_total", git+`, result="Synced"`):                        "0+1x10000",
		ofSluice("sluice_source_syncs_total", git+`, result="FetchFailed"`):                   constant(0),
		ofSluice("sluice_source_errors", git):                                                 constant(0),
		ofSluice("sluice_forge_requests_limit", git):                                          constant(5000),
		ofSluice("sluice_forge_requests_remaining", git):                                      constant(4900),
		ofProcess("sluice_forge_queue_depth", ""):                                             constant(0),
		ofProcess("sluice_put_back_total", `reason="TemplateChanged"`):                        constant(0),
		ofProcess("sluice_webhooks_total", `event="push", result="accepted"`):                 "0+1x10000",
		ofProcess("sluice_webhooks_total", `event="push", result="ignored"`):                  "0+1x10000",
		ofProcess("sluice_invariant_violations_total", `invariant="I3"`):                      constant(0),
		ofProcess("sluice_notices_total", `receiver="chat", result="retried"`):                constant(0),
		ofProcess("sluice_notices_total", `receiver="chat", result="refused"`):                constant(0),
		ofProcess("sluice_notices_pending", `receiver="chat"`):                                constant(0),
		ofProcess("sluice_notices_config_valid", ""):                                          constant(1),
		"sluice_notices_config_valid{" + standby + "}":                                        constant(0),
		ofProcess("sluice_spans_dropped_total", `reason="queue_full"`):                        constant(0),
		ofProcess("sluice_notices_total", `receiver="chat", result="delivered"`):              constant(7),
		ofSluice("sluice_rollbacks_total", shop+`, trigger="Annotation"`):                     constant(1),
		ofSluice("sluice_release_ends_total", shop+`, outcome="Completed"`):                   constant(30),
		ofSluice("sluice_release_ends_total", shop+`, outcome="RolledBack"`):                  constant(10),
		ofProcess("sluice_writes_total", `kind="ReplicaSet", verb="patch", result="Written"`): constant(90),
		ofProcess("sluice_writes_total", `kind="ReplicaSet", verb="patch", result="Refused"`): constant(0),
	}
	for _, controller := range words("rollout gitsync approvals") {
		named := fmt.Sprintf("name=%q, controller=%q", controller, controller)
		all[ofProcess("workqueue_depth", named)] = constant(0)
		all[ofProcess("workqueue_longest_running_processor_seconds", named)] = constant(0)
		all[ofProcess("controller_runtime_reconcile_errors_total", fmt.Sprintf("controller=%q", controller))] = constant(3)
	}
	for phase, releases := range map[string]int64{"Initial": 0, "RollingUpdate": 0, "Finalizing": 0, "Completed": 3, "RollingBack": 0, "Failed": 0} {
		all[ofSluice("sluice_releases", fmt.Sprintf("namespace=%q, phase=%q", "shop", phase))] = constant(releases)
	}
	return world{step: time.Minute, steps: 150, series: all}
}

// stands returns the release web in a state, for good, since the first minute.
func stands(state string) series {
	return series{
		ofSluice("sluice_release_state", web+fmt.Sprintf(`, state=%q`, state)): constant(1),
		ofSluice("sluice_release_state_since_timestamp_seconds", web):          constant(0),
	}
}

// stalls returns the release web in a state, with a cause for which it is stalled.
func stalls(state, cause string) series {
	all := stands(state)
	all[ofSluice("sluice_release_stalled", web+fmt.Sprintf(`, cause=%q`, cause))] = constant(1)
	return all
}

// released returns a release that moves pods for ten minutes, waits at a gate for an hour, and
// moves pods for 20 minutes again, with the writes, reconciles, conflicts and webhooks that belong
// to it.
func released() series {
	all := series{
		ofSluice("sluice_release_state", web+`, state="Rolling"`):                              "_x9 1x9 _x59 1x19 _x200",
		ofSluice("sluice_release_state", web+`, state="Blocked"`):                              "_x19 1x59 _x200",
		ofSluice("sluice_release_state_since_timestamp_seconds", web):                          "_x9 600x9 1200x59 4800x19 _x200",
		ofSluice("sluice_releases", shop+`, phase="RollingUpdate"`):                            "0x9 1x89 0x200",
		ofSluice("sluice_releases", shop+`, phase="Completed"`):                                "3x9 2x89 3x200",
		ofSluice("sluice_release_ends_total", shop+`, outcome="Completed"`):                    "30x99 31x200",
		ofProcess("sluice_writes_total", `kind="ReplicaSet", verb="patch", result="Written"`):  "90x9 90+4x9 130x59 130+4x19 210x200",
		ofProcess("sluice_writes_total", `kind="ReplicaSet", verb="patch", result="Outdated"`): "0x9 0+1x9 10x200",
		ofProcess("sluice_put_back_total", `reason="TemplateChanged"`):                         "0x14 1x300",
		ofProcess("controller_runtime_reconcile_errors_total", `controller="rollout"`):         "3x9 5x300",
		ofProcess("workqueue_depth", `name="rollout", controller="rollout"`):                   "0x9 3x89 0x200",
	}
	return all
}

// labelled returns the labels of a controller in the order in which Prometheus prints them.
func labelled(controller string) string {
	if controller == active {
		return `instance="10.0.0.1:8080", job="sluice-metrics", namespace="sluice-system", pod="sluice-controller-a"`
	}
	return `instance="10.0.0.2:8080", job="sluice-metrics", namespace="sluice-system", pod="sluice-controller-b"`
}
