package spec

import (
	"strings"
	"testing"
)

// TestVariables: a template with variables that only Flux substitutes is refused at its place,
// whichever way it comes.
func TestVariables(t *testing.T) {
	t.Parallel()
	with := func(pod string) string {
		return strings.Replace(deployment("web", "web:1"), `image: "web:1"}`, `image: "web:1", `+pod+"}", 1)
	}
	tests := map[string]struct {
		workload string
		want     []string
	}{
		"image":             {deployment("web", "web:${WEB_TAG}"), []string{"spec.template.spec.containers[0].image: ${WEB_TAG} is a variable"}},
		"whole image":       {deployment("web", "'${WEB_IMAGE}'"), []string{"spec.template.spec.containers[0].image: ${WEB_IMAGE} is a variable"}},
		"default":           {deployment("web", "web:${WEB_TAG:=v1}"), []string{"spec.template.spec.containers[0].image: ${WEB_TAG} is a variable"}},
		"lower case":        {deployment("web", "web:${tag}"), []string{"spec.template.spec.containers[0].image: ${tag} is a variable"}},
		"label":             {strings.Replace(deployment("web", "web:1"), "labels: {app: web}", "labels: {app: web, team: '${TEAM}'}", 1), []string{"spec.template.metadata.labels.team: ${TEAM"}},
		"folder":            {with("workingDir: '${DIR}'"), []string{"spec.template.spec.containers[0].workingDir: ${DIR"}},
		"claim of a config": {with("envFrom: [{configMapRef: {name: 'config-${ENV}'}}]"), []string{"spec.template.spec.containers[0].envFrom[0].configMapRef.name: ${ENV"}},
		"name of a key":     {with("env: [{name: A, valueFrom: {secretKeyRef: {name: 'db-${ENV}', key: a}}}]"), []string{"spec.template.spec.containers[0].env[0].valueFrom.secretKeyRef.name: ${ENV"}},
		"command":           {with("command: [sh, -c, 'echo ${HOME}'], args: ['${X}']"), nil},
		"environment":       {with("env: [{name: A, value: '${HOME}/x'}]"), nil},
		"probe":             {with("livenessProbe: {exec: {command: [sh, -c, 'test -f ${FILE}']}}"), nil},
		"Kubernetes' own":   {with("args: ['$(A)'], volumeMounts: [{name: v, mountPath: /v, subPathExpr: '$(POD)'}]"), nil},
		"no name":           {with("workingDir: '/${.Values.x}/${{a}}/$HOME/${}'"), nil},
		"label named args":  {strings.Replace(deployment("web", "web:1"), "labels: {app: web}", "labels: {app: web, args: '${TEAM}'}", 1), []string{"spec.template.metadata.labels.args: ${TEAM"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, files := range []map[string]string{
				{"web.yaml": tt.workload, "release.yaml": release("web", strategy)},
				{"web.yaml": tt.workload, "release.yaml": release("web", strategy), "kustomization.yaml": "resources: [web.yaml, release.yaml]\n"},
			} {
				result := read(t, files)
				if len(result.Errors) != len(tt.want) || len(result.Releases) != 1-min(1, len(tt.want)) {
					t.Fatalf("got errors %v and releases %v", result.Errors, names(result))
				}
				for i, want := range tt.want {
					if got := result.Errors[i]; got.File != "web.yaml" || got.Line < 2 || !strings.HasPrefix(got.Message, want) {
						t.Errorf("want %q in web.yaml with its line, got %v", want, got)
					}
				}
			}
		})
	}
	own := read(t, map[string]string{"release.yaml": release("web", strategy+strings.Replace(template, "web:1", "web:${A}", 1))})
	if len(own.Errors) != 1 || len(own.Releases) != 0 || !strings.Contains(own.Errors[0].Message, "${A") {
		t.Errorf("a template of its own: got %v", own.Errors)
	}
}
