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

{{/* The values of a component: of the pod of `helm test` there are none. */}}
{{- define "turnfold.of" -}}
{{- toJson (default dict (get .root.Values .component)) -}}
{{- end }}

{{/* The service account of a component: its own, the one of all, or one that is made for it. */}}
{{- define "turnfold.account" -}}
{{- $own := default dict (get (include "turnfold.of" . | fromJson) "serviceAccount") -}}
{{- $made := ternary "default" (printf "%s-%s" (include "turnfold.name" .root) .component) (eq .component "test") -}}
{{- default (default $made .root.Values.serviceAccount.name) (get $own "name") -}}
{{- end }}

{{/* The secret `saslSecret` or `tlsSecret` of a component, which is the one of `kafka` if it has none. */}}
{{- define "turnfold.login" -}}
{{- $own := get (default dict .values) .secret -}}
{{- toJson (ternary $own (get .root.Values.kafka .secret) (not (empty (get (default dict $own) "name")))) -}}
{{- end }}

{{/* The secrets of other settings, by variable: those of all that the component reads, then its own. */}}
{{- define "turnfold.secretSettings" -}}
{{- $readers := dict "LLM" (list "worker") "REGISTRY" (list "worker") "WORKER" (list "worker")
  "EMBED" (list "serve") "SERVE" (list "serve") "SINK" (list "sink") -}}
{{- $set := dict -}}
{{- $component := .component -}}
{{- range $name, $at := .root.Values.secretSettings -}}
{{- $part := index (splitList "_" (printf "%s_" $name)) 1 -}}
{{- if or (not (hasKey $readers $part)) (has $component (get $readers $part)) }}{{ $_ := set $set $name $at }}{{ end -}}
{{- end -}}
{{- toJson (mustMergeOverwrite $set (deepCopy (default dict (get (include "turnfold.of" . | fromJson) "secretSettings")))) -}}
{{- end }}

{{/* Of the history's object store: servers only read. */}}
{{- define "turnfold.storeSecret" -}}
{{- $history := .root.Values.history -}}
{{- if eq .component "serve" }}{{ default $history.credentialsSecret $history.readerSecret }}{{ else if eq .component "sink" }}{{ $history.credentialsSecret }}{{ end -}}
{{- end }}

{{/* Changes with every secret that the pods of a component read, so that they start again. It shows
the version of a secret, which tells nothing of what is in it. Without a cluster (helm template)
there is none. */}}
{{- define "turnfold.annotations" -}}
{{- $names := list (include "turnfold.storeSecret" .) -}}
{{- $values := include "turnfold.of" . | fromJson -}}
{{- range list "saslSecret" "tlsSecret" }}{{ $names = append $names (include "turnfold.login" (dict "root" $.root "values" $values "secret" .) | fromJson).name }}{{ end -}}
{{- range include "turnfold.secretSettings" . | fromJson }}{{ $names = append $names .name }}{{ end -}}
{{- if eq .component "serve" }}{{ $names = append $names .root.Values.serve.keysSecret.name }}{{ end -}}
{{- $versions := list -}}
{{- range compact $names | uniq | sortAlpha -}}
{{- $secret := lookup "v1" "Secret" $.root.Release.Namespace . -}}
{{- $version := "" -}}
{{- if $secret }}{{ $version = printf "%s/%s" $secret.metadata.uid $secret.metadata.resourceVersion }}{{ end -}}
{{- $versions = append $versions (printf "%s=%s" . $version) -}}
{{- end -}}
{{- toJson (mustMergeOverwrite (dict "checksum/secrets" (join "," $versions | sha256sum)) (deepCopy .root.Values.podAnnotations)) -}}
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

{{/* Whether servers can mount it: a volume of one node is the sinks'. */}}
{{- define "turnfold.servedVolume" -}}
{{- if and (include "turnfold.inVolume" .) .Values.sink.enabled (eq .Values.history.volume.accessMode "ReadWriteMany") }}yes{{ end -}}
{{- end }}

