"""What is named exists: pages and headings of docs/, anchors, paths of code."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOT_TEXT = {".gz", ".png", ".lock", ".parquet"}
PAGE = re.compile(r"\bdocs/([a-z_-]+(?:/[a-z_-]+)*\.md)((?:\"\"\")?,? ?\(?)")
HEADING_AFTER = re.compile(r"^, (?:\"([^\"]+)\"|([A-Z].*))", re.DOTALL)
LINE_BREAK = re.compile(r"[\"']?\n\s*(?:#|--|//|\*|f?[\"'])?\s*")
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]*)\)")
CODE_PATH = re.compile(r"`((?:streams|sinks|schemas|tests|benchmarks|scripts)/[\w./-]+)`")
RETIRED = re.compile(
    r"\bdesign 0\d\b|\bseeds? ?0\d\d\b|\bseed_0\d\d|\b[Ll]aws? \d\b", re.IGNORECASE
)


@cache
def tracked() -> tuple[Path, ...]:
    """The files of the repository that are text."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / name for name in listed.split("\0") if name]
    return tuple(path for path in paths if path.is_file() and path.suffix not in NOT_TEXT)


@cache
def text_of(path: Path) -> str:
    return path.read_text("utf-8", errors="replace")


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def headings(page: Path) -> tuple[str, ...]:
    """A page's headings as they are written, without code blocks."""
    text = re.sub(r"^```.*?^```", "", text_of(page), flags=re.MULTILINE | re.DOTALL)
    return tuple(re.findall(r"^#+ (.+?)\s*$", text, re.MULTILINE))


def anchor(heading: str) -> str:
    """The id that GitHub gives a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def unnumbered(heading: str) -> str:
    return re.sub(r"^\d+\. ", "", heading)


def broken_references(text: str) -> list[str]:
    """Pages of docs/ that `text` names and that do not exist, and headings they do not have.

    A heading follows its page after a comma, in quotes or beginning with a capital letter.
    """
    flat = LINE_BREAK.sub(" ", text).replace("'\"", '"')
    broken = []
    for found in PAGE.finditer(flat):
        page = ROOT / "docs" / found[1]
        if not page.is_file():
            broken.append(found[0])
            continue
        following = HEADING_AFTER.match(flat[found.end(1) : found.end(1) + 90])
        if following is None:
            continue
        known = {name for heading in headings(page) for name in (heading, unnumbered(heading))}
        quoted, free = following[1], following[2]
        exists = quoted in known if quoted else any(free.startswith(name) for name in known)
        if not exists:
            broken.append(f"docs/{found[1]}, {quoted or free[:40]}")
    return broken


def broken_links(page: Path, text: str) -> list[str]:
    """Relative links of a markdown page that lead to no file, or to no heading of it."""
    outside = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    broken = []
    for link in LINK.findall(outside):
        name, _, fragment = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        anchors = {anchor(heading) for heading in headings(target)} if target.is_file() else set()
        if not target.exists() or (fragment and fragment not in anchors):
            broken.append(link)
    return broken


def test_every_page_and_heading_that_is_named_exists() -> None:
    broken = {shown(path): broken_references(text_of(path)) for path in tracked()}
    broken.pop(shown(Path(__file__)))
    assert {name: found for name, found in broken.items() if found} == {}


@pytest.mark.parametrize(
    ("text", "is_broken"),
    [
        ("(docs/rules.md, Affect)", False),
        ('docs/rules.md, "One event", allows', False),
        ('docs/guarantees.md, "No record is lost"', False),
        ('f"docs/recovery.md, "\n            \'"A transaction that never ends"\'', False),
        ("docs/rules.md, and what follows", False),
        ("docs/rulez.md", True),
        ("docs/rules.md, Affection", False),  # begins with a heading: prose may go on
        ("docs/rules.md, Sensation", True),
        ('docs/rules.md, "One"', True),
        ('docs/rules.md, "One\n    event"', False),
    ],
)
def test_a_broken_reference_is_found(text: str, is_broken: bool) -> None:
    assert bool(broken_references(text)) is is_broken


def test_every_link_of_a_page_leads_to_a_file_and_heading() -> None:
    pages = [path for path in tracked() if path.suffix == ".md"]
    broken = {shown(page): broken_links(page, text_of(page)) for page in pages}
    assert {name: found for name, found in broken.items() if found} == {}


def test_a_broken_link_is_found() -> None:
    page = ROOT / "docs" / "README.md"
    links = "[a](rules.md#affect) [b](rules.md#affects) [c](rule.md) [d](../README.md) `[e](f)`"
    assert broken_links(page, links) == ["rules.md#affects", "rule.md"]


def test_every_path_of_code_that_a_page_names_exists() -> None:
    pages = [ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"), *ROOT.glob("*/README.md")]
    gone = {
        shown(page): [
            name for name in CODE_PATH.findall(text_of(page)) if not (ROOT / name).exists()
        ]
        for page in pages
    }
    assert {name: found for name, found in gone.items() if found} == {}


def test_every_rule_names_functions_of_the_folds_that_exist() -> None:
    named = re.findall(r"→ ((?:`[\w./]+`,? ?)+)", text_of(ROOT / "docs" / "rules.md"))
    functions = [name for part in named for name in re.findall(r"`(\w+\.\w+)`", part)]
    gone = []
    for name in functions:
        module, function = name.split(".")
        code = text_of(ROOT / "streams" / "folds" / f"{module}.py")
        if not re.search(rf"^(?:def|class) {function}\b", code, re.MULTILINE):
            gone.append(name)
    assert gone == []
    assert len(functions) > 50


def test_nothing_refers_to_documents_outside_the_repository() -> None:
    found = {
        shown(path): [match[0] for match in RETIRED.finditer(text_of(path))]
        for path in tracked()
        if path != Path(__file__)
    }
    assert {name: matches for name, matches in found.items() if matches} == {}
