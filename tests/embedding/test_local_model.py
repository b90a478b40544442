"""Search by meaning with a real model on this machine: the loading code of the product over real
weights, and no network."""

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.search import vectors
from streams.search.local_model import LocalModel, is_readable, scripts_of
from streams.search.vectors import WORDS
from tests.command import PROGRAM, Done, environment, folded, ndjson, process, turn
from tests.embedding.weights import make_model
from tests.serving.serving import Server, url_of
from tests.waiting import WITHIN, until

AWAY = "http://127.0.0.1:1"
SAID = {
    "e1": ("ann", "My kitten keeps sleeping on the balcony."),
    "e2": ("ann", "The vehicle needs new wheels."),
    "e3": ("ann", "We strolled over the old bridge yesterday."),
    "e4": ("bob", "A tomcat sat on my desk all day."),
    "e5": ("bob", "The invoices are due at the end of the month."),
    "e6": ("bob", "私は毎朝お茶を飲みます。"),
}
QUESTION = "Which pets are there?"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("weights") / "minilm")


@pytest.fixture
def history(tmp_path: Path) -> Path:
    records = [
        turn(event, user_id=user, session_id=f"s-{user}", user_input=text,
             agent_answer="Pets are lovely animals.")
        for event, (user, text) in SAID.items()
    ]  # fmt: skip
    folded(ndjson(tmp_path / "turns.ndjson", records), history=tmp_path / "history")
    return tmp_path / "history"


def search(history: Path, text: str, model: Path | str, *more: str) -> Done:
    env = environment(
        TURNFOLD_MEANING_MODEL=str(model), HF_ENDPOINT=AWAY,
        XDG_CACHE_HOME=str(history.parent / "cache"),
    )  # fmt: skip
    return process(
        "search", text, "--history", history, "--kind", "event", "-o", "json", *more, env=env
    )


def hits(done: Done) -> list[str]:
    assert done.code == 0, done.err
    return [one["id"] for one in done.json()["hits"]]


@pytest.mark.component
def test_a_real_model_finds_what_shares_no_word(history: Path, model: Path) -> None:
    question = "feline companion"
    assert hits(search(history, question, model, "--meaning", "off")) == []
    done = search(history, question, model)
    assert set(hits(done)[:2]) == {"e1", "e4"}
    assert done.json()["hits"][0]["why"]["meaning"] > 0
    assert hits(search(history, question, model, "--user", "bob"))[0] == "e4"
    assert hits(search(history, question, model, "--session", "s-ann"))[0] == "e1"


def test_what_the_agent_answers_and_a_script_the_model_cannot_read_have_no_vector(
    history: Path, model: Path
) -> None:
    search(history, QUESTION, model)
    with sqlite3.connect(next((history / "_search").glob("vectors_*.sqlite"))) as db:
        rows = db.execute("SELECT key, size, length(numbers) FROM vector ORDER BY key").fetchall()
    sizes = {"e6": 0}
    assert rows == [(key, len(text), sizes.get(key, 2 * 384)) for key, (_, text) in SAID.items()], (
        "float16, of the user's words alone"
    )


BROKEN: dict[str, tuple[Callable[[Path], Path | str], str]] = {
    "no folder": (lambda folder: folder / "none", "the folder does not exist"),
    "no tokenizer": (lambda folder: without(folder, "tokenizer.json"), "no tokenizer.json"),
    "no weights": (lambda folder: without(folder, "model.onnx"), "no model.onnx"),
    "weights cut short": (lambda folder: cut(folder, "model.onnx"), "cannot be loaded"),
    "a tokenizer cut short": (lambda folder: cut(folder, "tokenizer.json"), "cannot be loaded"),
    "settings cut short": (lambda folder: cut(folder, "config.json"), "cannot be loaded"),
    "an unknown name": (lambda folder: "nobody/knows", "fastembed does not have this model"),
    "a hub that is away": (lambda folder: "BAAI/bge-small-en-v1.5", "cannot be loaded"),
}


def without(folder: Path, name: str) -> Path:
    (folder / name).unlink()
    return folder


