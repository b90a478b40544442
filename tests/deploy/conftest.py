"""The parsers that will read what is deployed, built once from their Go modules, and the schemas of
Kubernetes, KEDA and the Prometheus operator as their own releases carry them."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import once

TOOL = Path(__file__).with_name("tool")
ROOT = Path(__file__).parents[2]
CHART = ROOT / "docs" / "operations" / "chart"
DOCKERFILE = ROOT / "docs" / "operations" / "image" / "Dockerfile"
COMPOSE = ROOT / "docker-compose.yml"
BUILD_WITHIN = 1_800.0
"""Seconds for the first time: two minutes of CPU on a core of 2023, which other tests use, too."""
KUBERNETES = ("k8s.io/kubernetes", "v1.37.0", "h1:TDSD+Izz9inqs7SmtJCAu7L5/DuYW9hAZ3GBdF6Ddkw=")
KEDA = ("github.com/kedacore/keda/v2", "v2.21.0", "h1:R6z2HZvstK4RLUMxroNACzBj74xGxt3kG59b5Xc+Xps=")
OPERATOR = (
    "github.com/prometheus-operator/prometheus-operator", "v0.85.0",
    "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
)  # fmt: skip
"""Go modules with their version and the hash of their content."""
EITHER = {"anyOf": [{"type": "string"}, {"type": "number"}]}
"""A quantity, or a port by number or name."""


class Tool:
    """The program of `tests/deploy/tool`."""

    def __init__(self, program: Path) -> None:
        self._program = program

    def __call__(self, *words: str | Path, **options: Any) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [self._program, *map(str, words)],
            capture_output=True, text=True, check=False, timeout=120, **options,
        )  # fmt: skip

    def json(self, *words: str | Path, **options: Any) -> Any:
        """What it prints."""
        done = self(*words, **options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="session")
def tool(tmp_path_factory: pytest.TempPathFactory, worker: str) -> Tool:
    """Built by one of the test processes."""
    return Tool(once(tmp_path_factory, worker, "deploy-tool", _build) / "deploy")


def _build(folder: Path) -> None:
    go = shutil.which("go")
    assert go, "these tests need Go 1.26 or later"
    done = subprocess.run(
        [go, "build", "-C", str(TOOL), "-ldflags=-s -w", "-o", str(folder / "deploy"), "."],
        capture_output=True, text=True, timeout=BUILD_WITHIN, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def schemas(tmp_path_factory: pytest.TempPathFactory, worker: str) -> str:
    """Where kubeconform finds a kind's schema: a template of paths."""
    folder = once(tmp_path_factory, worker, "deploy-schemas", _write_schemas)
    return f"{folder}/{{{{ .ResourceKind }}}}{{{{ .KindSuffix }}}}.json"


def _write_schemas(folder: Path) -> None:
    swagger = _module(*KUBERNETES) / "api" / "openapi-spec" / "swagger.json"
    definitions = json.loads(swagger.read_bytes())["definitions"]
    for name, one in definitions.items():
        _make_strict(one)
        if name.endswith((".Quantity", ".IntOrString")):
            definitions[name] = EITHER
    for name, one in definitions.items():
        for kind in one.get("x-kubernetes-group-version-kind", ()):
            group = kind["group"].partition(".")[0]
            file = "-".join(filter(None, (kind["kind"], group, kind["version"]))).lower()
            if kind["kind"] in KINDS:
                schema = {"$ref": f"#/definitions/{name}", "definitions": definitions}
                (folder / f"{file}.json").write_text(json.dumps(schema))
    keda = _module(*KEDA) / "config" / "crd" / "bases"
    operator = _module(*OPERATOR) / "example" / "prometheus-operator-crd"
    for source in (
        keda / "keda.sh_scaledobjects.yaml",
        keda / "keda.sh_triggerauthentications.yaml",
        operator / "monitoring.coreos.com_podmonitors.yaml",
        operator / "monitoring.coreos.com_prometheusrules.yaml",
    ):
        crd = yaml.safe_load(source.read_text())["spec"]
        group = crd["group"].partition(".")[0]
        for version in crd["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            _make_strict(schema)
            name = f"{crd['names']['kind']}-{group}-{version['name']}".lower()
            (folder / f"{name}.json").write_text(json.dumps(schema))


KINDS = {
    "StatefulSet", "Deployment", "Service", "ServiceAccount", "PersistentVolumeClaim", "Pod",
    "PodDisruptionBudget", "NetworkPolicy", "Job",
}  # fmt: skip
"""Those of the chart; the test of all kinds fails for one more."""


def _module(name: str, version: str, content: str) -> Path:
    """The folder of a Go module, whose content is that of the hash."""
    done = subprocess.run(
        ["go", "mod", "download", "-json", f"{name}@{version}"],
        cwd="/", capture_output=True, text=True, timeout=BUILD_WITHIN, check=True,
    )  # fmt: skip
    told = json.loads(done.stdout)
    assert told["Sum"] == content
    return Path(told["Dir"])


def _make_strict(schema: Any) -> None:
    """A field that is not there is a fault, as `kubectl apply --validate=strict` has it."""
    if isinstance(schema, list):
        for one in schema:
            _make_strict(one)
    if not isinstance(schema, dict):
        return
    open_ = schema.get("x-kubernetes-preserve-unknown-fields")
    if isinstance(schema.get("properties"), dict) and not open_:
        schema.setdefault("additionalProperties", False)
    for one in list(schema.values()):
        _make_strict(one)


class Chart:
    """The chart, rendered for values."""

    def __init__(self, tool: Tool, folder: Path) -> None:
        self._tool, self._folder = tool, folder

    def files(
        self, values: dict[str, Any], secrets: dict[str, str] | None = None
    ) -> dict[str, str]:
        """By name of the template."""
        done = self._render(values, secrets)
        assert done.returncode == 0, done.stderr
        found: dict[str, str] = json.loads(done.stdout)
        return {Path(name).name: text for name, text in found.items()}

    def manifests(
        self, values: dict[str, Any], secrets: dict[str, str] | None = None
    ) -> list[dict[str, Any]]:
        """All of them. `secrets`: versions of the cluster's secrets by name; None: no cluster."""
        texts = [
            text for name, text in self.files(values, secrets).items() if name.endswith(".yaml")
        ]
        return [one for text in texts for one in yaml.safe_load_all(text) if one]

    def refusal(self, values: dict[str, Any]) -> str:
        """Why it is not rendered."""
        done = self._render(values)
        assert done.returncode == 1, done.stdout
        return done.stderr

    def _render(
        self, values: dict[str, Any], secrets: dict[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        file = self._folder / "values.yaml"
        file.write_text(yaml.safe_dump(values))
        if secrets is None:
            return self._tool("render", CHART, "memory", file)
        versions = self._folder / "secrets.json"
        versions.write_text(json.dumps(secrets))
        return self._tool("render", CHART, "memory", file, versions)


@pytest.fixture
def chart(tool: Tool, tmp_path: Path) -> Chart:
    return Chart(tool, tmp_path)


def merged(*values: dict[str, Any]) -> dict[str, Any]:
    """Values, the later ones before the earlier, level by level."""

    def over(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
        both = {name: over(one[name], other[name]) for name in one.keys() & other.keys()
                if isinstance(one[name], dict) and isinstance(other[name], dict)}  # fmt: skip
        return one | other | both

    made: dict[str, Any] = {}
    for value in values:
        made = over(made, value)
    return made
