{{- define "sluice.dashboardSelector" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/component: dashboard
{{- end }}

{{- define "sluice.dashboardLabels" -}}
{{ include "sluice.labels" . }}
app.kubernetes.io/component: dashboard
{{- end }}

{{/* The address that people open. */}}
{{- define "sluice.dashboardURL" -}}
{{- with .Values.dashboard -}}
{{ .externalURL | default (ternary (printf "https://%s" .ingress.host) "" .ingress.enabled) }}
{{- end -}}
{{- end }}

{{/* The Secret with session keys; empty if there is none. */}}
{{- define "sluice.sessionKeys" -}}
{{- with .Values.dashboard.sessionKeys -}}
{{ .secret | default (ternary "sluice-dashboard-sessions" "" .generate) }}
{{- end -}}
{{- end }}

{{/* Whether the dashboard has constrained impersonation: not empty if so. */}}
{{- define "sluice.constrained" -}}
{{- $given := .Values.dashboard.impersonation.constrained | toString -}}
{{- if or (eq $given "true") (and (eq $given "auto") (semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version)) -}}
constrained
{{- end -}}
{{- end }}

{{/* A rule with the names that it is limited to. It is empty for a kind of which nobody is named, if somebody is named at all. */}}
{{- define "sluice.dashboardRule" -}}
{{- $names := dict "users" .names.users "groups" .names.groups "serviceaccounts" .names.serviceAccounts -}}
{{- $rule := .rule -}}
{{- $of := first .rule.resources -}}
{{- with get $names $of -}}
{{- $rule = merge (dict "resourceNames" .) $rule -}}
{{- end -}}
{{- if not (and (hasKey $names $of) (empty (get $names $of)) (or .names.users .names.groups .names.serviceAccounts)) -}}
{{- toYaml $rule -}}
{{- end -}}
{{- end }}
