"""Search by meaning, against a real endpoint of fitted vectors: what words do not find is found,
an endpoint that is away changes nothing but that, and what is forgotten is gone."""

import json
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streams.search import vectors
from streams.search.vectors import DocName, MissingVector
from tests.command import PROGRAM, Done, environment, folded, ndjson, turn, turnfold
from tests.embedding.endpoint import Endpoint, Lsa
from tests.serving.serving import Server, url_of
from tests.waiting import WITHIN, until

CORPUS = [
    "The cat is a feline and a quiet pet.", "A feline such as the cat hunts mice.",
    "Every cat, like any feline, purrs.", "The car is an automobile with an engine.",
    "An automobile, or car, has four wheels.", "The engine of the car failed.",
    "Rain fell on the river and the bridge.", "The bridge over the river is old.",
]  # fmt: skip
SAID = {
    "e1": ("ann", "My cat sleeps on the balcony."),
    "e2": ("ann", "The car needs new wheels."),
    "e3": ("ann", "We walked over the old bridge."),
    "e4": ("bob", "A cat sat on my desk all day."),
}


@pytest.fixture(scope="module")
def lsa() -> Lsa:
    return Lsa(CORPUS, 4)


@pytest.fixture
def endpoint(lsa: Lsa) -> Iterator[Endpoint]:
    with Endpoint(lsa) as started:
        yield started


@pytest.fixture
def history(tmp_path: Path) -> Path:
    records = [
        turn(event, user_id=user, session_id=f"s-{user}", user_input=text)
        for event, (user, text) in SAID.items()
    ]
    folded(ndjson(tmp_path / "turns.ndjson", records), history=tmp_path / "history")
    return tmp_path / "history"


def search(history: Path, text: str, endpoint: Endpoint | None, *more: str, **set_: str) -> Done:
    env = environment(**(endpoint.environment(**set_) if endpoint else {}))
    return turnfold("search", text, "--history", history, "-o", "json", *more, env=env)


def hits(done: Done) -> list[str]:
    assert done.code == 0, done.err
    return [one["id"] for one in done.json()["hits"]]


@pytest.mark.component
def test_what_has_none_of_the_words_is_found_by_its_meaning(
    endpoint: Endpoint, history: Path
) -> None:
    assert hits(search(history, "feline", None, "--user", "ann")) == []
    done = search(history, "feline", endpoint, "--user", "ann")
    assert hits(done)[0] == "e1"
    assert done.json()["hits"][0]["why"]["meaning"] > 0
    assert "e4" not in hits(done), "exact, and within the user"
    assert set(hits(search(history, "feline", endpoint))[:2]) == {"e1", "e4"}, "the tenant's"


def test_filters_hold_for_what_meaning_brings_in(endpoint: Endpoint, history: Path) -> None:
    assert hits(search(history, "feline", endpoint, "--session", "s-bob"))[0] == "e4"
    assert hits(search(history, "feline", endpoint, "--kind", "state")) == []
    assert hits(search(history, "feline", endpoint, "--from", "2026-02-01")) == []
    assert hits(search(history, "feline", endpoint, "--as-of", "2025-01-01")) == []


def test_each_text_is_embedded_once_also_for_an_index_that_is_built_again(
    endpoint: Endpoint, history: Path
) -> None:
    search(history, "feline", endpoint)
    made = [text for text in endpoint.asked if text != "feline"]
    assert sorted(made) == sorted(text for _, text in SAID.values())
    search(history, "feline", endpoint, "--rebuild")
    assert [text for text in endpoint.asked if text != "feline"] == made
    search(history, "feline", endpoint, DIMENSIONS="8")
    assert len([text for text in endpoint.asked if text != "feline"]) == 2 * len(made), (
        "another model, or another size, has vectors of its own"
    )


AWAY: dict[str, Callable[[Endpoint], None]] = {
    "refuses": lambda it: setattr(it, "status", 500),
    "is slow": lambda it: setattr(it, "pause", 3.0),
}


