"""The Helm chart: what it renders is valid, safe and complete; wrong values are refused."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from streams.commands.config import default_settings
from streams.configuration import SECRETS
from tests.deploy.conftest import CHART, ROOT, Chart, Tool, merged

pytestmark = pytest.mark.needs("go")

LEAST: dict[str, Any] = {
    "kafka": {"bootstrap": "b-0.kafka:9093,b-1.kafka:9094"},
    "serve": {"keysSecret": {"name": "api-keys"}},
}
SECURE = {
    "kafka": {
        "securityProtocol": "SASL_SSL",
        "saslSecret": {"name": "kafka-login"},
        "tlsSecret": {"name": "kafka-tls", "caKey": "ca.crt", "certificateKey": "tls.crt",
                      "keyKey": "tls.key"},
    },
}  # fmt: skip
OAUTH = {
    "kafka": {"securityProtocol": "SASL_SSL", "saslMechanism": "OAUTHBEARER", "topicPrefix": "a."},
    "settings": {"TURNFOLD_KAFKA_OAUTH_TOKEN_URL": "https://id.example/token",
                 "TURNFOLD_KAFKA_OAUTH_CLIENT_ID": "turnfold"},
    "secretSettings": {"TURNFOLD_KAFKA_OAUTH_CLIENT_SECRET": {"name": "oauth", "key": "secret"}},
}  # fmt: skip
SCALED = {"worker": {"autoscaling": {"enabled": True}}}
IN_STORE = {"history": {"url": "s3://bucket/memory", "credentialsSecret": "s3-login"}}
ON_DISK = {"serve": {"storage": {"size": "50Gi", "storageClass": "ssd"}}}
SHARED = {"history": {"volume": {"accessMode": "ReadWriteMany", "existingClaim": "mine"}}}
OWN = {
    part: {
        "saslSecret": {"name": f"{part}-login"},
        "tlsSecret": {"name": f"{part}-tls", "certificateKey": "tls.crt", "keyKey": "tls.key"},
        "secretSettings": {"TURNFOLD_TOKENIZER": {"name": f"{part}-own", "key": "key"}},
        "serviceAccount": {"annotations": {"role": part}},
    }
    for part in ("worker", "sink", "serve")
}
EACH = {
    "kafka": {"securityProtocol": "SASL_SSL"},
    **OWN,
    "secretSettings": {
        "TURNFOLD_LLM_API_KEY": {"name": "llm", "key": "key"},
        "TURNFOLD_EMBED_API_KEY": {"name": "embeddings", "key": "key"},
        "TURNFOLD_REGISTRY_PASSWORD": {"name": "registry", "key": "key"},
        "OTEL_EXPORTER_OTLP_HEADERS": {"name": "collector", "key": "headers"},
    },
    "history": {"url": "s3://b/m", "credentialsSecret": "s3-write", "readerSecret": "s3-read"},
}
WATCHED = {
    "podMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
}
BACKFILL = {
    "backfill": {
        "enabled": True, "generation": "Plain_2", "parts": 3, "extractor": "none",
        "options": ["--set", "max_intents=9", "--set", 1_000_000],
    },
}  # fmt: skip
BESIDE_NOBODY = {"sink": {"enabled": False}, "history": {"volume": {"existingClaim": "of-run"}}}
BARE = {"sink": {"enabled": False}, "networkPolicy": {"enabled": False},
        "serviceAccount": {"name": "theirs"}}  # fmt: skip
ALL_SET = {
    "settings": {"TURNFOLD_TRACES": True, "TURNFOLD_LLM_MODEL": "m"},
    "secretSettings": {"TURNFOLD_LLM_API_KEY": {"name": "llm", "key": "key"}},
    "worker": {"settings": {"TURNFOLD_WORKER_MAX_RECORDS": 1_000_000}},
    "image": {"digest": "sha256:" + "0" * 64, "pullSecrets": ["registry"]},
    "podAnnotations": {"a": "b"}, "nodeSelector": {"disk": "ssd"}, "priorityClassName": "high",
    "tolerations": [{"key": "memory", "operator": "Exists"}],
    "networkPolicy": {
        "kafkaTo": [{"ipBlock": {"cidr": "10.0.0.0/8"}}],
        "extraEgress": [{"ports": [{"port": 443}]}],
    },
}  # fmt: skip
COLLECTOR = {"OTEL_EXPORTER_OTLP_HEADERS"}
ENDING = ("test", "backfill")
"""Pods that do their work and end: nobody asks them for anything."""
VARIANTS = {
    "least": (LEAST,), "secure": (LEAST, SECURE), "scaled": (LEAST, SECURE, SCALED),
    "plainly scaled": (LEAST, SCALED), "in a store": (LEAST, IN_STORE), "shared": (LEAST, SHARED),
    "oauth": (LEAST, OAUTH), "bare": (LEAST, BARE), "all set": (LEAST, SECURE, SCALED, ALL_SET),
    "backfill": (LEAST, SECURE, BACKFILL, ALL_SET),
    "backfill of a run's history": (LEAST, BACKFILL, BESIDE_NOBODY),
    "rows on disk": (LEAST, ON_DISK), "each its own": (LEAST, EACH), "watched": (LEAST, WATCHED),
    "watched with one account": (LEAST, EACH, WATCHED, BARE),
}  # fmt: skip
every_variant = pytest.mark.parametrize("values", VARIANTS.values(), ids=VARIANTS)
Values = tuple[dict[str, Any], ...]


def pods(manifests: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The component and spec of each pod."""
    for one in manifests:
        component = one["metadata"]["labels"]["app.kubernetes.io/component"]
        if one["kind"] == "Pod":
            yield component, one["spec"]
        elif one["kind"] in ("StatefulSet", "Deployment", "Job"):
            yield component, one["spec"]["template"]["spec"]


