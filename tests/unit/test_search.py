"""Search: what is found, who finds it, and that the index follows the history and forgets."""

import multiprocessing
import os
import signal
import sqlite3
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from schemas.base import format_time, parse_time
from streams.apps import compact_and_forget
from streams.errors import UsageError
from streams.files import file_runner
from streams.search import Hit, NotIndexed, Query, forget, indexing, search, update
from streams.search.store import Index
from streams.search.tokens import terms
from tests.command import files_holding, ndjson, turn, turnfold
from tests.planned import CONVERSATIONS
from tests.waiting import WITHIN

NOW = parse_time("2026-04-01T00:00:00Z")
SECRET = "Quillfeather"
HUGE = urlsafe_b64encode(b"[1%s,0.5,3]" % (b"0" * 400)).decode()
"""A cursor of a year that no clock shows."""


def asked(history: Path, text: str, tenant: str = "default", **given: Any) -> list[Hit]:
    return search(history, tenant, Query(**{"text": text, "now": NOW, **given})).hits


def ids(history: Path, text: str, tenant: str = "default", **given: Any) -> list[str]:
    return [hit.id for hit in asked(history, text, tenant, **given)]


def run(folder: Path, name: str, records: list[dict[str, Any]]) -> Path:
    """Folds records into `folder/history`."""
    file_runner.run([str(ndjson(folder / f"{name}.ndjson", records))], folder / "history")
    return folder / "history"


