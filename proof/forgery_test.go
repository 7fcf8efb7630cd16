package proof_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/proof"
)

// place is a leaf of decoded JSON that can be changed.
type place struct {
	path string
	get  func() any
	set  func(any)
	drop func()
}

// leaves returns all leaves of decoded JSON.
func leaves(path string, value any, set func(any)) []place {
	var found []place
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			for _, leaf := range leaves(path+"."+key, field, func(v any) { value[key] = v }) {
				if leaf.drop == nil {
					leaf.drop = func() { delete(value, key) }
				}
				found = append(found, leaf)
			}
		}
	case []any:
		for i, element := range value {
			for _, leaf := range leaves(fmt.Sprintf("%s[%d]", path, i), element, func(v any) { value[i] = v }) {
				if leaf.drop == nil {
					leaf.drop = func() { set(append(value[:i:i], value[i+1:]...)) }
				}
				found = append(found, leaf)
			}
		}
	default:
		found = append(found, place{path: path, get: func() any { return value }, set: set})
	}
	return found
}

// attested reports whether a leaf of a bundle is one that the proof is about: not which pod it is
// and where it runs, which nobody signs.
func attested(path string) bool {
	for _, other := range []string{
		".pod.metadata.name", ".pod.metadata.uid", ".pod.metadata.creationTimestamp", ".pod.metadata.labels.pod-template-hash", ".pod.spec.nodeName", ".pod.spec.tolerations", ".pod.spec.serviceAccount",
		".pod.spec.enableServiceLinks", ".pod.spec.priority", ".template.spec.schedulerName", ".template.metadata.creationTimestamp", ".lastState", ".restartCount", ".ready",
		".image\x00", ".template.spec.containers\x00",
	} {
		if strings.Contains(path, other) {
			return false
		}
	}
	switch {
	case strings.Contains(path, "kube-api-access"), strings.Contains(path, ".pod.spec") && strings.Contains(path, ".resources"):
		return false
	case strings.HasPrefix(path, ".pod.status"):
		return strings.HasSuffix(path, ".imageID")
	}
	return true
}

// forge changes one leaf of a bundle, and says which.
func forge(t *testing.T, random *rand.Rand, bundle []byte) (string, []byte) {
	t.Helper()
	var whole map[string]any
	if err := json.Unmarshal(bundle, &whole); err != nil {
		t.Fatal(err)
	}
	all := leaves("", whole, nil)
	for gate := range whole["gates"].([]any) {
		all = append(all, insideEnvelope(t, whole["gates"].([]any)[gate].(map[string]any)["envelope"].(map[string]any), gate)...)
	}
	for {
		leaf := all[random.IntN(len(all))]
		if !attested(leaf.path) || isToken(leaf) {
			continue
		}
		did := "changed"
		if leaf.drop != nil && random.IntN(4) == 0 {
			did = "dropped"
			leaf.drop()
		} else {
			leaf.set(changed(random, leaf))
		}
		made, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		return did + " " + leaf.path, made
	}
}

// isToken reports whether a leaf is of the volume of the pod's token, which admission names.
func isToken(leaf place) bool {
	text, _ := leaf.get().(string)
	return strings.HasPrefix(text, "kube-api-access-") || strings.HasPrefix(text, "/var/run/secrets/") || strings.Contains(leaf.path, ".projected.")
}

// insideEnvelope returns the leaves of the statement in an envelope.
func insideEnvelope(t *testing.T, envelope map[string]any, gate int) []place {
	t.Helper()
	payload, err := base64.StdEncoding.DecodeString(envelope["payload"].(string))
	if err != nil {
		t.Fatal(err)
	}
	var statement any
	if err := json.Unmarshal(payload, &statement); err != nil {
		t.Fatal(err)
	}
	store := func() {
		encoded, err := json.Marshal(statement)
		if err != nil {
			t.Fatal(err)
		}
		envelope["payload"] = base64.StdEncoding.EncodeToString(encoded)
	}
	found := leaves(fmt.Sprintf(".gates[%d].statement", gate), statement, func(v any) { statement = v })
	for i := range found {
		set, drop := found[i].set, found[i].drop
		found[i].set = func(v any) { set(v); store() }
		if drop != nil {
			found[i].drop = func() { drop(); store() }
		}
	}
	return found
}