def one_of(manifests: list[dict[str, Any]], kind: str, component: str) -> dict[str, Any]:
    labelled = [one for one in manifests if one["kind"] == kind]
    part = "app.kubernetes.io/component"
    (found,) = [one for one in labelled if one["metadata"]["labels"][part] == component]
    return found


def process_of(manifests: list[dict[str, Any]], component: str) -> dict[str, Any]:
    """What keeps the pods of a part running."""
    kinds = [one for one in manifests if one["kind"] in ("Deployment", "StatefulSet")]
    part = "app.kubernetes.io/component"
    (found,) = [one for one in kinds if one["metadata"]["labels"][part] == component]
    return found


@every_variant
def test_what_is_rendered_is_valid_by_the_schemas_of_kubernetes_and_keda(
    values: Values, chart: Chart, tool: Tool, schemas: str, tmp_path: Path
) -> None:
    manifests = chart.manifests(merged(*values))
    file = tmp_path / "manifests.yaml"
    file.write_text(yaml.safe_dump_all(manifests))
    done = tool("conform", schemas, file)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(manifests) > 5


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (lambda one: one["spec"].update(replicass=1), "replicass"),
        (lambda one: one["spec"].update(replicas="three"), "replicas"),
        (lambda one: one["spec"].pop("selector"), "selector"),
        (lambda one: one["spec"]["template"]["spec"]["containers"][0].pop("name"), "name"),
        (lambda one: one.update(kind="Statefulset2"), "Statefulset2"),
    ],
)
def test_those_schemas_refuse_what_is_wrong(
    broken: Any, said: str, chart: Chart, tool: Tool, schemas: str, tmp_path: Path
) -> None:
    one = one_of(chart.manifests(LEAST), "StatefulSet", "worker")
    broken(one)
    file = tmp_path / "manifest.yaml"
    file.write_text(yaml.safe_dump(one))
    done = tool("conform", schemas, file)
    assert done.returncode == 1
    assert said in done.stderr


