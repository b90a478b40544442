"""The data of the published figures, and what is read from a measurement's output."""

import gzip
import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from threading import Thread

import httpx
import pytest

from benchmarks import fetch, publish
from tests.shared_data import SGD, shared

Serve = Callable[[list[bytes]], str]
"""Serves files of dialogues, and returns the URL of their folder."""


@pytest.fixture
def serve() -> Iterator[Serve]:
    files: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = files.get(self.path)
            self.send_response(404 if content is None else 200)
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()

    def served(contents: list[bytes]) -> str:
        files.update({f"/train/dialogues_{n:03}.json": body for n, body in enumerate(contents, 1)})
        return f"http://127.0.0.1:{server.server_address[1]}/train/"

    yield served
    server.shutdown()
    server.server_close()


@pytest.mark.nightly  # packs 42 MB
def test_dialogues_are_fetched_as_the_figures_have_them(serve: Serve, tmp_path: Path) -> None:
    with gzip.open(shared(*SGD)) as stream:
        lines = iter(stream.read().splitlines())
    contents: list[bytes] = []
    while some := list(islice(lines, 128)):
        contents.append(b"[" + b", ".join(some) + b"]")
    contents += [b"[]"] * (fetch.FILES - len(contents))
    file = tmp_path / "data" / "dialogues.gz"
    fetch.fetch(serve(contents), file)
    assert gzip.decompress(file.read_bytes()) == gzip.decompress(shared(*SGD).read_bytes())


@pytest.mark.parametrize("missing", [0, 1])
def test_other_or_missing_dialogues_leave_no_file(
    serve: Serve, tmp_path: Path, missing: int
) -> None:
    file = tmp_path / "dialogues.gz"
    with pytest.raises((httpx.HTTPStatusError, ValueError), match=r"404|SHA-256"):
        fetch.fetch(serve([b"[]"] * (fetch.FILES - missing)), file)
    assert list(tmp_path.iterdir()) == []


PRINTED = """
search: 3 questions

|  | p50 ms | p95 ms |
| --- | --- | --- |
| ours | 1.5 | 1,203.0 |
| bare | 2.0 | 9.5 |

AMD, 2 cores
"""


def test_values_are_read_from_the_printed_table() -> None:
    assert publish.tables(PRINTED) == [[
        {"": "ours", "p50 ms": "1.5", "p95 ms": "1,203.0"},
        {"": "bare", "p50 ms": "2.0", "p95 ms": "9.5"},
    ]]  # fmt: skip
    assert publish.row(PRINTED, "ours", "p95 ms") == 1203
    with pytest.raises(StopIteration):
        publish.row(PRINTED, "theirs", "p95 ms")


def test_every_figure_is_published_with_its_command_and_origin() -> None:
    figures = json.loads(publish.FILE.read_text("utf-8"))
    assert list(figures) == [figure.name for figure in publish.FIGURES] and len(figures) == 10
    for figure in publish.FIGURES:
        told = figures[figure.name]
        assert told["command"] == f"python -m {' '.join(figure.command)}"
        assert told["values"] and all(value >= 0 for value in told["values"].values())
        assert told["data"] == figure.data and told["commit"] and told["date"]
