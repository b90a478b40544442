{{- define "turnfold.name" -}}
{{- printf "%s-%s" .Release.Name (default "turnfold" .Values.nameOverride) | trunc 50 | trimSuffix "-" -}}
{{- end }}

{{- define "turnfold.selector" -}}
app.kubernetes.io/name: turnfold
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "turnfold.labels" -}}
{{ include "turnfold.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "turnfold.account" -}}
{{- default (include "turnfold.name" .) .Values.serviceAccount.name -}}
{{- end }}

{{- define "turnfold.image" -}}
{{- $tag := default .Chart.AppVersion .Values.image.tag -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ $tag }}
{{- end -}}
{{- end }}

{{- define "turnfold.claim" -}}
{{- default (printf "%s-history" (include "turnfold.name" .)) .Values.history.volume.existingClaim -}}
{{- end }}

{{/* Whether the history lies in a volume. */}}
{{- define "turnfold.inVolume" -}}
{{- if not .Values.history.url }}yes{{ end -}}
{{- end }}

{{/* What no schema can say: values that must fit together. */}}
{{- define "turnfold.check" -}}
{{- $v := .Values -}}
{{- if gt (int $v.worker.replicas) (int $v.kafka.partitions) -}}
{{- fail (printf "worker.replicas is %d, kafka.partitions is %d: the workers beyond it would have nothing to do" (int $v.worker.replicas) (int $v.kafka.partitions)) -}}
{{- end -}}
{{- if and $v.worker.autoscaling.enabled (gt (int $v.worker.autoscaling.maxReplicas) (int $v.kafka.partitions)) -}}
{{- fail (printf "worker.autoscaling.maxReplicas is %d, kafka.partitions is %d: the workers beyond it would have nothing to do" (int $v.worker.autoscaling.maxReplicas) (int $v.kafka.partitions)) -}}
{{- end -}}
{{- if and $v.worker.autoscaling.enabled (gt (int $v.worker.autoscaling.minReplicas) (int $v.worker.autoscaling.maxReplicas)) -}}
{{- fail "worker.autoscaling.minReplicas is greater than maxReplicas" -}}
{{- end -}}
{{- $oauth := eq $v.kafka.saslMechanism "OAUTHBEARER" -}}
{{- if and $oauth $v.kafka.saslSecret.name -}}
{{- fail "kafka.saslSecret is given, but kafka.saslMechanism is OAUTHBEARER: see docs/kubernetes.md" -}}
{{- end -}}
{{- if and $oauth $v.worker.autoscaling.enabled -}}
{{- fail "worker.autoscaling cannot log in to Kafka by OAUTHBEARER: set worker.replicas instead" -}}
{{- end -}}
{{- if and (hasPrefix "SASL" $v.kafka.securityProtocol) (not $oauth) (not $v.kafka.saslSecret.name) -}}
{{- fail (printf "kafka.securityProtocol is %s: kafka.saslSecret.name must name the secret with the login" $v.kafka.securityProtocol) -}}
{{- end -}}
{{- if and (not (hasPrefix "SASL" $v.kafka.securityProtocol)) $v.kafka.saslSecret.name -}}
{{- fail (printf "kafka.saslSecret is given, but kafka.securityProtocol is %s: set SASL_SSL" $v.kafka.securityProtocol) -}}
{{- end -}}
{{- if and $v.kafka.tlsSecret.name (not (hasSuffix "SSL" $v.kafka.securityProtocol)) -}}
{{- fail (printf "kafka.tlsSecret is given, but kafka.securityProtocol is %s: set SSL or SASL_SSL" $v.kafka.securityProtocol) -}}
{{- end -}}
{{- if and $v.backfill.enabled (not $v.backfill.generation) -}}
{{- fail "backfill.generation must name the generation that is made" -}}
{{- end -}}
{{- if and $v.backfill.enabled $v.history.url -}}
{{- fail "backfill.enabled: the history lies in an object store (history.url), which is not folded in parts: run turnfold backfill there as one command" -}}
{{- end -}}
{{- if and $v.backfill.enabled (not $v.sink.enabled) (not $v.history.volume.existingClaim) -}}
{{- fail "backfill.enabled, but there is no history: enable the sink, or name the volume that holds one by history.volume.existingClaim" -}}
{{- end -}}
{{- if and $v.serve.enabled (not $v.serve.keysSecret.name) -}}
{{- fail "serve.keysSecret.name must name the secret with the key file (turnfold keys add): the API listens beyond its own pod" -}}
{{- end -}}
{{- end }}

{{/* A value as a variable has it: Helm reads 1000000 as a float, whose text is 1e+06. */}}
{{- define "turnfold.text" -}}
{{- if and (kindIs "float64" .) (eq (float64 (int64 .)) .) }}{{ int64 . }}{{ else }}{{ toString . }}{{ end -}}
{{- end }}

{{/* Variables of every process. `settings`, `secretSettings`: those of the user. */}}
{{- define "turnfold.env" -}}
{{- $v := .root.Values -}}
{{- $set := dict
  "TURNFOLD_KAFKA_BOOTSTRAP" $v.kafka.bootstrap
  "TURNFOLD_KAFKA_SECURITY_PROTOCOL" $v.kafka.securityProtocol
  "TURNFOLD_KAFKA_PARTITIONS" (int $v.kafka.partitions)
  "TURNFOLD_KAFKA_REPLICATION" (int $v.kafka.replication)
  "TURNFOLD_METRICS_PORT" "0.0.0.0:9101"
  "TURNFOLD_LOG_FORMAT" "json" -}}
{{- if $v.networkPolicy.enabled }}{{ $_ := set $set "TURNFOLD_METRICS_GUARDED" "true" }}{{ end -}}
{{- with $v.kafka.topicPrefix }}{{ $_ := set $set "TURNFOLD_KAFKA_TOPIC_PREFIX" . }}{{ end -}}
{{- if hasPrefix "SASL" $v.kafka.securityProtocol }}{{ $_ := set $set "TURNFOLD_KAFKA_SASL_MECHANISM" $v.kafka.saslMechanism }}{{ end -}}
{{- with $v.kafka.tlsSecret }}{{ if .name -}}
{{- if .caKey }}{{ $_ := set $set "TURNFOLD_KAFKA_TLS_CA" (printf "/tls/%s" .caKey) }}{{ end -}}
{{- if .certificateKey }}{{ $_ := set $set "TURNFOLD_KAFKA_TLS_CERTIFICATE" (printf "/tls/%s" .certificateKey) }}{{ end -}}
{{- if .keyKey }}{{ $_ := set $set "TURNFOLD_KAFKA_TLS_KEY" (printf "/tls/%s" .keyKey) }}{{ end -}}
{{- end }}{{ end -}}
{{- $set = mustMergeOverwrite $set .own $v.settings .settings -}}
{{- range $name, $value := $set }}
- name: {{ $name }}
  value: {{ include "turnfold.text" $value | quote }}
{{- end }}
{{- with $v.kafka.saslSecret }}{{ if .name }}
- name: TURNFOLD_KAFKA_SASL_USERNAME
  valueFrom: {secretKeyRef: {name: {{ .name }}, key: {{ .usernameKey }}}}
- name: TURNFOLD_KAFKA_SASL_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ .name }}, key: {{ .passwordKey }}}}
{{- end }}{{ end }}
{{- range $name, $at := $v.secretSettings }}
- name: {{ $name }}
  valueFrom: {secretKeyRef: {name: {{ $at.name }}, key: {{ $at.key }}}}
{{- end }}
{{- end }}

