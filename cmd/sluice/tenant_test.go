package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// attempt is a write that a person of the namespace tries, and the answer; empty if it is allowed.
type attempt struct {
	object client.Object
	status bool
	patch  string
	says   string
}

const noRight = "is forbidden: User"

// TestTenants: each role in a namespace is kept from its forbidden writes to a release, its gates,
// its history and its source, on a real API server with the shipped roles and policies.
func TestTenants(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.guard()
	editor, approver := s.person("editor", "edit"), s.person("approver", "sluice-approver")
	operator, rescuer := s.person("operator", "sluice-operator"), s.person("rescuer", "sluice-breakglass")
	s.deploy("web", v1alpha1.GatePolicy{Soak: &v1alpha1.SoakGate{Duration: metav1.Duration{Duration: time.Hour}}})
	s.push("web", 2, secondCommit)
	release := s.awaitGate("web")
	gate := s.gateOf(release)
	source := &v1alpha1.ReleaseSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "git"},
		Spec:       v1alpha1.ReleaseSourceSpec{URL: "https://git.example.com/shop.git", Suspend: true},
	}
	s.create(source)
	record := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.kept()}}

	passed := `{"status":{"decision":"Passed"}}`
	forced := func(by string) string { return fmt.Sprintf(`{"status":{"force":{"by":%q,"reason":"x"}}}`, by) }
	answers := func(by string, n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(`{"gate":"made-up-%d","verdict":"Reject","by":%q}`, i, by)
		}
		return `{"status":{"answers":[` + strings.Join(all, ",") + `]}}`
	}
	annotated := func(name, value string) string {
		return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, name, value)
	}
	for user, attempts := range map[string]map[string]attempt{
		editor: {
			"approve":                       {release, true, `{"status":{"currentStepState":"Completed"}}`, noRight},
			"answer":                        {release, true, answers(editor, 1), noRight},
			"jump":                          {release, true, `{"status":{"nextStepIndex":1}}`, noRight},
			"roll back":                     {release, false, annotated(v1alpha1.RollbackAnnotation, "true"), noRight},
			"take a freeze off":             {release, false, `{"metadata":{"annotations":{"` + v1alpha1.FreezeAnnotation + `":null}}}`, noRight},
			"say what Git's template is":    {release, false, annotated(v1alpha1.GitTemplateAnnotation, "x"), noRight},
			"give another template":         {release, false, `{"spec":{"template":null}}`, noRight},
			"decide a gate":                 {gate, true, passed, noRight},
			"force a gate":                  {gate, true, forced(editor), noRight},
			"have a gate looked at":         {gate, false, annotated(v1alpha1.RequestedAtAnnotation, "now"), noRight},
			"say who an account is":         {source, true, `{"status":{"accounts":null}}`, noRight},
			"read another repository":       {source, false, `{"spec":{"url":"https://evil.example.com/x.git"}}`, noRight},
			"change what is rolled back to": {record, false, `{"data":null}`, noRight},
		},
		approver: {
			"decide a gate":                         {gate, true, passed, noRight},
			"force a gate":                          {gate, true, forced(approver), noRight},
			"roll back":                             {release, false, annotated(v1alpha1.RollbackAnnotation, "true"), noRight},
			"take the gates out":                    {release, false, `{"spec":{"strategy":{"steps":[{"replicas":"100%"}]}}}`, noRight},
			"forget everything":                     {release, true, `{"status":null}`, "only the controller writes status."},
			"take away the gates that it waits for": {release, true, `{"status":{"gates":null}}`, "only the controller writes status.gates"},
			"say that a gate was forced":            {release, true, `{"status":{"forced":[{"step":0,"type":"soak","by":"grace","reason":"x"}]}}`, "only the controller writes status.forced"},
			"say that it went to another step":      {release, true, `{"status":{"jump":{"from":0,"to":1,"by":"releaseTo","time":"2026-01-01T00:00:00Z"}}}`, "only the controller writes status.jump"},
			"confirm a gate that is not manual":     {release, true, `{"status":{"currentStepState":"Completed"}}`, ""}, // it is put back: TestConfirmedTooEarly
			"go back a state":                       {release, true, `{"status":{"currentStepState":"Upgrade"}}`, "only the controller writes status.currentStepState"},
			"annotate by way of the status":         {release, true, `{"metadata":{"annotations":{"` + v1alpha1.RollbackAnnotation + `":"true"}},"status":{"nextStepIndex":1}}`, ""}, // checked below
			"answer":                                {release, true, answers(approver, 1), ""},
			"leave no room for others' answers":     {release, true, answers(approver, 10), "a person may give at most as many answers"},
			"answer in another's name":              {release, true, answers("grace", 1), "nobody answers a gate in the name of another"},
		},
		operator: {
			"decide a gate":                     {gate, true, passed, noRight},
			"force a gate":                      {gate, true, forced(operator), noRight},
			"take a gate's finalizer":           {gate, false, `{"metadata":{"finalizers":null}}`, noRight},
			"say who an account is":             {source, true, `{"status":{"accounts":null}}`, noRight},
			"change what is rolled back to":     {record, false, `{"data":null}`, noRight},
			"lift the quarantine":               {release, true, `{"status":{"quarantined":["x"]}}`, "only the controller writes status.quarantined"},
			"say what the template resolves to": {release, true, `{"status":{"resolved":null}}`, "only the controller writes status.resolved"},
			"roll back":                         {release, false, annotated(v1alpha1.RollbackAnnotation, "true"), ""},
		},
		rescuer: {
			"decide a gate":            {gate, true, passed, "only the controller decides a gate"},
			"make up evidence":         {gate, true, `{"status":{"evidence":[{"kind":"Review","actor":"grace"}]}}`, "only the controller decides a gate"},
			"take its statement away":  {gate, true, `{"status":{"attestation":"x"}}`, "only the controller decides a gate"},
			"keep it from Git":         {gate, true, `{"status":{"attestationKept":true}}`, "only the controller decides a gate"},
			"say who contributed":      {gate, true, `{"status":{"contributors":[7]}}`, "only the controller decides a gate"},
			"force in another's name":  {gate, true, forced("grace"), `status.force.by must be "` + rescuer + `"`},
			"force":                    {gate, true, forced(rescuer), ""},
			"answer":                   {release, true, answers(rescuer, 1), noRight},
			"change what a gate is of": {gate, false, `{"spec":{"revision":"x"}}`, noRight},
		},
	} {
		for name, try := range attempts {
			err := s.try(user, try)
			if (try.says == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), try.says) {
				t.Errorf("%s, to %s: want %q, got %v", user, name, try.says, err)
			}
		}
	}
	s.wantForceKept(rescuer, gate)
	s.wantWellTyped()
}