@every_variant
def test_no_pod_has_more_rights_than_it_needs(values: Values, chart: Chart) -> None:
    found = list(pods(chart.manifests(merged(*values))))
    assert found
    for _, spec in found:
        assert spec["automountServiceAccountToken"] is False
        assert spec["enableServiceLinks"] is False  # TURNFOLD_SERVE_PORT would be tcp://…
        about = spec["securityContext"]
        assert about["runAsNonRoot"] is True and about["runAsUser"] == 10001
        assert about["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }  # fmt: skip
            limits, requests = (container["resources"][one] for one in ("limits", "requests"))
            assert limits.keys() == requests.keys() >= {"cpu", "memory"}


@every_variant
def test_secrets_are_named_and_settings_are_documented(values: Values, chart: Chart) -> None:
    known = {one.variable for one in default_settings()}
    for component, spec in pods(chart.manifests(merged(*values))):
        variables = spec["containers"][0]["env"]
        names = [one["name"] for one in variables]
        assert len(names) == len(set(names))
        if component not in ENDING:  # else `turnfold admin doctor` warns of the metrics port
            guarded = merged(*values).get("networkPolicy", {}).get("enabled", True)
            assert ("TURNFOLD_METRICS_GUARDED" in names) == guarded
        assert set(names) - COLLECTOR <= known | {"POD_NAME"}, component
        for one in variables:
            if SECRETS.search(one["name"]):
                assert "secretKeyRef" in one["valueFrom"], one


@every_variant
def test_each_part_has_probes_a_budget_and_a_policy(values: Values, chart: Chart) -> None:
    given = merged(*values)
    manifests = chart.manifests(given)
    for component, spec in pods(manifests):
        if component in ENDING:
            continue
        (container,) = spec["containers"]
        ports = {one["name"] for one in container["ports"]}
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert container[probe]["httpGet"]["port"] in ports
        budget = one_of(manifests, "PodDisruptionBudget", component)
        assert budget["spec"]["maxUnavailable"] == 1
        assert budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
        selected = budget["spec"]["selector"]["matchLabels"]
        if given.get("networkPolicy", {}).get("enabled", True):
            policy = one_of(manifests, "NetworkPolicy", component)["spec"]
            assert policy["podSelector"]["matchLabels"] == selected
            assert policy["policyTypes"] == ["Ingress", "Egress"]
            open_ = {port["port"] for rule in policy["ingress"] for port in rule["ports"]}
            assert open_ <= ports
            assert ("http" in open_) == (component == "serve")
            out = [port["port"] for rule in policy["egress"] for port in rule["ports"]]
            assert {53, 9093, 9094} <= set(out)
        labels = process_of(manifests, component)["spec"]["template"]["metadata"]["labels"]
        assert selected.items() <= labels.items()


@every_variant
def test_every_volume_that_is_mounted_is_there_and_only_those_can_be_written(
    values: Values, chart: Chart
) -> None:
    manifests = chart.manifests(merged(*values))
    for component, spec in pods(manifests):
        if component == "test":
            continue
        there = {one["name"] for one in spec["volumes"]}
        if component not in ENDING:
            claims = process_of(manifests, component)["spec"].get("volumeClaimTemplates", ())
            there |= {one["metadata"]["name"] for one in claims}
        mounts = spec["containers"][0]["volumeMounts"]
        assert {one["name"] for one in mounts} == there
        writable = {one["mountPath"] for one in mounts if not one.get("readOnly")}
        assert writable - {"/rows"} == {"/data", "/tmp"}


def test_a_backfill_is_an_indexed_job_with_a_pod_for_each_part(chart: Chart) -> None:
    manifests = chart.manifests(merged(LEAST, BACKFILL))
    job = one_of(manifests, "Job", "backfill")
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 3, 4)
    assert pod["containers"][0]["args"] == [
        "generation", "create", "Plain_2", "--part", "$(JOB_COMPLETION_INDEX)/3",
        "--extractor", "none", "--set", "max_intents=9", "--set", "1000000",
    ]  # fmt: skip
    policy = one_of(manifests, "NetworkPolicy", "backfill")["spec"]
    labels = spec["template"]["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in policy and "egress" not in policy  # nothing in, nothing out
    history = one_of(manifests, "StatefulSet", "sink")["spec"]["template"]["spec"]
    assert pod["volumes"][0] == history["volumes"][0]
    term = pod["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
    assert term["labelSelector"]["matchLabels"]["app.kubernetes.io/component"] == "sink"
    assert all(one["kind"] != "Job" for one in chart.manifests(LEAST))


def test_a_job_with_other_values_has_another_name_which_fits_its_pods(chart: Chart) -> None:
    """Kubernetes refuses to change a Job, and names an indexed one's pods NAME-INDEX."""
    long = {"nameOverride": "n" * 30 + ".with-dots"}
    changes: list[dict[str, Any]] = [
        {}, {"parts": 4}, {"options": []}, {"retries": 0}, {"generation": "other"},
    ]  # fmt: skip
    given = [merged(LEAST, long, BACKFILL, {"backfill": change}) for change in changes]
    given.append(merged(LEAST, long, BACKFILL, {"image": {"tag": "next"}}))
    names = {one_of(chart.manifests(one), "Job", "backfill")["metadata"]["name"] for one in given}
    assert len(names) == len(given)
    assert all("." not in name and len(f"{name}-999") <= 63 for name in names)
    more = merged(given[0], {"backfill": {"parallel": 2}})  # this one can be changed
    assert one_of(chart.manifests(more), "Job", "backfill")["metadata"]["name"] in names


def test_a_worker_is_a_static_member_under_the_name_of_its_pod(chart: Chart) -> None:
    one = one_of(chart.manifests(LEAST), "StatefulSet", "worker")["spec"]
    variables = {v["name"]: v for v in one["template"]["spec"]["containers"][0]["env"]}
    of_pod = {"fieldRef": {"fieldPath": "metadata.name"}}
    assert variables["TURNFOLD_WORKER_INSTANCE"]["valueFrom"] == of_pod
    assert variables["TURNFOLD_WORKER_STORE"]["value"] == "rocksdb"
    assert variables["TURNFOLD_WORKER_STANDBYS"]["value"] == "1"


def test_keda_scales_by_lag_and_never_beyond_the_partitions(chart: Chart) -> None:
    manifests = chart.manifests(merged(LEAST, SECURE, SCALED))
    scaled = one_of(manifests, "ScaledObject", "worker")["spec"]
    worker = one_of(manifests, "StatefulSet", "worker")
    assert scaled["scaleTargetRef"]["name"] == worker["metadata"]["name"]
    assert "replicas" not in worker["spec"]
    assert scaled["maxReplicaCount"] == 12
    assert {one["metadata"]["consumerGroup"] for one in scaled["triggers"]} == {"turnfold"}
    assert "ScaledObject" not in {one["kind"] for one in chart.manifests(LEAST)}
    prefixed = chart.manifests(merged(LEAST, SCALED, {"kafka": {"topicPrefix": "acme."}}))
    triggers = one_of(prefixed, "ScaledObject", "worker")["spec"]["triggers"]
    assert triggers[0]["metadata"]["consumerGroup"] == "acme.turnfold"
    assert triggers[0]["metadata"]["topic"] == "acme.turns"
    too_many = merged(LEAST, SCALED, {"worker": {"autoscaling": {"maxReplicas": 13}}})
    assert "kafka.partitions is 12" in chart.refusal(too_many)


def test_large_numbers_are_no_powers_of_ten(chart: Chart) -> None:
    manifests = chart.manifests(merged(LEAST, ALL_SET))
    worker = one_of(manifests, "StatefulSet", "worker")["spec"]["template"]["spec"]
    values = {one["name"]: one.get("value") for one in worker["containers"][0]["env"]}
    assert values["TURNFOLD_WORKER_MAX_RECORDS"] == "1000000"
    assert values["TURNFOLD_TRACES"] == "true"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"kafka": {"bootstrap": ""}}, "/kafka/bootstrap"),
        ({"kafka": {"bootstrap": "nohost"}}, "/kafka/bootstrap"),
        ({"kafka": {"bootstrap": "b:1", "securityProtocol": "SASL"}}, "/kafka/securityProtocol"),
        ({"kafka": {"securityProtocol": "SASL_SSL"}}, "kafka.saslSecret.name"),
        ({"kafka": {"saslSecret": {"name": "x"}}}, "set SASL_SSL"),
        ({"kafka": {"tlsSecret": {"name": "x"}}}, "set SSL"),
        ({"sink": {"saslSecret": {"name": "x"}}}, "sink.saslSecret is given"),
        ({"serve": {"tlsSecret": {"name": "x"}}}, "serve.tlsSecret is given"),
        (
            {"worker": {"autoscaling": {"saslSecret": {"name": "x"}}}},
            "worker.autoscaling.saslSecret",
        ),
        (merged(OAUTH, {"serve": {"saslSecret": {"name": "x"}}}), "serve.saslSecret is given"),
        (merged(EACH, {"sink": {"saslSecret": {"name": ""}}}), "sink.saslSecret.name, or kafka."),
        ({"serve": {"secretSettings": {"PATH": {"name": "x", "key": "y"}}}}, "PATH"),
        ({"podMonitor": {"interval": "often"}}, "/podMonitor/interval"),
        ({"kafka": {"saslSecret": {"password": "x"}}}, "password"),
        ({"kafka": {"topicPrefix": "a b"}}, "/kafka/topicPrefix"),
        (merged(OAUTH, {"kafka": {"saslSecret": {"name": "x"}}}), "kafka.saslSecret is given"),
        (merged(OAUTH, SCALED), "cannot log in to Kafka by OAUTHBEARER"),
        ({"worker": {"replicas": 0}}, "/worker/replicas"),
        ({"worker": {"replicas": 13}}, "kafka.partitions is 12"),
        ({"worker": {"replica": 2}}, "replica"),
        ({"worker": {"storage": {"size": "big"}}}, "/worker/storage/size"),
        ({"worker": {"resources": {"limits": {"cpu": "much"}}}}, "/worker/resources/limits/cpu"),
        ({"serve": {"keysSecret": {"name": ""}}}, "serve.keysSecret.name"),
        ({"settings": {"TURNFOLD_KEY": "x"}}, "TURNFOLD_KEY"),
        ({"settings": {"TURNFOLD_LLM_API_KEY": "x"}}, "TURNFOLD_LLM_API_KEY"),
        ({"settings": {"TURNFOLD_SERVE_PORT": 1}}, "TURNFOLD_SERVE_PORT"),
        ({"serve": {"settings": {"TURNFOLD_SERVE_STORE": "rocksdb"}}}, "TURNFOLD_SERVE_STORE"),
        ({"serve": {"storage": {"size": "20"}}}, "/serve/storage/size"),
        ({"history": {"url": "ftp://x"}}, "/history/url"),
        ({"image": {"digest": "latest"}}, "/image/digest"),
        ({"backfill": {"enabled": True}}, "backfill.generation must name"),
        (merged(BACKFILL, {"backfill": {"generation": "live"}}), "/backfill/generation"),
        (merged(BACKFILL, {"backfill": {"generation": "a/b"}}), "/backfill/generation"),
        (merged(BACKFILL, {"backfill": {"parts": 0}}), "/backfill/parts"),
        (merged(BACKFILL, {"backfill": {"extractor": "llm"}}), "/backfill/extractor"),
        (merged(BACKFILL, IN_STORE), "the history lies in an object store"),
        (merged(BACKFILL, {"sink": {"enabled": False}}), "existingClaim"),
        ({"nosuch": 1}, "nosuch"),
    ],
)
def test_wrong_values_are_refused_by_name(values: dict[str, Any], said: str, chart: Chart) -> None:
    assert said in chart.refusal(merged(LEAST, values))


