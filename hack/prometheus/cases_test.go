package prometheus

import "time"

// scenario is a world, and what fires in it.
type scenario struct {
	name, reason string
	world        world
	want         []string
}

// quiet are worlds in which nothing fires.
var quiet = []scenario{
	{name: "Idle", reason: "nobody is called while nothing happens", world: idle()},
	{name: "Released", reason: "nor during a release of 30 minutes with a gate that is open for an hour", world: idle().over(released())},
	{name: "LeaderChanges", reason: "nor while the Lease goes to the other controller", world: idle().over(series{
		"leader_election_master_status{" + active + `, name="sluice-controller"}`:  "1x59 0x300",
		"leader_election_master_status{" + standby + `, name="sluice-controller"}`: "0x62 1x300",
	})},
	{name: "ControllerRolled", reason: "nor while each controller's pod is replaced", world: idle().over(series{
		"up{" + active + "}":  "1x59 0x3 _x300",
		"up{" + standby + "}": "1x64 0x3 _x300",
		`up{job="sluice-metrics", namespace="sluice-system", pod="sluice-controller-c", instance="10.0.0.3:8080"}`:  "_x59 1x300",
		`up{job="sluice-metrics", namespace="sluice-system", pod="sluice-controller-d", instance="10.0.0.4:8080"}`:  "_x64 1x300",
		"leader_election_master_status{" + active + `, name="sluice-controller"}`:                                   "1x59 _x300",
		"leader_election_master_status{" + standby + `, name="sluice-controller"}`:                                  "0x60 1x4 _x300",
		`leader_election_master_status{job="sluice-metrics", namespace="sluice-system", pod="sluice-controller-c"}`: "_x59 0x6 1x300",
	})},
	{name: "NoReadForTenMinutes", reason: "a forge that is down for ten minutes is no reason to call somebody", world: idle().over(series{
		ofSluice("sluice_source_syncs_total", git+`, result="Synced"`):      "0+1x59 59x9 60+1x200",
		ofSluice("sluice_source_syncs_total", git+`, result="FetchFailed"`): "0x59 1+1x3 4x300",
	})},
	{name: "ReadEachHour", reason: "a source with a long interval, whose last read but one failed", world: idle().lasting(time.Minute, 240).over(series{
		ofSluice("sluice_source_syncs_total", git+`, result="Synced"`):      "0x59 1x59 1x4 2x59 3x300",
		ofSluice("sluice_source_syncs_total", git+`, result="FetchFailed"`): "0x119 1x300",
	})},
	{name: "SourceDeleted", reason: "of a source that is gone nothing is left to do", world: idle().over(series{
		ofSluice("sluice_source_syncs_total", git+`, result="Synced"`):      "0+1x59 59x9 stale",
		ofSluice("sluice_source_syncs_total", git+`, result="FetchFailed"`): "0x59 1x1 2x3 3x3 stale",
	})},
	{name: "Suspended", reason: "somebody stopped the release on purpose", world: idle().over(stands("Stopped"), series{
		ofSluice("sluice_release_stopped", web+`, cause="Suspended"`): constant(1),
	})},
	{name: "GateForADay", reason: "a gate may wait until tomorrow", world: idle().over(stands("Blocked")).lasting(10*time.Minute, 144)},
	{name: "OneOfTwoFailed", reason: "few releases have no rate", world: idle().lasting(10*time.Minute, 250).over(series{
		ofSluice("sluice_release_ends_total", shop+`, outcome="Completed"`):  "30x99 34x2000",
		ofSluice("sluice_release_ends_total", shop+`, outcome="RolledBack"`): "10x99 14x2000",
	})},
	{name: "OneInTenFails", reason: "some releases fail everywhere", world: idle().lasting(10*time.Minute, 250).over(series{
		ofSluice("sluice_release_ends_total", shop+`, outcome="Completed"`):  "30x99 30+1x89 120x2000",
		ofSluice("sluice_release_ends_total", shop+`, outcome="RolledBack"`): "10x188 20x2000",
	})},
	{name: "Strangers", reason: "a scanner sends a few requests that are not signed", world: idle().over(series{
		ofProcess("sluice_webhooks_total", `event="other", result="unauthorized"`): "0x59 0+1x9 10x300",
	})},
	{name: "OtherPrograms", reason: "other controllers, which export the same metrics, are not ours", world: idle().over(series{
		`up{job="other", namespace="other"}`:                                          constant(0),
		`leader_election_master_status{job="other", namespace="other", name="other"}`: constant(0),
		`workqueue_depth{job="other", namespace="other", name="other"}`:               constant(5000),
		`workqueue_longest_running_processor_seconds{job="other", namespace="other"}`: constant(5000),
		`controller_runtime_reconcile_errors_total{job="other", namespace="other"}`:   "0+100x300",
	})},
	{name: "NoNotices", reason: "without receivers there is no configuration to be valid", world: idle().over(series{
		ofProcess("sluice_notices_config_valid", ""):           constant(0),
		ofProcess("sluice_notices_pending", `receiver="chat"`): "_x10000",
	})},
	{name: "NoticesRetriedOnce", reason: "a receiver that is restarted gets its notices later", world: idle().over(series{
		ofProcess("sluice_notices_total", `receiver="chat", result="retried"`): "0x59 1 2 3x300",
	})},
}