def cut(folder: Path, name: str) -> Path:
    with (folder / name).open("r+b") as file:
        file.truncate(file.seek(0, 2) // 2)
    return folder


@pytest.mark.parametrize(("breaks", "why"), BROKEN.values(), ids=BROKEN)
def test_a_model_that_cannot_be_loaded_leaves_words_and_a_line_that_says_why(
    history: Path, model: Path, tmp_path: Path, breaks: Callable[[Path], Path | str], why: str
) -> None:
    broken = breaks(Path(shutil.copytree(model, tmp_path / "broken")))
    words = search(history, "kitten balcony", broken, "--meaning", "off")
    done = search(history, "kitten balcony", broken)
    assert hits(done) == hits(words) == ["e1"]
    assert done.json()["hits"][0]["why"]["meaning"] == 0.0
    lines = [line for line in done.err.splitlines() if str(broken) in line and why in line]
    assert len(lines) == 1 and "Traceback" not in done.err, done.err
    doctor = process("admin", "doctor", "-o", "json", env=environment(
        TURNFOLD_MEANING_MODEL=str(broken), HF_ENDPOINT=AWAY, XDG_CACHE_HOME=str(tmp_path / "c"),
    ))  # fmt: skip
    (finding,) = (one for one in doctor.json()["findings"] if one["check"] == "meaning")
    assert finding["status"] == "warning" and str(broken) in finding["found"]


def test_the_doctor_loads_a_model_that_is_well(model: Path) -> None:
    done = process(
        "admin", "doctor", "-o", "json", env=environment(TURNFOLD_MEANING_MODEL=str(model))
    )
    (finding,) = (one for one in done.json()["findings"] if one["check"] == "meaning")
    assert finding["status"] == "ok" and "minilm" in finding["found"]


@pytest.mark.component
def test_nothing_of_who_is_forgotten_is_left_in_any_byte(history: Path, model: Path) -> None:
    search(history, QUESTION, model)
    folder = history / "_search"
    (file,) = folder.glob("vectors_*.sqlite")
    with sqlite3.connect(file) as db:
        sql = "SELECT numbers, digest FROM vector WHERE user = 'ann'"
        theirs = [part for row in db.execute(sql) for part in row]
    assert len(theirs) == 6 and all(part in file.read_bytes() for part in theirs)
    assert process("forget", "ann", "--history", history, "--yes").code == 0
    for left in folder.iterdir():
        content = left.read_bytes()
        assert not [part for part in [*theirs, b"s-ann"] if part in content], left.name
    assert hits(search(history, "feline", model))[0] == "e4"


def test_texts_are_looked_at_once_and_an_answer_that_comes_later_changes_nothing(
    tmp_path: Path, model: Path
) -> None:
    history = tmp_path / "history"
    long = " ".join(f"word{number}" for number in range(2 * WORDS))
    begun = turn("e1", user_input=long, agent_answer="", ended_at=None)
    folded(ndjson(tmp_path / "1.ndjson", [begun]), history=history)
    search(history, "word1", model)
    (index,) = (history / "_search").glob("*.0.sqlite")
    (file,) = (history / "_search").glob("vectors_*.sqlite")
    before = _rows(file)
    assert [row[1] for row in before] == [len(" ".join(long.split()[:WORDS]))]
    assert vectors.missing_vectors(file, index) is None
    folded(ndjson(tmp_path / "2.ndjson", [turn("e2", user_input="More.")]), history=history)
    search(history, "word1", model, "--meaning", "off")
    news = vectors.missing_vectors(file, index)
    assert news is not None and [one.name.key for one in news.docs] == ["e2"]
    search(history, "word1", model)
    assert _rows(file)[0] == before[0] and len(_rows(file)) == 2


def _rows(file: Path) -> list[Any]:
    with sqlite3.connect(file) as db:
        return db.execute("SELECT key, size, digest, numbers FROM vector ORDER BY key").fetchall()


TEXTS = {
    "Ich wohne in Köln.": True, "Ça va très bien, merci.": True, "我喜欢喝茶": False,
    "私は毎朝お茶を飲みます。": False, "저는 커피를 좋아해요": False, "Я живу в Москве": False,
    "मुझे चाय पसंद है": False, "Met Yuki (由紀) for lunch": True, "12:30 — 42 %": False, "": False,
}  # fmt: skip


def test_the_scripts_that_a_model_reads_are_those_its_vocabulary_has_words_of(model: Path) -> None:
    vocabulary = json.loads((model / "tokenizer.json").read_bytes())["model"]["vocab"]
    scripts = scripts_of(vocabulary)
    assert scripts == frozenset({"LATIN"})
    assert {text: is_readable(text, scripts) for text in TEXTS} == TEXTS
    made = LocalModel(str(model)).of_texts(list(TEXTS))
    assert [vector is not None for vector in made] == list(TEXTS.values())
    chinese = scripts_of([chr(0x4E00 + number) for number in range(3000)] + ["▁the"])
    assert chinese == frozenset({"CJK"}) and is_readable("私はお茶", chinese)
    assert scripts_of(["Ġthe"]) is None, "its tokens are of bytes: of any script"


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Callable[[str], Server]]:
    processes = []

    def start(model: str) -> Server:
        started = subprocess.Popen(
            [PROGRAM, "serve", "--port", "0", "-o", "json", "--history", str(tmp_path / "h")],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment(TURNFOLD_MEANING_MODEL=model, HF_ENDPOINT=AWAY),
        )  # fmt: skip
        processes.append(started)
        return Server(started, url_of(started))

    yield start
    for one in processes:
        one.terminate()
        _, error = one.communicate(timeout=WITHIN)
        assert one.returncode == 0 and b"Traceback" not in error, error.decode()
        assert error.count(b"cannot be loaded") <= 1, error.decode()


