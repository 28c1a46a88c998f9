{{- define "queuepool.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "queuepool.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "queuepool.labels" -}}
{{ include "queuepool.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "queuepool.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "queuepool.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end }}

{{- define "queuepool.image" -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end }}

{{/* What the pods of both processes share. Takes (dict "root" $ "process" VALUES "name" NAME). */}}
{{- define "queuepool.pod" -}}
serviceAccountName: {{ include "queuepool.serviceAccountName" .root }}
automountServiceAccountToken: false
enableServiceLinks: false # its variables would have the names of settings
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .process.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "queuepool.selector" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .name }}
{{- with .process.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .process.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .process.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: tmp
    emptyDir:
      medium: Memory
      sizeLimit: 64Mi
  {{- with .process.volumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* What both containers share. Takes (dict "root" $ "process" VALUES "urlKey" KEY). */}}
{{- define "queuepool.container" -}}
image: {{ include "queuepool.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
resources:
  {{- toYaml .process.resources | nindent 2 }}
volumeMounts:
  - name: tmp
    mountPath: /tmp
  {{- with .process.volumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .process.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
# Patient: a process reports unhealthy while its server is away, and no restart would
# help. One that is stuck ends by itself.
livenessProbe:
  httpGet:
    path: /healthz
    port: metrics
  periodSeconds: 30
  timeoutSeconds: 5
  failureThreshold: 20
{{- end }}

{{- define "queuepool.env" -}}
- name: QUEUEPOOL_URL
  valueFrom:
    secretKeyRef:
      name: {{ .root.Values.secret.name }}
      key: {{ .urlKey }}
- name: QUEUEPOOL_PARTITIONS
  value: {{ .root.Values.partitions | quote }}
- name: QUEUEPOOL_STAGE
  value: {{ .root.Values.stage | quote }}
- name: QUEUEPOOL_QUEUE
  value: {{ .root.Values.queue | quote }}
{{- range $name, $value := .process.env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