def test_the_notes_say_what_to_do_next(chart: Chart) -> None:
    notes = chart.files(LEAST)["NOTES.txt"]
    for text in ("turnfold admin doctor", "rollout status", "port-forward", "not encrypted"):
        assert text in notes
    assert "Plain_2" not in notes
    assert "Plain_2 is being made in 3 parts" in chart.files(merged(LEAST, BACKFILL))["NOTES.txt"]
    secure = chart.files(merged(LEAST, SECURE, IN_STORE))["NOTES.txt"]
    assert "not encrypted" not in secure
    assert "s3://bucket/memory" in secure


def test_servers_read_the_object_store_that_sinks_write(chart: Chart) -> None:
    manifests = chart.manifests(merged(LEAST, IN_STORE))
    (serve,) = [spec for component, spec in pods(manifests) if component == "serve"]
    (container,) = serve["containers"]
    env = {one["name"]: one.get("value") for one in container["env"]}
    assert env["TURNFOLD_HISTORY"] == "s3://bucket/memory"
    assert env["TURNFOLD_SEARCH_FOLDER"] == "/data/search"
    assert container["envFrom"] == [{"secretRef": {"name": "s3-login"}}]
    (data,) = [one for one in serve["volumes"] if one["name"] == "data"]
    assert data["ephemeral"]["volumeClaimTemplate"]["spec"]["resources"]["requests"]["storage"]
    for component, reaches in (("serve", True), ("sink", True), ("worker", False)):
        policy = one_of(manifests, "NetworkPolicy", component)["spec"]
        ports = [port["port"] for rule in policy["egress"] for port in rule["ports"]]
        assert (443 in ports) == reaches