def state(plan: str, state_id: str, text: str, at: str, **more: Any) -> dict[str, Any]:
    """A plan that says one thing of user `u`."""
    update_ = {"kind": "fact", "state_id": state_id, "body_text": text, "reason": "said", **more}
    return {
        "type": "write_plan", "plan_id": plan, "user_id": "u", "occurred_at": at,
        "extractor": {"name": "test", "version": "1"}, "state_updates": [update_],
    }  # fmt: skip


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample conversations, in three languages."""
    history = tmp_path_factory.mktemp("sample") / "history"
    file_runner.run([str(CONVERSATIONS)], history)
    return history


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        ("bookings", "He booked it", "book"), ("at 6:30 pm", "18:30", "18:30"),
        ("6pm", "18:00", "18:00"), ("£1,100", "1100", "1100"), ("two tickets", "2 tickets", "2"),
        ("the 14th of March", "2026-03-14", "14"), ("3月14日", "March 14", "march"),
        ("ＣＡＦＥ", "café", "cafe"), ("Where did she go?", "We went there", "go"),
        ("her children", "a child's coat", "child"), ("my favourites", "a favorite", "favorit"),
        ("organised", "organizing", "organ"), ("mum's birthday", "her mother", "mom"),
        ("新幹線", "東京から新幹線で", "新幹"), ("抹茶が好き", "茶", "茶"),
    ],
)  # fmt: skip
def test_what_means_the_same_has_a_term_in_common(one: str, other: str, common: str) -> None:
    assert common in terms(one)
    assert common in terms(other)


def test_no_term_can_be_taken_for_a_query() -> None:
    text = '⑴ ﷺ ½ ª a-b "x" ^y* NEAR(z) c\'d §u1 col:umn {e} \x00f'
    assert all(one.isascii() <= one.replace(".", "").replace(":", "").isalnum() or "-" in one
               for one in terms(text))  # fmt: skip
    assert not any(one.startswith("§") for one in terms(text))


@pytest.mark.parametrize("text", ["²'x", "½’s", "2's", "'", "ŉ"])
def test_a_term_is_one_to_the_index(sample: Path, text: str) -> None:
    assert not any("'" in one for one in terms(text))
    asked(sample, text)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("When is Nora's birthday?", "emma-family-2"), ("what is Emma allergic to", "emma-move-4"),
        ("Which flat was close to the station, and what did it cost?", "emma-move-2"),
        ("booked a train on the 14th", "yui-trip-2"), ("极限的定义是什么", "lin-calculus-1"),
        ("我喜欢先看什么", "lin-essay-1"), ("难题全对", "lin-calculus-4"),
        ("夹逼", "lin-calculus-4"), ("猫の名前は？", "yui-days-4"),
        ("新幹線の席はどこ", "yui-trip-2"), ("部長", "yui-days-5"), ("抹茶", "yui-trip-2"),
        ("鴨川", "yui-trip-4"),
    ],
)  # fmt: skip
def test_the_right_turn_is_among_the_first_three(sample: Path, text: str, right: str) -> None:
    assert right in ids(sample, text, kinds=("event",), limit=3)


def test_matches_are_parts_of_the_text(sample: Path) -> None:
    hit = asked(sample, "新幹線 予約", kinds=("event",))[0]
    assert [hit.text[start:end] for start, end in hit.matches] == ["新幹線", "予約"]


def test_a_long_text_is_shown_around_what_matched(tmp_path: Path) -> None:
    text = "filler " * 400 + "the zebra crossing " + "filler " * 400
    history = run(tmp_path, "a", [turn("long", user_input=text)])
    (hit,) = asked(history, "zebra")
    assert len(hit.text) <= 600
    assert [hit.text[start:end] for start, end in hit.matches] == ["zebra"]


def test_filters(sample: Path) -> None:
    assert {hit.user_id for hit in asked(sample, "Manchester", user_id="emma")} == {"emma"}
    assert asked(sample, "Manchester", user_id="yui") == []
    assert asked(sample, "Manchester", user_id="nobody") == []
    told = asked(sample, "Manchester train", session_id="emma-trains")
    assert {hit.session_id for hit in told} == {"emma-trains"}
    assert {hit.kind for hit in asked(sample, "Emma lives", kinds=("state",))} == {"state"}
    since = parse_time("2026-03-13T00:00:00Z")
    assert all(hit.at >= format_time(since) for hit in asked(sample, "Manchester", since=since))
    assert all(hit.at < format_time(since) for hit in asked(sample, "Manchester", until=since - 1))


def test_as_of_a_date_what_was_true_then_is_found(sample: Path) -> None:
    early = asked(sample, "Where does Emma live?", as_of=parse_time("2026-03-05T00:00:00Z"))
    texts = [hit.text for hit in early if hit.id == "emma-home"]
    assert texts and all("Leeds" in text for text in texts)
    assert all(hit.at <= "2026-03-05T00:00:00Z" for hit in early if hit.kind == "event")
    late = asked(sample, "Where does Emma live?", as_of=parse_time("2026-03-14T00:00:00Z"))
    assert all("Ancoats" in hit.text for hit in late if hit.id == "emma-home")


def test_each_kind_alone(tmp_path: Path) -> None:
    delta = {"add": [{"id": "seat", "type": "preference", "content": "a window seat"}]}
    history = run(tmp_path, "a", [
        turn("1", user_input="a window seat, please", session_memory_delta=delta),
        state("p1", "seat", "likes the window seat", "2026-01-01T00:00:00Z"),
    ])  # fmt: skip
    for kinds in (("event",), ("state",), ("session_memory",), ("state", "session_memory")):
        assert {hit.kind for hit in asked(history, "window seat", kinds=kinds)} == set(kinds)
    assert asked(history, "memory", kinds=("session_memory",)) == [], "a kind's name is no word"


def test_a_revoked_preference_was_held_until_then(tmp_path: Path) -> None:
    def preference(number: int, op: str) -> dict[str, Any]:
        update_ = {"op": op, "domain": "food", "polarity": "like", "subject": "peanuts"}
        return {
            "type": "write_plan", "plan_id": f"p{number}", "user_id": "u",
            "occurred_at": f"2026-0{number}-01T00:00:00Z",
            "extractor": {"name": "test", "version": "1"}, "preference_updates": [update_],
        }  # fmt: skip

    months = [parse_time(f"2026-0{number}-15T00:00:00Z") for number in (1, 2, 3)]
    found = []
    for number, op in enumerate(("confirm", "revoke", "confirm"), start=1):
        history = run(tmp_path, op + str(number), [preference(number, op)])
        then = [bool(asked(history, "peanuts", as_of=month)) for month in months]
        found.append((*then, bool(asked(history, "peanuts"))))
    assert found == [
        (True, True, True, True),
        (True, False, False, False),
        (True, False, True, True),
    ]


def test_as_of_a_date_before_it_was_said(tmp_path: Path) -> None:
    """What counts is since when it was true, not when it was learnt, changed or closed."""
    home = state("p1", "home", "lives in Leeds", "2026-03-10T00:00:00Z",
                 valid_from="2026-01-01T00:00:00Z")  # fmt: skip
    over = state("p2", "home", "lives in Leeds", "2026-04-10T00:00:00Z",
                 valid_from="2026-01-01T00:00:00Z", valid_to="2026-04-01T00:00:00Z")  # fmt: skip
    found = {}
    for name, given in (("a", home), ("b", over)):
        history = run(tmp_path, name, [given])
        for day in ("2025-12-31", "2026-02-01", "2026-04-05"):
            hits = asked(history, "lives", as_of=parse_time(f"{day}T00:00:00Z"))
            found[name, day] = [hit.text for hit in hits]
    leeds = ["lives in Leeds"]
    assert [*found.values()] == [[], leeds, leeds, [], leeds, []]


def test_pages_follow_each_other(sample: Path) -> None:
    query = Query(text="Manchester flat train van", now=NOW, limit=100)
    whole = [hit.id for hit in search(sample, "default", query).hits]
    paged: list[str] = []
    cursor = None
    while True:
        query = Query(text="Manchester flat train van", now=NOW + 7, limit=2, cursor=cursor)
        page = search(sample, "default", query)
        paged += [hit.id for hit in page.hits]
        cursor = page.cursor
        if cursor is None:
            break
    assert len(whole) > 4
    assert sorted(paged) == sorted(whole)


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 0}, {"limit": 101}, {"cursor": "☃"}, {"cursor": "WzFd"}, {"cursor": HUGE},
        {"kinds": ("x",)}, {"kinds": ("",)}, {"kinds": ()},
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused(sample: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong)).removesuffix("s")):
        search(sample, "default", Query(text="flat", now=NOW, **wrong))


HOSTILE = ['"', 'flat" OR "', "terms:flat", "*", "NEAR(flat van)", "§u1", "\x00", "\ud800", ""]
LONG = ["a" * 10_000, "flat " * 50_000, " ".join(f"w{n}" for n in range(50_000)), "茶" * 50_000]


@pytest.mark.parametrize("text", HOSTILE + LONG, ids=range(len(HOSTILE + LONG)))
def test_no_text_is_a_query_language_or_costs_much(sample: Path, text: str) -> None:
    began = time.process_time()
    hits = asked(sample, text)
    assert time.process_time() - began < 1
    assert all(hit.matches for hit in hits)


def test_a_tenant_finds_nothing_of_another(tmp_path: Path) -> None:
    rome = turn("1", user_input=f"{SECRET} flew to Rome", tenant="one")
    oslo = turn("2", user_input="two flew to Oslo", tenant="two")
    history = run(tmp_path, "a", [rome, oslo])
    assert ids(history, SECRET, "one") == ["1"]
    assert ids(history, SECRET, "two") == []
    assert ids(history, "flew", "two", user_id="u", session_id="s") == ["2"]
    assert ids(history, "flew", "three") == []
    assert ids(history, "flew", "../one") == []
    files = {file.split("/")[-1] for file in files_holding(history / "_search", SECRET)}
    assert files == {indexing.current(history, "one").name}  # type: ignore[union-attr]


def test_what_comes_later_is_found_by_the_next_search(tmp_path: Path) -> None:
    history = run(tmp_path, "a", [turn("1", user_input="the heron", status="running")])
    assert ids(history, "heron osprey") == ["1"]
    first = indexing.current(history, "default")
    run(tmp_path, "b", [turn("1", user_input="the osprey"), turn("2", user_input="an osprey nest")])
    assert sorted(ids(history, "osprey")) == ["1", "2"]
    assert ids(history, "heron") == []
    assert indexing.current(history, "default") == first, (
        "it was brought up to date, not built anew"
    )


def test_versions_of_a_state_follow_each_other(tmp_path: Path) -> None:
    run(tmp_path, "a", [state("p1", "home", "lives in Leeds", "2026-01-01T00:00:00Z")])
    history = tmp_path / "history"
    assert [hit.text for hit in asked(history, "lives")] == ["lives in Leeds"]
    run(tmp_path, "b", [state("p2", "home", "lives in Hull", "2026-02-01T00:00:00Z",
                              valid_from="2026-02-01T00:00:00Z")])  # fmt: skip
    assert [hit.text for hit in asked(history, "lives")] == ["lives in Hull"]
    then = parse_time("2026-01-15T00:00:00Z")
    assert [hit.text for hit in asked(history, "lives", as_of=then)] == ["lives in Leeds"]
    update(history, "default", rebuild=True)
    assert [hit.text for hit in asked(history, "lives")] == ["lives in Hull"]
    assert [hit.text for hit in asked(history, "lives", as_of=then)] == ["lives in Leeds"]


def test_an_index_built_bit_by_bit_answers_as_one_built_at_once(tmp_path: Path) -> None:
    lines = CONVERSATIONS.read_bytes().splitlines(keepends=True)
    for number in range(0, len(lines), 22):
        part = tmp_path / f"{number}.ndjson"
        part.write_bytes(b"".join(lines[number : number + 22]))
        file_runner.run([str(part)], tmp_path / "history")
        update(tmp_path / "history", "default")
    bit_by_bit = _documents(indexing.current(tmp_path / "history", "default"))
    assert bit_by_bit == _documents(update(tmp_path / "history", "default", rebuild=True))


def _documents(index: Path | None) -> list[Any]:
    assert index is not None
    db = sqlite3.connect(index)
    sql = "SELECT kind, key, at, since, until, newest, text, length, evidence FROM doc ORDER BY ALL"
    columns = "kind, key, at, since, until, newest, text, length, evidence"
    found = db.execute(sql.replace("ALL", columns)).fetchall()
    vocabulary = db.execute("SELECT term, doc FROM vocabulary WHERE term NOT LIKE '§%'").fetchall()
    db.close()
    return [found, vocabulary]


def test_compacting_costs_no_new_index(tmp_path: Path) -> None:
    for name in "abc":
        history = run(tmp_path, name, [turn(name, user_input=f"the heron {name}")])
    assert len(ids(history, "heron")) == 3
    first = indexing.current(history, "default")
    compact_and_forget.compact(history)
    run(tmp_path, "d", [turn("d", user_input="the heron d")])
    assert len(ids(history, "heron")) == 4
    assert indexing.current(history, "default") == first


def test_an_index_begun_before_the_first_row_finds_what_the_log_tells_no_more(
    tmp_path: Path,
) -> None:
    history = run(tmp_path, "a", [])
    assert ids(history, "heron") == []
    for name in "bc":
        run(tmp_path, name, [turn(name, user_input=f"the heron {name}")])
    events = history / "events"
    DeltaTable(str(events)).create_checkpoint()
    (events / "_delta_log" / f"{0:020}.json").unlink()  # as `compact` does when it is a month old
    assert sorted(ids(history, "heron")) == ["b", "c"]


def test_guarantee_8_who_is_forgotten_is_in_no_byte_of_the_index(tmp_path: Path) -> None:
    history = run(tmp_path, "a", [turn("1", user_input=f"{SECRET} in the aviary", user_id="gone"),
                                  turn("2", user_input="an aviary", session_id="t")])  # fmt: skip
    assert sorted(ids(history, "aviary")) == ["1", "2"]
    reader = sqlite3.connect(
        indexing.current(history, "default") or ""
    )  # with a log beside the file
    reader.execute("SELECT count(*) FROM doc").fetchone()
    run(tmp_path, "b", [turn("3", user_input=f"{SECRET} again", user_id="gone", session_id="r")])
    assert ids(history, SECRET.lower()) != []
    assert files_holding(history / "_search", SECRET)
    compact_and_forget.forget(history, "default", "gone")
    reader.close()
    assert files_holding(history, SECRET) == []
    assert files_holding(history, SECRET.lower()) == []
    assert ids(history, "aviary") == ["2"]
    assert files_holding(history, SECRET) == []


def _build_slowly(history: Path) -> None:
    def stopped(self: Index) -> None:
        time.sleep(10 * WITHIN)

    Index.count = stopped  # type: ignore[method-assign]
    update(history, "default", rebuild=True)


def test_a_killed_build_leaves_the_index_before(tmp_path: Path) -> None:
    history = run(tmp_path, "a", [turn("1", user_input="the heron")])
    first = update(history, "default")
    builder = multiprocessing.get_context("spawn").Process(target=_build_slowly, args=(history,))
    builder.start()
    while not list((history / "_search").glob("*.making")):
        time.sleep(0.01)
        assert builder.is_alive()
    assert ids(history, "heron") == ["1"], "others go on with what they find"
    assert builder.pid
    os.kill(builder.pid, signal.SIGKILL)
    builder.join()
    assert indexing.current(history, "default") == first
    assert ids(history, "heron") == ["1"]
    assert update(history, "default", rebuild=True) != first
    assert not list((history / "_search").glob("*.making"))


def test_a_broken_index_is_built_again(tmp_path: Path) -> None:
    history = run(tmp_path, "a", [turn("1", user_input="the heron")])
    update(history, "default").write_bytes(b"no database" * 1000)
    assert ids(history, "heron") == ["1"]


@pytest.fixture
def readers() -> Iterator[list[Any]]:
    started: list[Any] = []
    yield started
    for one in started:
        one.terminate()
        one.join()


def _read(history: Path, stop: Any, failed: Any) -> None:
    while not stop.is_set():
        hits = search(history, "default", Query(text="heron", now=NOW, limit=100)).hits
        numbers = sorted(int(hit.id) for hit in hits)
        if numbers != list(range(len(numbers))):
            failed.set()


def test_several_read_while_one_writes(tmp_path: Path, readers: list[Any]) -> None:
    history = run(tmp_path, "0", [turn("0", user_input="the heron")])
    context = multiprocessing.get_context("spawn")
    stop, failed = context.Event(), context.Event()
    readers += [context.Process(target=_read, args=(history, stop, failed)) for _ in range(2)]
    for one in readers:
        one.start()
    for number in range(1, 6):
        run(tmp_path, str(number), [turn(str(number), user_input="the heron")])
        update(history, "default", rebuild=number % 3 == 0)
    stop.set()
    for one in readers:
        one.join(WITHIN)
        assert one.exitcode == 0
    assert not failed.is_set()
    assert len(ids(history, "heron")) == 6


def test_without_an_index_nothing_is_built_unasked(tmp_path: Path) -> None:
    history = run(tmp_path, "a", [turn("1")])
    with pytest.raises(NotIndexed):
        search(history, "default", Query(text="say", now=NOW), update=False)
    forget(history, "default", "u")
    assert not (history / "_search").exists()


def test_the_command(sample: Path) -> None:
    done = turnfold("search", "Nora birthday", "--history", sample, "-o", "json", "--kind", "state")
    assert done.code == 0, done.err
    hits = done.json()["hits"]
    assert hits[0]["id"] == "emma-nora-birthday"
    said = turnfold("search", "Nora birthday", "--history", sample, "--limit", "1")
    assert "birthday" in said.out
    assert "--cursor" in said.err
    assert turnfold("search", "x", "--history", sample, "--kind", "thing").code == 2
    assert turnfold("search", "--history", sample).code == 2
    assert turnfold("search", "--rebuild", "--history", sample).code == 0


def around(history: Path, text: str, count: int, **given: Any) -> list[tuple[int, str]]:
    """The neighbours of the best hit: place and id."""
    hit = asked(history, text, neighbours=count, kinds=("event",), **given)[0]
    return [(one.place, one.id) for one in hit.neighbours]


def talk(number: int, **more: Any) -> dict[str, Any]:
    """A turn of minute `number` of a session of many."""
    at = f"2026-01-01T{number // 60:02}:{number % 60:02}:00Z"
    return turn(f"e{number:02}", occurred_at=at, user_input=f"word{number}", **more)


def test_neighbours_are_the_turns_around_a_hit_in_time(tmp_path: Path) -> None:
    """Also where one came late, and across the index's passages."""
    late = 17
    turns = [talk(number) for number in range(40) if number != late]
    others = [turn(f"o{n}", session_id="other", user_input="elsewhere") for n in range(40)]
    history = run(tmp_path, "a", [*turns, *others, talk(late)])
    for number in (0, 1, 15, 16, 18, 31, 32, 39):
        expected = [
            (near - number, f"e{near:02}")
            for near in range(number - 2, number + 3)
            if near != number and 0 <= near < 40
        ]
        assert around(history, f"word{number}", 2) == expected


