package examples_test

import (
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/schema"
)

// TestEditorsTakeWhatTheAPIServerTakes draws manifests, right and wrong ones, and asks both. In
// none is a field of the spec null: the API server puts a default there, but lint refuses it, and
// so do editors.
func TestEditorsTakeWhatTheAPIServerTakes(t *testing.T) {
	t.Parallel()
	server, compiled := strictServer(t), schemaOf(t, schema.Any)
	taken := 0
	rapid.Check(t, func(r *rapid.T) {
		manifest := rapid.OneOf(releases, sources).Draw(r, "manifest").(fields)
		value, err := jsonOf(manifest)
		if err != nil {
			r.Fatal(err)
		}
		if server.Create(t.Context(), &unstructured.Unstructured{Object: manifest}, client.DryRunAll) != nil {
			return
		}
		taken++
		if err := compiled.Validate(value); err != nil {
			r.Error(err)
		}
	})
	if taken < 10 {
		t.Errorf("the API server has taken no more than %d of the manifests", taken)
	}
}

type (
	fields   = map[string]any
	drawn    = *rapid.Generator[any]
	optional = map[string]drawn
)

// pick draws one of some values: the first, which is right, most of the time.
func pick(values ...any) drawn {
	return rapid.Custom(func(t *rapid.T) any {
		if rapid.IntRange(0, 9).Draw(t, "usual") > 0 {
			return values[0]
		}
		return rapid.SampledFrom(values).Draw(t, "value")
	})
}

// with draws an object of what is always there, and of other fields now and then.
func with(always, now optional) drawn {
	return rapid.Custom(func(t *rapid.T) any {
		object := fields{}
		for _, name := range slices.Sorted(maps.Keys(always)) {
			object[name] = always[name].Draw(t, name)
		}
		for _, name := range slices.Sorted(maps.Keys(now)) {
			if rapid.IntRange(0, 3).Draw(t, name+" is there") == 0 {
				object[name] = now[name].Draw(t, name)
			}
		}
		return object
	})
}

// list draws up to so many items, and then one that is last.
func list(most int, item, last drawn) drawn {
	return rapid.Custom(func(t *rapid.T) any {
		return append(rapid.SliceOfN(item, 0, most).Draw(t, "items"), last.Draw(t, "last"))
	})
}