@pytest.mark.parametrize("away", AWAY.values(), ids=AWAY)
def test_an_endpoint_that_is_away_leaves_the_answers_of_words(
    endpoint: Endpoint, history: Path, away: Callable[[Endpoint], None]
) -> None:
    away(endpoint)
    words = search(history, "cat balcony", None, "--user", "ann")
    quick = {"QUESTION_SECONDS": "0.2", "SECONDS": "0.2"}
    done = search(history, "cat balcony", endpoint, "--user", "ann", **quick)
    assert hits(done) == hits(words)
    assert done.json()["hits"][0]["why"]["meaning"] == 0.0, "an endpoint is set; it had no part"
    assert "by words alone" in done.err


def test_an_hours_budget_holds_and_is_said(endpoint: Endpoint, history: Path) -> None:
    done = search(history, "cat", endpoint, HOURLY_TOKENS="4", BATCH="1")
    assert done.code == 0 and "the hourly budget is spent" in done.err
    assert len([text for text in endpoint.asked if text != "cat"]) < len(SAID)


def test_who_is_forgotten_while_vectors_are_made_has_none_afterwards(
    endpoint: Endpoint, history: Path
) -> None:
    endpoint.pause = 1.0  # of each request
    searching = subprocess.Popen(
        [PROGRAM, "search", "feline", "--history", str(history), "-o", "json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(**endpoint.environment(BATCH="1")),
    )  # fmt: skip
    until(lambda: any(text in endpoint.asked for _, text in SAID.values()))
    assert turnfold("forget", "ann", "--history", history, "--yes").code == 0
    _, error = searching.communicate(timeout=WITHIN)
    assert b"Traceback" not in error, error.decode()
    for file in (history / "_search").glob("vectors_*.sqlite"):
        with sqlite3.connect(file) as db:
            assert db.execute("SELECT count(*) FROM vector WHERE user = 'ann'").fetchone() == (0,)


def test_a_file_of_vectors_that_is_broken_keeps_nobody_from_being_forgotten(
    endpoint: Endpoint, history: Path
) -> None:
    search(history, "feline", endpoint)
    (file,) = (history / "_search").glob("vectors_*.sqlite")
    file.write_bytes(b"no database " * 1000)
    assert hits(search(history, "feline", endpoint, "--user", "bob")) == ["e4"], "begun again"
    file.write_bytes(b"no database " * 1000)
    done = turnfold("forget", "ann", "--history", history, "--yes")
    assert done.code == 0, done.err
    assert not file.exists()
    assert hits(search(history, "feline", endpoint)) == ["e4"], "they are made again"


def test_settings_that_are_wrong_are_named(history: Path) -> None:
    env = environment(TURNFOLD_EMBED_BASE_URL="localhost:1", TURNFOLD_EMBED_MODEL="m")
    done = turnfold("search", "cat", "--history", history, env=env)
    assert done.code == 3 and "TURNFOLD_EMBED_BASE_URL" in done.err
    env = environment(TURNFOLD_EMBED_BASE_URL="http://localhost:1/v1")
    done = turnfold("search", "cat", "--history", history, env=env)
    assert done.code == 3 and "TURNFOLD_EMBED_MODEL" in done.err


def test_the_key_is_sent_and_never_shown(endpoint: Endpoint, history: Path) -> None:
    endpoint.status = 401
    done = search(history, "cat", endpoint, API_KEY="sk-secret")
    assert endpoint.headers[0]["Authorization"] == "Bearer sk-secret"
    assert done.code == 0 and "sk-secret" not in done.out + done.err


def test_the_nearest_are_those_of_all_comparisons(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    made = random.normal(size=(500, 16)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    found = [
        MissingVector(DocName("event", "s", f"u{n % 3}", f"e{n}"), f"text {n}", b"")
        for n in range(500)
    ]
    file = tmp_path / "vectors.sqlite"
    vectors.put(file, found, list(made))
    for user in (None, "u1"):
        theirs = [n for n in range(500) if user is None or found[n].name.user == user]
        cosines = made[theirs].astype(np.float16).astype(np.float32) @ made[3]
        wanted = [found[theirs[place]].name for place in np.argsort(-cosines, kind="stable")[:20]]
        near = vectors.nearest(file, made[3], user, 20)
        assert list(near.best) == wanted
        every = np.array([near.scores[found[n].name] for n in theirs])
        assert abs(every.mean()) < 1e-3 and abs(every.std() - 1) < 1e-3
        assert every.max() == pytest.approx(near.scores[near.best[0]])


def test_too_many_vectors_are_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, vector = tmp_path / "vectors.sqlite", np.ones(2, np.float32)
    texts = [
        MissingVector(DocName("event", "s", f"u{n % 2}", f"e{n}"), "text", b"") for n in range(10)
    ]
    vectors.put(file, texts, [vector] * 10)
    monkeypatch.setattr(vectors, "MOST", 9)
    assert vectors.nearest(file, vector, None, 5) is vectors.NO_SIMILARITIES
    assert len(vectors.nearest(file, vector, "u1", 5).best) == 5
    monkeypatch.setattr(vectors, "MOST_OF_USER", 4)
    assert vectors.nearest(file, vector, "u1", 5) is vectors.NO_SIMILARITIES


def test_vectors_of_texts_that_were_read_before_somebody_was_forgotten_are_not_kept(
    tmp_path: Path,
) -> None:
    file, vector = vectors.file_of(tmp_path, "t", "m"), np.ones(2, np.float32)
    found = [MissingVector(DocName("event", "s", "ann", "e"), "text", b"")]
    before = vectors.erasures(file)
    vectors.forget(tmp_path, "t", ["ann"])
    assert not vectors.put(file, found, [vector], before)
    assert vectors.nearest(file, vector, None, 1) is vectors.NO_SIMILARITIES
    assert vectors.put(file, found, [vector], vectors.erasures(file))
    assert len(vectors.nearest(file, vector, None, 1).best) == 1


@pytest.mark.component
def test_a_server_makes_vectors_behind_its_answers(endpoint: Endpoint, tmp_path: Path) -> None:
    """Each request to the endpoint takes a while; no search waits for the vectors of documents."""
    endpoint.pause = 0.3
    process = subprocess.Popen(
        [PROGRAM, "serve", "--port", "0", "-o", "json", "--history", str(tmp_path / "h")],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(**endpoint.environment(BATCH="1")),
    )  # fmt: skip
    try:
        server = Server(process, url_of(process))
        with server.client:
            said = [turn(event, user_id=user, session_id=f"s-{user}", user_input=text)
                    for event, (user, text) in SAID.items()]  # fmt: skip
            assert set(server.endings(said)) == {"applied"}
            until(lambda: _by_meaning(server))
    finally:
        process.terminate()
        _, error = process.communicate(timeout=WITHIN)
    assert process.returncode == 0 and b"Traceback" not in error, error.decode()


def test_a_server_ends_while_the_endpoint_does_not_answer(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    endpoint.pause = 600.0
    process = subprocess.Popen(
        [PROGRAM, "serve", "--port", "0", "-o", "json", "--history", str(tmp_path / "h")],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(**endpoint.environment(SECONDS="600")),
    )  # fmt: skip
    try:
        server = Server(process, url_of(process))
        with server.client:
            assert server.endings([turn("e1", user_input="My cat sleeps.")]) == ["applied"]
            # the request brings the index up to date
            until(lambda: server.client.get("/v1/users") and endpoint.asked)
    finally:
        process.terminate()
        _, error = process.communicate(timeout=WITHIN)
    assert process.returncode == 0 and b"Traceback" not in error, error.decode()


def _by_meaning(server: Server) -> bool:
    reply = server.client.get("/v1/search", params={"q": "feline", "user_id": "ann"})
    if reply.status_code == 503:  # the index is being built
        return False
    found: list[dict[str, Any]] = json.loads(reply.content)["hits"]
    return bool(found) and found[0]["id"] == "e1" and found[0]["why"].get("meaning", 0) > 0
