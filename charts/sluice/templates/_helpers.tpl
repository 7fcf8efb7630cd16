{{- define "sluice.selector" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/component: controller
{{- end }}

{{- define "sluice.labels" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "sluice.controllerLabels" -}}
{{ include "sluice.labels" . }}
app.kubernetes.io/component: controller
{{- end }}

{{- define "sluice.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{/* The documents of a generated or shared file, as a list under the key "documents". */}}
{{- define "sluice.documents" -}}
documents:
{{- range splitList "\n---\n" (printf "\n%s" (.root.Files.Get .file)) }}
{{- with fromYaml . }}
- {{ toYaml . | nindent 2 | trim }}
{{- end }}
{{- end }}
{{- end }}