// kept returns the name of a template in the history.
func (s *shop) kept() string {
	s.Helper()
	var kept appsv1.ControllerRevisionList
	if err := s.client.List(s.Context(), &kept, client.InNamespace(s.namespace)); err != nil || len(kept.Items) == 0 {
		s.Fatalf("want templates kept, got %d: %v", len(kept.Items), err)
	}
	return kept.Items[0].Name
}

// try returns the result of an attempt in a dry run. Changes beside a status never count.
func (s *shop) try(user string, a attempt) error {
	s.Helper()
	if a.status {
		object := a.object.DeepCopyObject().(client.Object)
		err := s.client.Status().Patch(s.Context(), object, merge(a.patch), dryRunAll)
		if _, found := object.GetAnnotations()[v1alpha1.RollbackAnnotation]; err == nil && found {
			s.Errorf("a write of the status has set an annotation")
		}
		return s.tryStatus(user, a.object, a.patch)
	}
	return s.clientAs(user).Patch(s.Context(), a.object.DeepCopyObject().(client.Object), merge(a.patch), client.DryRunAll)
}

// wantForceKept checks that a forced decision and its actor don't change any more, and that no
// gate is forced that has passed by its policy.
func (s *shop) wantForceKept(rescuer string, gate *v1alpha1.Gate) {
	s.Helper()
	forced := fmt.Sprintf(`{"status":{"force":{"by":%q,"reason":"later"}}}`, rescuer)
	hers := &v1alpha1.Gate{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "hers"}, Spec: *gate.Spec.DeepCopy(),
	}
	hers.Spec.ReleaseRef.Name = "none"
	for name, status := range map[string]string{
		"a gate that another has forced": `{"status":{"force":{"by":"grace","reason":"INC-42"}}}`,
		"a gate that has passed":         `{"status":{"decision":"Passed","evidence":[{"kind":"Review","actor":"ada"}]}}`,
	} {
		one := hers.DeepCopy()
		s.create(one)
		if err := s.asController().Status().Patch(s.Context(), one, merge(status)); err != nil {
			s.Fatalf("write status of gate: %v", err)
		}
		if err := s.tryStatus(rescuer, one, forced); err == nil || !strings.Contains(err.Error(), "status.force can be set only once") {
			s.Errorf("want nobody to force %s, got %v", name, err)
		}
		if err := s.client.Delete(s.Context(), one); err != nil {
			s.Fatalf("delete gate: %v", err)
		}
	}
}