def post(server: Server) -> None:
    records = [
        turn(event, user_id=user, session_id=f"s-{user}", user_input=text)
        for event, (user, text) in SAID.items()
    ]
    assert set(server.endings(records)) == {"applied"}


def found(server: Server, text: str) -> list[Any]:
    reply = server.client.get("/v1/search", params={"q": text, "kind": "event"})
    return json.loads(reply.content)["hits"] if reply.status_code == 200 else []


@pytest.mark.component
def test_a_server_loads_the_model_and_makes_vectors_behind_its_answers(
    model: Path, serving: Callable[[str], Server]
) -> None:
    server = serving(str(model))
    with server.client:
        post(server)
        until(lambda: {one["id"] for one in found(server, "feline")[:2]} == {"e1", "e4"})
        assert server.client.get("/readyz").json()["about"] == "ready"


def test_a_server_without_its_model_says_so_and_goes_by_words(
    tmp_path: Path, serving: Callable[[str], Server]
) -> None:
    server = serving(str(tmp_path / "none"))
    with server.client:
        post(server)
        until(lambda: bool(found(server, "kitten")))
        until(lambda: "the folder does not exist" in server.client.get("/readyz").text)
        reply = server.client.get("/readyz")
        assert reply.status_code == 200 and "words alone" in reply.json()["about"]
        assert found(server, "kitten")[0]["why"]["meaning"] == 0.0


def test_evaluate_shows_words_meaning_and_both(tmp_path: Path, model: Path) -> None:
    lines = [turn(event, user_id="u", session_id="s", user_input=text)
             for event, (_, text) in SAID.items()]  # fmt: skip
    lines += [
        {"label": "question", "question": question, "user_id": "u", "evidence": [event]}
        for question, event in (("feline on a terrace", "e1"), ("automobile tyres", "e2"))
    ]
    file = ndjson(tmp_path / "labelled.ndjson", lines)
    env = environment(TURNFOLD_MEANING_MODEL=str(model))
    done = process("admin", "evaluate", file, "--hits", "1", "-o", "json", env=env)
    assert done.code == 0, done.err
    turns = {name: run["search"][-1]["turn"] for name, run in done.json().items()}
    assert turns == {"none, words": 0.0, "none, meaning": 1.0, "none, words and meaning": 1.0}
    table = process("admin", "evaluate", file, env=env).out
    assert all(name in table for name in turns), table
    env = environment(TURNFOLD_MEANING_MODEL=str(tmp_path / "none"))
    done = process("admin", "evaluate", file, "-o", "json", env=env)
    assert done.code == 0 and "the folder does not exist" in done.err
    assert done.json()["search"][-1]["turn"] == 0.0


def test_what_does_not_search_by_meaning_loads_nothing_of_it(history: Path) -> None:
    code = (
        "import atexit, sys; from streams.cli import main; "
        "atexit.register(lambda: print('loaded:', *sys.modules)); main()"
    )
    python = Path(PROGRAM).with_name("python")
    for words in (["--version"], ["search", "kitten", "--meaning", "off", "--history", history]):
        done = subprocess.run(
            [python, "-c", code, *words],
            capture_output=True,
            text=True,
            check=True,
            env=environment(TURNFOLD_MEANING_MODEL="any"),
        )
        loaded = set(done.stdout.rpartition("loaded:")[2].split())
        assert loaded.isdisjoint({"fastembed", "onnxruntime", "numpy", "huggingface_hub"})


@pytest.mark.component
def test_thirty_paraphrases_without_a_shared_word_are_found_among_ninety_turns(
    tmp_path: Path, model: Path
) -> None:
    """The turns and questions of paraphrases.tsv; a turn without a question only stands by."""
    rows = [
        line.partition("\t")
        for line in Path(__file__).with_name("paraphrases.tsv").read_text("utf-8").splitlines()
    ]
    turns = [turn(f"e{place}", user_id="u", session_id=f"s{place // 10}", user_input=text)
             for place, (text, _, _) in enumerate(rows)]  # fmt: skip
    questions = [
        {"label": "question", "question": question, "user_id": "u", "evidence": [f"e{place}"]}
        for place, (_, _, question) in enumerate(rows)
        if question
    ]
    file = ndjson(tmp_path / "labelled.ndjson", [*turns, *questions])
    done = process(
        "admin", "evaluate", file, "-o", "json", env=environment(TURNFOLD_MEANING_MODEL=str(model))
    )
    assert done.code == 0, done.err
    (words, *_), (by_meaning, *_), (both, *_) = (run["search"] for run in done.json().values())
    assert words["category"] == "(paraphrase)" and words["questions"] == 30
    assert words["turn"] < 0.1
    assert min(by_meaning["turn"], both["turn"]) >= 0.9