// ofController are worlds in which the controller itself is in trouble.
var ofController = []scenario{
	{name: "AllDown", reason: "no controller answers", world: idle().over(series{
		"up{" + active + "}": "1x59 0x300", "up{" + standby + "}": "1x59 0x300",
	}), want: []string{
		`SluiceDown {namespace="sluice-system"} after 1h10m`,
		`SluiceReplicaDown {` + labelled(active) + `} after 1h15m`,
		`SluiceReplicaDown {` + labelled(standby) + `} after 1h15m`,
	}},
	{name: "Gone", reason: "there is no controller to ask", world: idle().over(series{
		"up{" + active + "}": "1x59 stale", "up{" + standby + "}": "1x59 stale",
	}), want: []string{`SluiceDown {job="sluice-metrics"} after 1h10m`}},
	{name: "OneDown", reason: "one of two answers", world: idle().over(series{"up{" + standby + "}": "1x59 0x300"}), want: []string{
		`SluiceReplicaDown {` + labelled(standby) + `} after 1h15m`,
	}},
	{name: "NobodyLeads", reason: "none holds the Lease", world: idle().over(series{
		"leader_election_master_status{" + active + `, name="sluice-controller"}`: "1x59 0x300",
	}), want: []string{`SluiceNoLeader {namespace="sluice-system"} after 1h5m`}},
	{name: "ReconcileErrors", reason: "two errors a minute, for long", world: idle().over(series{
		ofProcess("controller_runtime_reconcile_errors_total", `controller="gitsync"`): "3x59 3+2x300",
	}), want: []string{`SluiceReconcileErrors {controller="gitsync", namespace="sluice-system"} after 1h25m`}},
	{name: "ReconcileHangs", reason: "a reconcile does not come back", world: idle().over(series{
		ofProcess("workqueue_longest_running_processor_seconds", `name="rollout", controller="rollout"`): "0x59 0+60x300",
	}), want: []string{`SluiceReconcileHangs {name="rollout", namespace="sluice-system", pod="sluice-controller-a"} after 1h16m`}},
	{name: "QueueBacklog", reason: "more comes than is done", world: idle().over(series{
		ofProcess("workqueue_depth", `name="rollout", controller="rollout"`): "0x59 0+10x300",
	}), want: []string{`SluiceQueueBacklog {name="rollout", namespace="sluice-system", pod="sluice-controller-a"} after 1h26m`}},
	{name: "WritesRefused", reason: "a policy refuses a write, which is tried every five minutes", world: idle().over(series{
		ofProcess("sluice_writes_total", `kind="ReplicaSet", verb="patch", result="Refused"`): "0x59 1x4 2x4 3x4 4x4 5x4 6x4 7x300",
	}), want: []string{`SluiceWritesRefused {kind="ReplicaSet", verb="patch"} after 1h20m`}},
	{name: "InvariantViolated", reason: "once is too often, though the series begins with it", world: idle().over(series{
		ofProcess("sluice_invariant_violations_total", `invariant="I1"`): "_x59 1x300",
	}), want: []string{`SluiceInvariantViolated {invariant="I1"} after 59m`}},
	{name: "NoticesRetried", reason: "a receiver does not answer", world: idle().over(series{
		ofProcess("sluice_notices_total", `receiver="chat", result="retried"`): "0x59 0+1x300",
	}), want: []string{`SluiceNoticesUndelivered {receiver="chat"} after 1h7m`}},
	{name: "NoticeRefused", reason: "a receiver does not want one", world: idle().over(series{
		ofProcess("sluice_notices_total", `receiver="chat", result="refused"`): "0x59 1x300",
	}), want: []string{`SluiceNoticesUndelivered {receiver="chat"} after 1h1m`}},
	{name: "NoticesInvalid", reason: "the file has a mistake", world: idle().over(series{
		ofProcess("sluice_notices_config_valid", ""): "1x59 0x300",
	}), want: []string{`SluiceNoticesConfigInvalid {namespace="sluice-system"} after 1h15m`}},
	{name: "SpansDropped", reason: "the collector is away", world: idle().over(series{
		ofProcess("sluice_spans_dropped_total", `reason="not_taken"`): "0x59 0+1x300",
	}), want: []string{`SluiceSpansDropped {reason="not_taken"} after 1h26m`}},
}

