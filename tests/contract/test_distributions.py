"""The wheels and sdists of `turnfold` and `turnfold-client`: the same bytes wherever they are
built, with licences and types, and without what only this repository needs."""

import ast
import os
import re
import shutil
import sys
import tarfile
import tomllib
import zipfile
from email.parser import BytesParser
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import pytest

import streams
import turnfold_client
from tests.building import ROOT, UV, run

pytestmark = pytest.mark.nightly

PROJECTS = {"turnfold": ROOT, "turnfold-client": ROOT / "clients" / "python"}
PACKAGES = {"turnfold": ["schemas", "sinks", "streams"], "turnfold-client": ["turnfold_client"]}
LICENSES = {
    "turnfold": ["LICENSE", "NOTICE", "streams/extractors/affect.LICENSE.md"],
    "turnfold-client": ["LICENSE"],
}
EXPRESSIONS = {
    "turnfold": "Apache-2.0 AND CC-BY-SA-4.0 AND MIT AND 0BSD",
    "turnfold-client": "Apache-2.0",
}
APACHE_2 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
"""SHA-256 of https://www.apache.org/licenses/LICENSE-2.0.txt."""
SOURCES = ("pyproject.toml", ".gitignore", "README.md", "LICENSE", "NOTICE", "schemas", "sinks",
           "streams", "clients", "tests", ".ci")  # fmt: skip
SKIPPED = shutil.ignore_patterns("__pycache__", "node_modules", "dist", "golden")


def tree(folder: Path, mode: int, seconds: int) -> Path:
    """A copy of the repository whose files have these permission bits and modification time."""
    folder.mkdir(parents=True)
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=SKIPPED)
        else:
            shutil.copy(source, folder / name)
    for path in folder.rglob("*"):
        if path.is_file():
            path.chmod(mode)
        os.utime(path, (seconds, seconds))
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[bytes]]:
    """File name -> its bytes: wheels made from the sdists, then wheels made from the tree."""
    base = tmp_path_factory.mktemp("distributions")
    first = tree(base / "a", 0o644, 1_500_000_000)
    second = tree(base / "somewhere" / "else", 0o600, 1_700_000_000)
    (second / "streams" / "__pycache__").mkdir()
    (second / "streams" / "__pycache__" / "cli.pyc").write_bytes(b"compiled")
    build = (UV, "build", "--quiet", "--all-packages", "--out-dir")
    run(*build, base / "1", folder=first, umask=0o022)
    run(*build, base / "2", "--sdist", "--wheel", folder=second, umask=0o077)
    names = {path.name for folder in ("1", "2") for path in (base / folder).glob("turnfold*")}
    return {
        name: [path.read_bytes() for path in sorted(base.glob(f"[12]/{name}"))] for name in names
    }


