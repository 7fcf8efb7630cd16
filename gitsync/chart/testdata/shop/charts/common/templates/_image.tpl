{{- define "common.image" -}}
{{- $registry := .image.registry -}}
{{- if .global -}}{{- $registry = default $registry .global.imageRegistry -}}{{- end -}}
{{- $registry -}}/{{- .image.repository -}}:{{- .image.tag | default .chart.AppVersion -}}
{{- end -}}