// ofReleases are worlds in which a release needs somebody.
var ofReleases = []scenario{
	{name: "Failed", reason: "a failed release is one alert, not two", world: idle().over(stalls("Failed", "ProgressDeadlineExceeded")), want: []string{
		`SluiceReleaseFailed {` + web + `} after 1m`,
	}},
	{name: "Stalled", reason: "the API server refuses a write", world: idle().over(stalls("Rolling", "WriteRefused")), want: []string{
		`SluiceReleaseStalled {cause="WriteRefused", ` + web + `} after 15m`,
	}},
	{name: "NoRoom", reason: "it never begins", world: idle().over(stands("WillNotFit")), want: []string{
		`SluiceReleaseCannotStart {` + web + `, state="WillNotFit"} after 30m`,
	}},
	{name: "NoWorkload", reason: "it has nothing to release", world: idle().over(stands("WorkloadNotFound")), want: []string{
		`SluiceReleaseCannotStart {` + web + `, state="WorkloadNotFound"} after 30m`,
	}},
	{name: "GateWaits", reason: "a gate is forgotten", world: idle().over(stands("Blocked")).lasting(10*time.Minute, 200), want: []string{
		`SluiceGateWaits {` + web + `} after 24h20m`,
	}},
	{name: "PausePointWaits", reason: "so is a pause point", world: idle().over(stands("PausePoint")).lasting(10*time.Minute, 200), want: []string{
		`SluiceGateWaits {` + web + `} after 24h20m`,
	}},
	{name: "ApprovalRefused", reason: "who approved believes that it counts", world: idle().over(stands("ApprovalRefused")), want: []string{
		`SluiceApprovalRefused {` + web + `} after 5m`,
	}},
	{name: "Drifted", reason: "nobody released what runs", world: idle().over(stands("Drifted")), want: []string{`SluiceDrift {` + web + `} after 15m`}},
	{name: "ChangedInMidRelease", reason: "nobody released what is held", world: idle().over(stands("Stopped"), series{
		ofSluice("sluice_release_stopped", web+`, cause="WorkloadChanged"`): constant(1),
	}), want: []string{`SluiceDrift {` + web + `} after 15m`}},
	{name: "PutBackFight", reason: "a GitOps tool undoes what Sluice does", world: idle().over(series{
		ofProcess("sluice_put_back_total", `reason="TemplateChanged"`): "0x59 0+1x300",
	}), want: []string{`SluicePutBackFight {reason="TemplateChanged"} after 1h6m`}},
	{name: "RolledBack", reason: "a rollback of two minutes, with a counter that is new", world: idle().over(series{
		ofSluice("sluice_releases", shop+`, phase="RollingBack"`):       "0x59 1x1 0x300",
		ofSluice("sluice_rollbacks_total", shop+`, trigger="Deadline"`): "_x59 1x300",
	}), want: []string{`SluiceRollback {` + shop + `} after 1h`}},
	{name: "RolledBackBetweenScrapes", reason: "a rollback that no scrape sees", world: idle().over(series{
		ofSluice("sluice_rollbacks_total", shop+`, trigger="Annotation"`): "1x59 2x300",
	}), want: []string{`SluiceRollback {` + shop + `} after 1h`}},
	{name: "RollbackStuck", reason: "the way back is blocked", world: idle().over(series{
		ofSluice("sluice_releases", shop+`, phase="RollingBack"`): "0x59 1x300",
	}), want: []string{`SluiceRollback {` + shop + `} after 1h`, `SluiceRollbackStuck {` + shop + `} after 2h`}},
	{name: "ManyFail", reason: "every other release fails", world: idle().lasting(10*time.Minute, 250).over(series{
		ofSluice("sluice_release_ends_total", shop+`, outcome="Completed"`):  "30x99 30+1x9 40x2000",
		ofSluice("sluice_release_ends_total", shop+`, outcome="RolledBack"`): "10x99 10+1x9 20x2000",
	}), want: []string{`SluiceChangeFailureRate {` + shop + `} after 18h30m`}},
}