def test_a_server_with_rows_on_disk_has_a_volume_that_a_new_pod_finds(chart: Chart) -> None:
    manifests = chart.manifests(merged(LEAST, ON_DISK))
    serve = one_of(manifests, "StatefulSet", "serve")["spec"]
    (container,) = serve["template"]["spec"]["containers"]
    env = {one["name"]: one.get("value") for one in container["env"]}
    assert (env["TURNFOLD_SERVE_STORE"], env["TURNFOLD_SERVE_DATA"]) == ("rocksdb", "/rows")
    (rows,) = [one for one in container["volumeMounts"] if one["mountPath"] == "/rows"]
    (claim,) = serve["volumeClaimTemplates"]
    assert claim["metadata"]["name"] == rows["name"]
    assert claim["spec"]["storageClassName"] == "ssd"
    assert claim["spec"]["resources"]["requests"]["storage"] == "50Gi"
    names = {one["metadata"]["name"] for one in manifests if one["kind"] == "Service"}
    assert serve["serviceName"] in names
    in_memory = one_of(chart.manifests(LEAST), "Deployment", "serve")["spec"]["template"]["spec"]
    assert "TURNFOLD_SERVE_DATA" not in {one["name"] for one in in_memory["containers"][0]["env"]}


def secrets_of(spec: dict[str, Any]) -> set[str]:
    """The names of all secrets that a pod reads."""
    (container,) = spec["containers"]
    variables = [one["valueFrom"] for one in container["env"] if "valueFrom" in one]
    return {
        *(one["secretKeyRef"]["name"] for one in variables if "secretKeyRef" in one),
        *(one["secretRef"]["name"] for one in container.get("envFrom", ())),
        *(one["secret"]["secretName"] for one in spec.get("volumes", ()) if "secret" in one),
    }