var (
	durations = pick("10m", "1h30m", "0.5h", ".5m", "1.m", "+5m", "720h", "5000ms", "90000000µs", "0s", "-1m", "1d", "721h", "10", "", int64(10))
	counts    = pick(int64(1), int64(0), "0%", "07%", "30%", "100%", "5", "101%", "999%", int64(-1), 1.5)
	names     = pick("web", "", int64(1), "a.b", "Web")
	texts     = pick([]any{"ada"}, []any{}, []any{""}, []any{int64(1)}, "ada")
	yes       = pick(true, false, "true")
	empty     = pick(fields{}, fields{"a": "b"})

	gateTypes = []optional{
		{"manual": empty}, {"none": empty},
		{"soak": with(optional{"duration": durations}, nil)},
		{"window": with(optional{"schedule": pick("0 9-17 * * 1-5", "short", int64(5))}, optional{"duration": durations, "timeZone": names})},
		{"pullRequest": with(nil, optional{"minApprovals": counts, "approvers": texts, "teams": texts, "forbidSelfApproval": yes})},
		{"commitStatus": with(optional{"context": names, "creators": texts}, nil)},
		{"checkRun": with(optional{"name": names, "app": names}, optional{"conclusions": pick([]any{"success"}, []any{"success", "success"}, []any{"failure"})})},
	}
	gates = rapid.Custom(func(t *rapid.T) any {
		always := maps.Clone(rapid.SampledFrom(gateTypes).Draw(t, "type"))
		if rapid.IntRange(0, 9).Draw(t, "one type") == 0 {
			maps.Copy(always, rapid.SampledFrom(gateTypes).Draw(t, "another"))
		}
		return with(always, optional{"onReject": pick("Hold", "Rollback", "Skip"), "skippable": yes}).Draw(t, "gate")
	})

	steps = list(2,
		with(optional{"replicas": counts}, optional{"gates": list(1, gates, gates), "traffic": shares, "matches": list(0, matches, matches)}),
		with(optional{"replicas": pick("100%", "99%", int64(100))}, nil))
	shares  = pick("10%", "0%", "100%", "101%", "", int64(10))
	values  = with(optional{"name": pick("x-canary", "a b", ""), "value": names}, optional{"type": pick("Exact", "RegularExpression", "Prefix")})
	matches = with(nil, optional{
		"path":    with(optional{"value": pick("/new", "", int64(1))}, optional{"type": pick("Exact", "PathPrefix", "exact")}),
		"headers": list(0, values, values), "queryParams": rapid.OneOf(pick([]any{}), list(0, values, values)),
	})
	routes  = with(optional{"kind": pick("HTTPRoute", "GRPCRoute", "Ingress", "TCPRoute"), "name": names, "service": names}, optional{"namespace": names})
	seconds = pick(int64(0), int64(5), int64(-1), int64(604801), "5")
	traffic = with(optional{"routes": list(1, routes, routes)}, optional{
		"keepOldPods": yes, "allowOverload": yes, "oldPodsDelaySeconds": seconds, "readySeconds": seconds, "drainSeconds": seconds,
	})
	keys = with(nil, optional{
		"age": pick("OldestFirst", "Oldest"), "name": pick("Ascending", ""), "deletePriority": empty,
		"nodeLabel": with(optional{"key": names}, optional{"values": texts}),
	})
	strategies = with(optional{"steps": steps}, optional{
		"maxSurge": counts, "maxUnavailable": counts, "order": list(0, keys, keys), "pausePoints": yes,
		"onFailure": pick("Pause", "pause"), "preflight": pick("Warn", ""), "stepBack": pick("RemovePods", int64(1)),
		"allowMixedVersions": yes, "podReplacement": pick("Terminated", "terminated"),
		"traffic": traffic, "supersede": pick("Queue", "Replace"), "progressDeadlineSeconds": pick(int64(60), int64(0), "60"),
	})
	metadata = with(optional{"name": pick("web", "Web", "a.b", int64(1), nil)}, optional{
		"labels": pick(fields{"a": "b"}, fields{}, fields{"a": int64(1)}, nil), "annotations": pick(fields{"a": "b"}, nil),
		"creationTimestamp": pick(nil, "2026-01-05T09:00:00Z"), "finalizers": texts, "label": pick(fields{}),
	})
	secrets = with(optional{"name": names}, nil)

	releases = with(
		optional{
			"apiVersion": pick("rollouts.sluice.dev/v1alpha1", "rollouts.sluice.dev/v1"), "kind": pick("BatchRelease"), "metadata": metadata,
			"spec": with(optional{
				"workloadRef": with(optional{"apiVersion": pick("apps/v1", "apps"), "kind": pick("Deployment", "DaemonSet", "StatefulSet", "CloneSet"), "name": names}, nil),
				"strategy":    strategies,
			}, optional{
				"template": pick(fields{"spec": fields{"newer": "field"}}, fields{}, "none"),
				"rollback": with(optional{"steps": steps}, nil), "suspend": yes, "releaseTo": counts, "revisionHistoryLimit": counts,
				"deletionPolicy": pick("Proceed", "Delete"), "drift": pick("Revert", "Ignore"),
			}),
		},
		optional{"status": pick(fields{"phase": "Healthy"}, fields{}, fields{"conditions": []any{}})})
	sources = with(
		optional{
			"apiVersion": pick("rollouts.sluice.dev/v1alpha1"), "kind": pick("ReleaseSource"), "metadata": metadata,
			"spec": with(optional{"url": names}, optional{
				"ref": pick(fields{"branch": "main"}, fields{}, fields{"tag": "v1"}), "path": names, "interval": durations, "timeout": durations,
				"secretRef": secrets, "webhookSecretRef": secrets, "serviceAccountName": names, "prune": yes, "suspend": yes,
				"allowRewrite": yes, "deletionPolicy": pick("Orphan", "Keep"),
				"forge": with(optional{"owner": names, "repo": names, "secretRef": secrets}, optional{
					"type": pick("GitHub", "GitLab"), "baseURL": names, "environment": names, "interval": durations,
				}),
			}),
		}, nil)
)