def test_neighbours_keep_to_the_user_and_the_time_asked_about(tmp_path: Path) -> None:
    turns = [talk(0), talk(1), talk(2), talk(3, user_id="v"), talk(4)]
    history = run(tmp_path, "a", turns)
    assert around(history, "word2", 1) == [(-1, "e01"), (1, "e03")]
    assert around(history, "word2", 1, user_id="u") == [(-1, "e01"), (1, "e04")]
    then = parse_time("2026-01-01T00:02:00Z")
    assert around(history, "word2", 1, as_of=then) == [(-1, "e01")]


def test_only_events_have_neighbours_and_a_long_one_is_cut(tmp_path: Path) -> None:
    long = turn("e02", occurred_at="2026-01-01T00:02:00Z", user_input="x" * 5000)
    history = run(
        tmp_path, "a", [talk(1), long, state("p", "s", "word1 too", "2026-01-02T00:00:00Z")]
    )
    by_kind = {hit.kind: hit.neighbours for hit in asked(history, "word1", neighbours=1)}
    assert by_kind["state"] == []
    assert [one.text for one in by_kind["event"]] == ["x" * 600]
    assert all(not hit.neighbours for hit in asked(history, "word1"))


@pytest.mark.parametrize("count", [-1, 6])
def test_too_many_neighbours_are_refused(sample: Path, count: int) -> None:
    with pytest.raises(UsageError, match="neighbours"):
        asked(sample, "cat", neighbours=count)


def test_the_command_shows_neighbours_in_order(tmp_path: Path) -> None:
    history = run(tmp_path, "a", [talk(number) for number in range(3)])
    shown = turnfold("search", "word1", "--history", history, "--neighbours", "1").out
    assert [line.strip() for line in shown.splitlines()[1:]] == ["-1 word0", "word1", "+1 word2"]