// ofSources are worlds in which Git or the forge is in trouble.
var ofSources = []scenario{
	{name: "Unreadable", reason: "each read fails, with growing intervals", world: idle().over(series{
		ofSluice("sluice_source_syncs_total", git+`, result="Synced"`):      "0+1x59 59x300",
		ofSluice("sluice_source_syncs_total", git+`, result="FetchFailed"`): "0x59 1x1 2x3 3x4 4x4 5x4 6x4 7x4 8x4 9x300",
	}), want: []string{`SluiceSourceUnreadable {` + git + `} after 1h14m`}},
	{name: "NeverReadable", reason: "the address of a new source is wrong", world: idle().over(series{
		ofSluice("sluice_source_syncs_total", `namespace="shop", source="new", result="FetchFailed"`): "_x60 1x1 2x3 3x4 4x4 5x4 6x4 7x4 8x4 9x300",
	}), want: []string{`SluiceSourceUnreadable {namespace="shop", source="new"} after 1h7m`}},
	{name: "UnreadableEachHour", reason: "so does a source with a long interval", world: idle().lasting(time.Minute, 400).over(series{
		ofSluice("sluice_source_syncs_total", git+`, result="Synced"`):      "0x59 1x500",
		ofSluice("sluice_source_syncs_total", git+`, result="FetchFailed"`): "0x119 1x59 2x59 3x59 4x300",
	}), want: []string{`SluiceSourceUnreadable {` + git + `} after 4h`}},
	{name: "FileErrors", reason: "a file can't be read", world: idle().over(series{
		ofSluice("sluice_source_errors", git): "0x59 2x300",
	}), want: []string{`SluiceSourceErrors {` + git + `} after 1h15m`}},
	{name: "RateLimited", reason: "another program used the hour's requests", world: idle().over(series{
		ofSluice("sluice_forge_limited_until_timestamp_seconds", git): "0x59 7200x300",
	}), want: []string{`SluiceForgeRateLimited {` + git + `} after 1h1m`}},
	{name: "WebhooksRejected", reason: "the secret of the webhook is another one", world: idle().over(series{
		ofProcess("sluice_webhooks_total", `event="push", result="unauthorized"`): "0x59 0+1x300",
	}), want: []string{`SluiceWebhooksRejected {result="unauthorized"} after 1h26m`}},
}