def test_each_part_has_the_secrets_that_it_reads_and_no_others(chart: Chart) -> None:
    values = merged(LEAST, SECURE, EACH, SCALED)
    manifests = chart.manifests(values)
    have = {component: secrets_of(spec) for component, spec in pods(manifests)}
    own = {part: {f"{part}-login", f"{part}-tls", f"{part}-own", "collector"} for part in OWN}
    assert have == {
        "worker": own["worker"] | {"llm", "registry"},
        "sink": own["sink"] | {"s3-write"},
        "serve": own["serve"] | {"embeddings", "s3-read", "api-keys"},
        "test": set(),
    }
    scaler = one_of(manifests, "TriggerAuthentication", "worker")["spec"]["secretTargetRef"]
    assert {one["name"] for one in scaler} == {"worker-login", "worker-tls"}
    keda = {"worker": {"autoscaling": {"saslSecret": {"name": "keda-login"}}}}
    manifests = chart.manifests(merged(values, keda))
    scaler = one_of(manifests, "TriggerAuthentication", "worker")["spec"]["secretTargetRef"]
    assert {one["name"] for one in scaler} == {"keda-login", "worker-tls"}


def test_a_part_without_a_login_of_its_own_has_that_of_all(chart: Chart) -> None:
    for part in OWN:
        manifests = chart.manifests(merged(LEAST, SECURE, {part: OWN[part]}))
        for component, spec in pods(manifests):
            logins = {one for one in secrets_of(spec) if one.endswith("-login")}
            if component != "test":
                assert logins == {f"{part}-login" if component == part else "kafka-login"}