{{/* What every pod is: no root, no token, no service variables (TURNFOLD_SERVE_PORT would be one). */}}
{{- define "turnfold.pod" -}}
serviceAccountName: {{ include "turnfold.account" . }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- end }}

{{- define "turnfold.container" -}}
image: {{ include "turnfold.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* The process says itself whether it lives and is ready; a restore may take long, and is alive. */}}
{{- define "turnfold.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 3
  timeoutSeconds: 5
  failureThreshold: 100
livenessProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 10
  timeoutSeconds: 10
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: metrics}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
{{- end }}

{{- define "turnfold.mounts" -}}
- {name: tmp, mountPath: /tmp}
{{- if .Values.kafka.tlsSecret.name }}
- {name: tls, mountPath: /tls, readOnly: true}
{{- end }}
{{- end }}

{{- define "turnfold.volumes" -}}
- name: tmp
  emptyDir: {sizeLimit: 1Gi}
{{- with .Values.kafka.tlsSecret.name }}
- name: tls
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- end }}

{{/* The history's volume, for sinks and servers; without one an empty folder. */}}
{{- define "turnfold.historyVolume" -}}
- name: data
{{- if and (include "turnfold.inVolume" .) .Values.sink.enabled }}
  persistentVolumeClaim: {claimName: {{ include "turnfold.claim" . }}}
{{- else }}
  emptyDir: {sizeLimit: 1Gi}
{{- end }}
{{- end }}

{{/* A volume that one node mounts: sinks and servers go where the first sink is. */}}
{{- define "turnfold.besideSinks" -}}
{{- if and (include "turnfold.inVolume" .) .Values.sink.enabled (ne .Values.history.volume.accessMode "ReadWriteMany") }}
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- include "turnfold.selector" (dict "root" . "component" "sink") | nindent 12 }}
{{- end }}
{{- end }}
