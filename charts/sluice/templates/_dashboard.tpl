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

{{/* A rule with the names that it is limited to. */}}
{{- define "sluice.dashboardRule" -}}
{{- $names := dict "users" .names.users "groups" .names.groups "serviceaccounts" .names.serviceAccounts -}}
{{- $rule := .rule -}}
{{- with get $names (first .rule.resources) -}}
{{- $rule = merge (dict "resourceNames" .) $rule -}}
{{- end -}}
{{- toYaml $rule -}}
{{- end }}