{{/* What no schema can say: values that must fit together. */}}
{{- define "turnfold.check" -}}
{{- $v := .Values -}}
{{- if not $v.kafka.bootstrap -}}
{{- fail "at '/kafka/bootstrap': kafka.bootstrap must name the brokers, as host:port,host:port" -}}
{{- end -}}
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
{{- if and $oauth $v.worker.autoscaling.enabled -}}
{{- fail "worker.autoscaling cannot log in to Kafka by OAUTHBEARER: set worker.replicas instead" -}}
{{- end -}}
{{- $sasl := hasPrefix "SASL" $v.kafka.securityProtocol -}}
{{- range $place, $values := dict "kafka" $v.kafka "worker" $v.worker "sink" $v.sink "serve" $v.serve "worker.autoscaling" $v.worker.autoscaling -}}
{{- if and $oauth $values.saslSecret.name -}}
{{- fail (printf "%s.saslSecret is given, but kafka.saslMechanism is OAUTHBEARER: see docs/kubernetes.md" $place) -}}
{{- end -}}
{{- if and (not $sasl) $values.saslSecret.name -}}
{{- fail (printf "%s.saslSecret is given, but kafka.securityProtocol is %s: set SASL_SSL" $place $v.kafka.securityProtocol) -}}
{{- end -}}
{{- if and $values.tlsSecret.name (not (hasSuffix "SSL" $v.kafka.securityProtocol)) -}}
{{- fail (printf "%s.tlsSecret is given, but kafka.securityProtocol is %s: set SSL or SASL_SSL" $place $v.kafka.securityProtocol) -}}
{{- end -}}
{{- end -}}
{{- range $component := list "worker" "sink" "serve" -}}
{{- $values := get $v $component -}}
{{- if and $sasl (not $oauth) (not $v.kafka.saslSecret.name) (not $values.saslSecret.name) (or (eq $component "worker") $values.enabled) -}}
{{- fail (printf "kafka.securityProtocol is %s: %s.saslSecret.name, or kafka.saslSecret.name for all, must name the secret with the login" $v.kafka.securityProtocol $component) -}}
{{- end -}}
{{- end -}}
{{- if and $v.backfill.enabled (not $v.backfill.generation) -}}
{{- fail "backfill.generation must name the generation that is made" -}}
{{- end -}}
{{- if and $v.backfill.enabled $v.history.url -}}
{{- fail "backfill.enabled: the history lies in an object store (history.url), which is not folded in parts: run turnfold generation create there as one command" -}}
{{- end -}}
{{- if and $v.backfill.enabled (not $v.sink.enabled) (not $v.history.volume.existingClaim) -}}
{{- fail "backfill.enabled, but there is no history: enable the sink, or name the volume that holds one by history.volume.existingClaim" -}}
{{- end -}}
{{- if and $v.serve.enabled (not $v.serve.keysSecret.name) -}}
{{- fail "serve.keysSecret.name must name the secret with the key file (turnfold admin keys add): the API listens beyond its own pod" -}}
{{- end -}}
{{- end }}

{{/* A value as a variable has it: Helm reads 1000000 as a float, whose text is 1e+06. */}}
{{- define "turnfold.text" -}}
{{- if and (kindIs "float64" .) (eq (float64 (int64 .)) .) }}{{ int64 . }}{{ else }}{{ toString . }}{{ end -}}
{{- end }}

{{/* Variables of a component's process. */}}
{{- define "turnfold.env" -}}
{{- $v := .root.Values -}}
{{- $values := get $v .component -}}
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
{{- with include "turnfold.login" (dict "root" .root "values" $values "secret" "tlsSecret") | fromJson }}{{ if .name -}}
{{- if .caKey }}{{ $_ := set $set "TURNFOLD_KAFKA_TLS_CA" (printf "/tls/%s" .caKey) }}{{ end -}}
{{- if .certificateKey }}{{ $_ := set $set "TURNFOLD_KAFKA_TLS_CERTIFICATE" (printf "/tls/%s" .certificateKey) }}{{ end -}}
{{- if .keyKey }}{{ $_ := set $set "TURNFOLD_KAFKA_TLS_KEY" (printf "/tls/%s" .keyKey) }}{{ end -}}
{{- end }}{{ end -}}
{{- $set = mustMergeOverwrite $set .own $v.settings $values.settings -}}
{{- range $name, $value := $set }}
- name: {{ $name }}
  value: {{ include "turnfold.text" $value | quote }}
{{- end }}
{{- with include "turnfold.login" (dict "root" .root "values" $values "secret" "saslSecret") | fromJson }}{{ if .name }}
- name: TURNFOLD_KAFKA_SASL_USERNAME
  valueFrom: {secretKeyRef: {name: {{ .name }}, key: {{ .usernameKey }}}}
- name: TURNFOLD_KAFKA_SASL_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ .name }}, key: {{ .passwordKey }}}}
{{- end }}{{ end }}
{{- range $name, $at := include "turnfold.secretSettings" . | fromJson }}
- name: {{ $name }}
  valueFrom: {secretKeyRef: {name: {{ $at.name }}, key: {{ $at.key }}}}
{{- end }}
{{- end }}

{{/* What every pod of a component is: no root, no token, no service variables (TURNFOLD_SERVE_PORT would be one). */}}
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
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
topologySpreadConstraints:
{{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "turnfold.selector" $ | nindent 8 }}
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
{{- if (include "turnfold.login" (dict "root" .root "values" (get .root.Values .component) "secret" "tlsSecret") | fromJson).name }}
- {name: tls, mountPath: /tls, readOnly: true}
{{- end }}
{{- end }}

{{- define "turnfold.volumes" -}}
- name: tmp
  emptyDir: {sizeLimit: 1Gi}
{{- with (include "turnfold.login" (dict "root" .root "values" (get .root.Values .component) "secret" "tlsSecret") | fromJson).name }}
- name: tls
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- end }}

{{/* A volume that one node mounts: its pods go where the first of the component is. */}}
{{- define "turnfold.beside" -}}
{{- if and (include "turnfold.inVolume" .root) (ne .root.Values.history.volume.accessMode "ReadWriteMany") }}
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- include "turnfold.selector" . | nindent 12 }}
{{- end }}
{{- end }}

{{/* At most one pod of a component is away for a drain; one that is not ready keeps no node from it. */}}
{{- define "turnfold.budget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "turnfold.name" .root }}-{{ .component }}
  labels:
    {{- include "turnfold.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "turnfold.selector" . | nindent 6 }}
{{- end }}