@pytest.fixture(scope="module")
def folder(built: dict[str, list[bytes]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first build's files."""
    made = tmp_path_factory.mktemp("built")
    for name, contents in built.items():
        (made / name).write_bytes(contents[0])
    return made


def version(project: str) -> str:
    declared = tomllib.loads((PROJECTS[project] / "pyproject.toml").read_text("utf-8"))
    return str(declared["project"]["version"])


def wheel(folder: Path, project: str) -> zipfile.ZipFile:
    name = project.replace("-", "_")
    return zipfile.ZipFile(folder / f"{name}-{version(project)}-py3-none-any.whl")


def sdist(folder: Path, project: str) -> tarfile.TarFile:
    return tarfile.open(folder / f"{project.replace('-', '_')}-{version(project)}.tar.gz")


def test_every_distribution_has_the_same_bytes_wherever_it_is_built(
    built: dict[str, list[bytes]],
) -> None:
    assert len(built) == 2 * len(PROJECTS)
    for name, contents in built.items():
        digests = {sha256(content).hexdigest() for content in contents}
        assert (len(contents), len(digests)) == (2, 1), name


@pytest.mark.component
@pytest.mark.parametrize("project", PROJECTS)
def test_a_wheel_says_its_licences_and_has_types(folder: Path, project: str) -> None:
    with wheel(folder, project) as archive:
        names = set(archive.namelist())
        (about,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = BytesParser().parsebytes(archive.read(about))
    info = about.rpartition("/")[0]
    assert metadata["License-Expression"] == EXPRESSIONS[project]
    assert sorted(metadata.get_all("License-File", [])) == LICENSES[project]
    assert {f"{info}/licenses/{name}" for name in LICENSES[project]} <= names
    assert {f"{package}/py.typed" for package in PACKAGES[project]} <= names
    assert {name.partition("/")[0] for name in names} == {info, *PACKAGES[project]}
    assert not [name for name in names if name.endswith(".pyc")]


@pytest.mark.component
@pytest.mark.parametrize("project", PROJECTS)
def test_an_sdist_holds_what_is_built_and_no_more(folder: Path, project: str) -> None:
    with sdist(folder, project) as archive:
        top = {name.split("/")[1] for name in archive.getnames()}
    licenses = {name for name in LICENSES[project] if "/" not in name}
    written = {"PKG-INFO", "pyproject.toml", "README.md", ".gitignore", *licenses}
    assert top - {".gitignore"} == written - {".gitignore"} | {*PACKAGES[project]}


def test_the_weights_and_the_word_list_are_in_the_wheel_and_in_the_notice(folder: Path) -> None:
    notice = (ROOT / "NOTICE").read_text("utf-8")
    with wheel(folder, "turnfold") as archive:
        names = archive.namelist()
    for name, license_name in (("affect_en.tsv.gz", "CC BY-SA 4.0"), ("affect_vader.txt", "MIT")):
        assert f"streams/extractors/{name}" in names
        assert f"streams/extractors/{name}" in notice and license_name in notice


def test_the_licence_is_the_apache_licence_whole() -> None:
    for folder in (ROOT, ROOT / "clients" / "python", ROOT / "clients" / "typescript"):
        assert sha256((folder / "LICENSE").read_bytes()).hexdigest() == APACHE_2, folder


@pytest.mark.parametrize("module", [streams, turnfold_client])
def test_a_package_says_its_version_and_no_name_that_it_has_not(module: ModuleType) -> None:
    versions = {"streams": version("turnfold"), "turnfold_client": version("turnfold-client")}
    assert module.__version__ == versions[module.__name__]
    assert not hasattr(module, "nothing")


def test_lock_files_name_no_registry() -> None:
    locks = [
        ROOT / folder / "package-lock.json" for folder in ("clients/typescript", "scripts/asyncapi")
    ]
    assert [lock for lock in locks if '"resolved"' in lock.read_text("utf-8")] == []


def imported(path: Path) -> set[str]:
    """The top-level packages that a Python file imports."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    plain = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    relative = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    assert not [node for node in relative if node.level or node.module is None], path
    return {name.partition(".")[0] for name in (*plain, *(str(node.module) for node in relative))}


OF_EXTRAS = {  # what a module of the client imports besides, and what installs it
    "langchain": ("langchain_core", "langchain"),
    "langgraph": ("langgraph", "langgraph"),
    "store_items": ("langgraph", "langgraph"),
    "llama_index": ("llama_index", "llama-index"),
    "openai_agents": ("agents", "openai-agents"),
    "tracing": ("opentelemetry", "tracing"),
}


def test_the_python_client_imports_what_it_declares() -> None:
    own = {"turnfold_client", "httpx", "pydantic", "pydantic_core"}
    for path in sorted((ROOT / "clients" / "python").rglob("*.py")):
        packages = imported(path) - sys.stdlib_module_names
        assert packages <= own | set(OF_EXTRAS.get(path.stem, ())[:1]), path
    extras = tomllib.loads((PROJECTS["turnfold-client"] / "pyproject.toml").read_text("utf-8"))
    assert set(extras["project"]["optional-dependencies"]) == {one for _, one in OF_EXTRAS.values()}
    project = tomllib.loads((PROJECTS["turnfold-client"] / "pyproject.toml").read_text("utf-8"))
    declared = {re.split(r"[>=<]", line)[0] for line in project["project"]["dependencies"]}
    assert declared == {"httpx", "pydantic"}


def test_the_typescript_client_imports_its_own_files_alone() -> None:
    """But for `ai.ts`, the middleware of the package `ai`."""
    files = sorted((ROOT / "clients" / "typescript" / "src").glob("*.ts"))
    middleware = (ROOT / "clients" / "typescript" / "src" / "ai.ts").read_text("utf-8")
    assert set(re.findall(r'from "(\w.*?)"', middleware)) == {"ai"}
    files = [path for path in files if path.name != "ai.ts"]
    sources = [
        name for path in files for name in re.findall(r'from "(.+?)"', path.read_text("utf-8"))
    ]
    assert sources
    assert {name for name in sources if not re.fullmatch(r"\./\w+\.js", name)} == set()
