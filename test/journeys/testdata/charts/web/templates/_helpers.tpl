{{- define "web.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "web.selector" . }}
{{- end }}
{{- define "web.selector" -}}
app: {{ .Release.Name }}
{{- end }}