def test_each_part_has_an_account_of_its_own(chart: Chart) -> None:
    def accounts(*values: dict[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
        manifests = chart.manifests(merged(LEAST, BACKFILL, *values))
        made = {one["metadata"]["name"]: one["metadata"].get("annotations")
                for one in manifests if one["kind"] == "ServiceAccount"}  # fmt: skip
        return {part: spec["serviceAccountName"] for part, spec in pods(manifests)}, made

    used, made = accounts({"sink": {"serviceAccount": {"annotations": {"role": "writes"}}}})
    assert len(set(used.values())) == len(used) == 5
    assert set(used.values()) - {"default"} == made.keys()
    assert {name for name, about in made.items() if about} == {used["sink"]}
    used, made = accounts({"serve": {"serviceAccount": {"name": "theirs"}}})
    assert used["serve"] == "theirs" and len(made) == 3
    used, made = accounts({"serviceAccount": {"name": "theirs"}})
    assert set(used.values()) == {"theirs"} and not made


def test_pods_start_again_when_a_secret_that_they_read_changes(chart: Chart) -> None:
    values = merged(LEAST, SECURE, EACH, {"podAnnotations": {"a": "b"}})
    parts = {part: spec for part, spec in pods(chart.manifests(values)) if part not in ENDING}
    versions = dict.fromkeys(set().union(*map(secrets_of, parts.values())), "1")

    def checksums(versions: dict[str, str] | None) -> dict[str, str]:
        manifests = chart.manifests(values, versions)
        templates = {part: process_of(manifests, part)["spec"]["template"] for part in parts}
        annotations = {part: one["metadata"]["annotations"] for part, one in templates.items()}
        assert all(one["a"] == "b" for one in annotations.values())
        return {part: one["checksum/secrets"] for part, one in annotations.items()}

    before = checksums(versions)
    assert before == checksums(versions) and checksums(None) == checksums({})
    for name in versions:
        after = checksums(versions | {name: "2"})
        changed = {part for part in parts if after[part] != before[part]}
        assert changed == {part for part, spec in parts.items() if name in secrets_of(spec)}, name


def test_pods_of_a_part_are_spread_over_zones_and_nodes(chart: Chart) -> None:
    manifests = chart.manifests(merged(LEAST, {"sink": {"replicas": 2}}))
    for part, spec in pods(manifests):
        terms = spec["topologySpreadConstraints"]
        assert [one["topologyKey"].rpartition("/")[2] for one in terms] == ["zone", "hostname"]
        labels = {one["labelSelector"]["matchLabels"]["app.kubernetes.io/component"]
                  for one in terms}  # fmt: skip
        assert labels == {part}


@pytest.mark.parametrize("mode", ["ReadWriteOnce", "ReadWriteMany"])
def test_a_volume_of_one_node_is_the_sinks_alone(mode: str, chart: Chart) -> None:
    values = merged(LEAST, {"history": {"volume": {"accessMode": mode}}})
    parts = dict(pods(chart.manifests(values)))
    claims = {part for part, spec in parts.items() for one in spec.get("volumes", ())
              if "persistentVolumeClaim" in one}  # fmt: skip
    reads = {one["name"] for one in parts["serve"]["containers"][0]["env"]}
    many = mode == "ReadWriteMany"
    assert claims == ({"sink", "serve"} if many else {"sink"})
    assert ("TURNFOLD_HISTORY" in reads) == many
    assert "affinity" not in parts["serve"] and ("affinity" in parts["sink"]) != many
    assert ("do not read" in chart.files(values)["NOTES.txt"]) != many


def test_metrics_of_a_server_can_be_scraped_from_inside_only(chart: Chart) -> None:
    for kind, ports in (("ClusterIP", {"http", "metrics"}), ("LoadBalancer", {"http"}),
                        ("NodePort", {"http"})):  # fmt: skip
        manifests = chart.manifests(merged(LEAST, {"serve": {"service": {"type": kind}}}))
        service = one_of(manifests, "Service", "serve")["spec"]
        assert {one["name"] for one in service["ports"]} == ports


def test_the_monitor_names_the_jobs_as_the_rules_know_them(chart: Chart) -> None:
    manifests = chart.manifests(merged(LEAST, WATCHED))
    monitor = one_of(manifests, "PodMonitor", "monitoring")
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    (term,) = monitor["spec"]["selector"]["matchExpressions"]
    (relabeling,) = endpoint["relabelings"]
    assert relabeling["targetLabel"] == "job"
    label = term["key"].replace(".", "_").replace("/", "_")
    assert relabeling["sourceLabels"] == [f"__meta_kubernetes_pod_label_{label}"]
    jobs = {relabeling["replacement"].replace("$1", one) for one in term["values"]}
    assert jobs == {f"turnfold-{one}" for one in ("worker", "sink", "serve", "extract")}
    for part, spec in pods(manifests):
        ports = {one["name"] for one in spec["containers"][0].get("ports", ())}
        assert (endpoint["port"] in ports) == (part in term["values"])
    kinds = {one["kind"] for one in chart.manifests(LEAST)}
    assert not kinds & {"PodMonitor", "PrometheusRule"}


def test_the_rules_are_those_of_the_repository(chart: Chart) -> None:
    shipped = yaml.safe_load((ROOT / "docs" / "operations" / "alerts.yml").read_text())
    rule = one_of(chart.manifests(merged(LEAST, WATCHED)), "PrometheusRule", "monitoring")
    assert rule["spec"] == shipped
    assert (CHART / "alerts.yml").resolve() == ROOT / "docs" / "operations" / "alerts.yml"
    without = merged(LEAST, WATCHED, {"sink": {"enabled": False}})
    (group,) = one_of(chart.manifests(without), "PrometheusRule", "monitoring")["spec"]["groups"]
    absent = [one for one in shipped["groups"][0]["rules"] if one not in group["rules"]]
    assert [one["labels"]["component"] for one in absent] == ["sink"]


def test_helm_s_lint_has_no_warning_with_the_chart_s_own_values(tool: Tool) -> None:
    done = tool("lint", CHART, "memory")
    assert done.returncode == 0, done.stderr


def test_every_value_has_a_schema_and_every_schema_a_value() -> None:
    """So neither can be forgotten."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())

    def compared(value: Any, described: Any, place: str) -> Iterator[str]:
        if not isinstance(value, dict) or "properties" not in described:
            return
        assert described["additionalProperties"] is False, place
        assert value.keys() == described["properties"].keys() - {"global"}, place
        yield place
        for name in value:
            yield from compared(value[name], described["properties"][name], f"{place}/{name}")

    assert len(list(compared(values, schema, ""))) > 15


def test_the_chart_s_version_is_the_project_s(chart: Chart) -> None:
    from streams import __version__

    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert about["appVersion"] == __version__
    images = {spec["containers"][0]["image"] for _, spec in pods(chart.manifests(LEAST))}
    assert images == {f"turnfold:{__version__}"}