// changed returns another value of the same type.
func changed(random *rand.Rand, leaf place) any {
	switch value := leaf.get().(type) {
	case bool:
		return !value
	case float64:
		return value + 1
	case string:
		if strings.HasSuffix(leaf.path, ".commit") { // base64 of the object
			raw, _ := base64.StdEncoding.DecodeString(value)
			raw[random.IntN(len(raw))] ^= 1
			return base64.StdEncoding.EncodeToString(raw)
		}
		if at, err := time.Parse(time.RFC3339, value); err == nil {
			return at.Add(time.Minute).Format(time.RFC3339)
		}
		if value == "" {
			return "x"
		}
		at := random.IntN(len(value))
		if strings.HasSuffix(leaf.path, ".imageID") { // only its digest says what runs
			at = len(value) - 1 - at%64
		}
		for {
			if other := "abcdef0123456789"[random.IntN(16)]; other != value[at] {
				return value[:at] + string(other) + value[at+1:]
			}
		}
	}
	return "x"
}

const forgeries = 1000

// TestForgeries: of 1,000 bundles in which one field was changed or dropped, none is proven.
func TestForgeries(t *testing.T) {
	t.Parallel()
	seed := [32]byte{1}
	k := newKeys(t, rand.NewChaCha8(seed))
	random := rand.New(rand.NewChaCha8(seed))
	w := newWorld(t, k, template(2), approvals(2), soak(10*time.Minute), status())
	if verdict := proof.Check(w.bundle, k.roots()); verdict.Outcome != proof.Proven {
		t.Fatalf("want the honest one proven, got %+v", verdict)
	}
	honest, err := json.Marshal(w.bundle)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for range forgeries {
		did, made := forge(t, random, honest)
		read, err := proof.ParseBundle(made)
		if err != nil {
			refused++
			continue
		}
		if verdict := proof.Check(read, k.roots()); verdict.Outcome != proof.Proven {
			refused++
			continue
		}
		t.Errorf("%s: want it refused, got it proven", did)
	}
	t.Logf("%d of %d forgeries refused", refused, forgeries)
}

// TestHonest: of 1,000 releases of any shape, all are proven.
func TestHonest(t *testing.T) {
	t.Parallel()
	seed := [32]byte{2}
	k := newKeys(t, rand.NewChaCha8(seed))
	random := rand.New(rand.NewChaCha8(seed))
	for i := range forgeries {
		policies := make([]v1alpha1.GatePolicy, 1+random.IntN(4))
		for i := range policies {
			policies[i] = []v1alpha1.GatePolicy{
				approvals(int32(random.IntN(4))), soak(time.Duration(1+random.IntN(29)) * time.Minute), status(),
				{Manual: &v1alpha1.ManualGate{}}, {Window: &v1alpha1.WindowGate{Schedule: "0 * * * *"}}, {Job: &v1alpha1.JobGate{Name: "smoke"}},
				{CheckRun: &v1alpha1.CheckRunGate{Name: "build", App: "github-actions#15368"}},
			}[random.IntN(7)]
		}
		w := newWorld(t, k, template(1+random.IntN(3)), policies...)
		if random.IntN(2) == 0 {
			w.bundle.Pod.Spec.Containers[0].ImagePullPolicy = corev1.PullAlways
			w.bundle.Pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry"}}
		}
		encoded, err := json.Marshal(w.bundle)
		if err != nil {
			t.Fatal(err)
		}
		read, err := proof.ParseBundle(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if verdict := proof.Check(read, k.roots()); verdict.Outcome != proof.Proven {
			t.Fatalf("%d: want it proven, got %+v", i, verdict)
		}
	}
}

// TestSize: a statement takes at most 2 KiB, whatever the policy.
func TestSize(t *testing.T) {
	t.Parallel()
	k := newKeys(t, rand.NewChaCha8([32]byte{3}))
	for _, least := range []int32{0, 1, 2, 3, 10} {
		w := newWorld(t, k, template(1), approvals(least))
		w.source.Namespace, w.source.Name, w.source.Spec.URL = "payments-production", "deployments", "https://github.com/an-organization/deployments-of-production"
		w.gates[0].Name, w.release.Spec.Strategy.Steps = "checkout-service-654cdc8b8d-12-0-0", slices.Repeat(w.release.Spec.Strategy.Steps[:1], 10)
		w.sign(t, 0)
		if size := len(w.bundle.Gates[0].Envelope); size > proof.MaxEnvelope {
			t.Errorf("%d reviews: want at most %d bytes, got %d", least, proof.MaxEnvelope, size)
		} else {
			t.Log(strconv.Itoa(int(least)), "reviews:", size, "bytes")
		}
		want := proof.Finding{Outcome: proof.NotEnough, About: proof.Gates} // the other nine
		for _, finding := range proof.Check(w.bundle, k.roots()).Findings {
			if finding.Outcome > want.Outcome {
				t.Errorf("%d reviews: want nothing refuted, got %+v", least, finding)
			}
		}
	}
}
