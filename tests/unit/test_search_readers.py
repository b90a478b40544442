"""Connections to an index that are kept open: right answers, and nothing held that was removed."""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from schemas.time import parse_time
from streams.files import file_runner
from streams.search import Query, connections, forget, search
from streams.search.connections import MOST, READERS
from tests.command import ndjson, turn
from tests.waiting import WITHIN, until

NOW = parse_time("2026-04-01T00:00:00Z")


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is unused is closed soon; what other tests have left is not counted."""
    monkeypatch.setattr(connections, "IDLE", 0.05)
    until(lambda: not READERS._idle)
    yield
    until(lambda: not READERS._idle)


def said(folder: Path, *words: str) -> Path:
    """A history in which each word was said once."""
    turns = [turn(word, user_input=f"{word} and tea") for word in words]
    file_runner.run([str(ndjson(folder / f"{words[0]}.ndjson", turns))], folder / "history")
    return folder / "history"


def found(root: Path, text: str) -> set[str]:
    return {hit.id for hit in search(root, "default", Query(text=text, now=NOW)).hits}


def held(root: Path) -> list[str]:
    """Files of the index that this process has open, removed ones, too."""
    links = []
    for fd in Path("/proc/self/fd").iterdir():
        try:
            links.append(str(fd.readlink()))
        except FileNotFoundError:
            continue
    return [link for link in links if link.startswith(str(root / "_search"))]


def test_what_was_added_is_found_through_a_connection_that_was_open(tmp_path: Path) -> None:
    root = said(tmp_path, "heron")
    assert found(root, "tea") == {"heron"}
    said(tmp_path, "zebra")
    assert found(root, "tea") == {"heron", "zebra"}


def test_a_removed_index_is_left_to_the_disk(tmp_path: Path) -> None:
    root = said(tmp_path, "heron")
    assert found(root, "tea") == {"heron"}
    forget(root, "default", "u")
    until(lambda: not held(root))


def test_an_index_of_the_same_name_is_another(tmp_path: Path) -> None:
    root = said(tmp_path, "heron")
    assert found(root, "tea") == {"heron"}
    (before,) = root.glob("_search/*.sqlite")
    forget(root, "default", "u")
    said(tmp_path, "zebra")
    assert found(root, "tea") == {"heron", "zebra"}
    assert list(root.glob("_search/*.sqlite")) == [before]
    until(lambda: not any(one.endswith("(deleted)") for one in held(root)))
    assert found(root, "tea") == {"heron", "zebra"}, "also once the old one is closed"


def test_many_ask_at_once(tmp_path: Path) -> None:
    words = ["heron", "zebra", "violin", "cedar"]
    root = said(tmp_path, *words)
    found(root, "tea")
    with ThreadPoolExecutor(12) as threads:
        answers = list(threads.map(lambda word: found(root, word), words * 25))
    assert answers == [{word} for word in words * 25]
    assert len(READERS._idle) <= MOST


def test_a_forked_process_opens_its_own(tmp_path: Path) -> None:
    root = said(tmp_path, "heron")
    assert found(root, "tea") == {"heron"}
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    child = fork.Process(target=lambda: queue.put((len(READERS._idle), found(root, "tea"))))
    child.start()
    assert queue.get(timeout=WITHIN) == (0, {"heron"})
    child.join(WITHIN)
    assert found(root, "tea") == {"heron"}
