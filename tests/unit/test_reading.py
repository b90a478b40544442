"""What is read quickly is what is read slowly: the short cuts of `reading`, `listing`."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from schemas.time import HOUR, MINUTE, parse_time
from sinks.history import connect, quoted, read
from sinks.history_root import open_root
from sinks.tables import SCHEMAS
from streams import history_documents, history_lists
from streams.errors import DataRefused
from streams.files import file_runner
from streams.folds.constants import Rules
from tests.command import ndjson
from tests.planned import CONVERSATIONS
from tests.unit.test_sinks_support import row, state, write

pytestmark = pytest.mark.nightly

DAYS = [f"2026-03-{day:02}" for day in range(1, 8)]
AT = parse_time("2026-03-20T00:00:00Z")


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample's history; nobody writes into it."""
    root = tmp_path_factory.mktemp("reading") / "history"
    file_runner.run([str(CONVERSATIONS)], root)
    return root


def asked(root: Path, sql: str) -> list[dict[str, Any]]:
    with connect(root) as db:
        return read(db, sql).objects()


def test_one_day_of_expiry() -> None:
    assert Rules().session_expiry == 24 * HOUR


@pytest.mark.parametrize(
    ("later", "status"),
    [
        (0, "active"), (HOUR, "active"), (23 * HOUR + 59 * MINUTE, "active"), (24 * HOUR, "active"),
        (24 * HOUR + 1, "closed"), (25 * HOUR, "closed"), (47 * HOUR, "closed"),
        (1000 * HOUR, "closed"),
    ],
)  # fmt: skip
def test_a_session_now_is_the_session_as_of_now(history: Path, later: int, status: str) -> None:
    """The one looks for a turn in the files of the last days, the other folds all turns again."""
    (last,) = asked(history, "SELECT max(occurred_at) t FROM events WHERE session_id = 'yui-days'")
    now = parse_time(last["t"]) + later
    found = history_documents.session(history, "default", "yui-days", None, now)
    assert found["status"] == status
    assert found == history_documents.session(history, "default", "yui-days", now, now)


@pytest.mark.nightly
def test_why_of_everything_is_what_the_macro_says(history: Path) -> None:
    entities = asked(history, "SELECT DISTINCT entity_id FROM revisions ORDER BY 1")
    assert len(entities) > 10
    for entity_id in (one["entity_id"] for one in entities):
        slow = asked(history, f"SELECT * FROM why('{entity_id}')")
        for one in slow:
            for name in ("before", "after"):
                one[name] = None if one[name] is None else msgspec.json.decode(one[name])
        assert history_lists.why(history, "default", entity_id) == slow


def test_states_of_one_user_are_theirs_among_all(history: Path) -> None:
    at = parse_time("2026-03-20T00:00:00Z")
    everybody = history_documents.states(history, "default", None, at, None)
    owners = {one["owner_id"] for one in everybody}
    assert len(owners) > 1
    for owner in owners:
        theirs = [one for one in everybody if one["owner_id"] == owner]
        assert history_documents.states(history, "default", owner, at, None) == theirs


@pytest.fixture(scope="module")
def revised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """States of three users and two tenants, corrected, closed, taken away and told again, in
    no order of time."""
    root = tmp_path_factory.mktemp("revised") / "history"
    draw = random.Random(4)
    rows = []
    for seq in range(400):
        made = {
            "owner_id": draw.choice(["u", "v", "it's"]),
            "tenant": draw.choice(["default", "default", "other"]),
            "recorded_at": draw.choice(DAYS),
            "body_text": str(seq),
            "valid_to": draw.choice([None, None, "2026-03-06T00:00:00Z"]),
        }
        rows.append(state(draw.choice("abcdef"), seq, draw.choice(DAYS), **made))
        if draw.random() < 0.2 and made["owner_id"] != "v":
            rows[-1] = _taken_away(rows[-1])
    for version in range(4):
        write(root, version, revisions=rows[version::4])
    return root


def _taken_away(revision: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same, its `after` being its `before`."""
    names = list(SCHEMAS["revisions"].names)
    values = dict(zip(names, revision, strict=True))
    values |= {"op": "delete", "before": values["after"], "after": None}
    return tuple(values[name] for name in names)


@pytest.mark.parametrize("known_at", [None, "2026-03-02", "2026-03-05"])
@pytest.mark.parametrize("owner", ["u", "v", "it's", "nobody"])
def test_states_of_a_user_are_what_the_macro_says(
    revised: Path, owner: str, known_at: str | None
) -> None:
    known = None if known_at is None else history_documents.parse_moment(known_at)
    told = 0
    for at in (parse_time(f"{day}T12:00:00Z") for day in DAYS[::3]):
        clocks = f"make_timestamptz({at}), {f'make_timestamptz({known})' if known else 'NULL'}"
        with connect(revised, tenant="default") as db:
            sql = f"FROM state_as_of({clocks}) WHERE owner_id = ? ORDER BY ALL"
            slow = read(db, sql, owner).objects()
        for one in slow:
            one["payload"] = msgspec.json.decode(one["payload"])
        found = history_documents.states(revised, "default", owner, at, known)
        assert sorted(found, key=str) == sorted(slow, key=str)
        told += len(found)
    assert (told > 0) == (owner != "nobody")


TURNS = """
    SELECT e.event_id, e.occurred_at, e.session_id, e.user_id, e.status, e.user_input,
        e.agent_answer, a.v, a.a, a.d
    FROM event_current e LEFT JOIN affect_current a USING (tenant, session_id, event_id)
    WHERE {} ORDER BY e.occurred_at, e.event_id"""


def as_shown(found: list[dict[str, Any]], slow: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: one[name] for name in slow[0]} for one in found]


def test_a_timeline_is_what_the_views_say(history: Path) -> None:
    for column, of_users in (("session_id", False), ("user_id", True)):
        keys = asked(history, f"SELECT DISTINCT {column} k FROM events WHERE {column} IS NOT NULL")
        assert len(keys) > 1
        for key in (one["k"] for one in keys):
            slow = asked(history, TURNS.format(f"e.{column} = {quoted(key)}"))
            found = history_lists.timeline(history, "default", key, of_users=of_users)
            assert as_shown(found, slow) == slow


@pytest.fixture(scope="module")
def talkative(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A long session and a user of many sessions: turns that ran first, some as another user's,
    times and ids that several share, rows in no order of time, moods of half of them."""
    root = tmp_path_factory.mktemp("talkative") / "history"
    draw = random.Random(7)
    events, affects = [], []
    for number in range(3000):
        turn = {
            "event_id": f"e{number % 2700}",  # the last stand in another session, too
            "session_id": "it's long" if number < 1500 else f"s{number % 41}",
            "occurred_at": AT + draw.randrange(900) * MINUTE,
            "src_offset": number,
        }
        who = {"user_id": draw.choice("uv"), "user_input": f"said {number}"}
        if draw.random() < 0.3:
            other = {"user_id": draw.choice("uv"), "status": "running"}
            events.append(row("events", **turn, **other))
        events.append(row("events", **turn, **who, status="done"))
        if draw.random() < 0.5:
            affects.append(row("affects", **turn, v=number / 3000))
    draw.shuffle(events)
    for version in range(3):
        write(root, version, events=events[version::3], affects=affects[version::3])
    return root


@pytest.mark.parametrize(
    ("key", "of_users"),
    [("it's long", False), ("it's long", True), ("s3", False), ("u", True)],
    ids=["long_session", "long_session_or_user", "short_session", "user"],
)
def test_the_pages_of_a_timeline_are_all_of_it(talkative: Path, key: str, of_users: bool) -> None:
    """At any place, within turns of one time as well."""
    theirs = f"(e.session_id = {quoted(key)} OR e.user_id = {quoted(key)})"
    slow = asked(talkative, TURNS.format(theirs))
    assert len(slow) == len(asked(talkative, f"SELECT 1 FROM event_current e WHERE {theirs}"))
    whole = history_lists.timeline(talkative, "default", key, of_users=of_users)
    assert as_shown(whole, slow) == slow
    places = [(parse_time(one["occurred_at"]), one["event_id"]) for one in slow]
    size = len(slow) // 3
    for start in {1, size, len(slow) // 2, len(slow) - 1}:
        rest = [one for one, place in zip(whole, places, strict=True) if place > places[start - 1]]
        page = history_lists.timeline(
            talkative, "default", key, of_users=of_users, after=places[start - 1], limit=size
        )
        assert page == rest[:size]
    assert not history_lists.timeline(
        talkative, "default", key, of_users=of_users, after=places[-1]
    )


def test_a_timeline_shows_the_row_that_stands_whoever_it_names(tmp_path: Path) -> None:
    """A running turn named another user than the turn that ended."""
    root = tmp_path / "history"
    turn = {"event_id": "e", "session_id": "s"}
    running = row("events", **turn, user_id="u", status="running")
    write(root, events=[running, row("events", **turn, user_id="v", status="done")])
    with pytest.raises(DataRefused):
        history_lists.timeline(root, "default", "u")
    for key in "vs":
        assert [one["status"] for one in history_lists.timeline(root, "default", key)] == ["done"]


def test_a_user_is_what_the_views_say(history: Path) -> None:
    owners = asked(history, "SELECT DISTINCT owner_id FROM preference_current")
    assert owners
    for owner in (one["owner_id"] for one in owners):
        found = history_documents.user(history, "default", owner, AT)
        held = history_documents.states(history, "default", owner, AT, None)
        kept = [one for one in held if one["kind"] != "long_mood_state"]
        assert sorted(found["states"], key=str) == sorted(kept, key=str)
        theirs = f"owner_id = {quoted(owner)} ORDER BY domain, subject"
        shown = (
            "preference_id, domain, polarity, subject, status, confidence, evidence_event_ids, "
            "updated_at"
        )
        slow = asked(history, f"SELECT {shown} FROM preference_current WHERE {theirs}")
        assert found["preferences"] == slow
        docs = asked(history, f"SELECT doc FROM profile_current WHERE user_id = {quoted(owner)}")
        profiles = [msgspec.json.decode(one["doc"]) for one in docs] or [None]
        assert [found["profile"]] == profiles


def test_a_user_as_of_a_time_is_what_the_records_up_to_then_make(tmp_path: Path) -> None:
    """The profile, too: that of now knows what came later."""
    lines = CONVERSATIONS.read_bytes().splitlines(keepends=True)
    file_runner.run([_file(tmp_path / "all.ndjson", lines)], tmp_path / "all")
    records = [msgspec.json.decode(line) for line in lines if line.startswith(b"{")]
    seen = 0
    for day in ("2026-03-03", "2026-03-06", "2026-03-10"):
        at = history_documents.parse_moment(day)
        assert at is not None
        early = [
            msgspec.json.encode(record) + b"\n"
            for record in records
            if "occurred_at" in record and parse_time(record["occurred_at"]) <= at
        ]
        file_runner.run([_file(tmp_path / f"{day}.ndjson", early)], tmp_path / day)
        for owner in ("emma", "lin", "yui"):
            then = history_documents.user(tmp_path / "all", "default", owner, at)
            expected = history_documents.user(tmp_path / day, "default", owner)
            now = history_documents.user(tmp_path / "all", "default", owner)
            assert (then["profile"], then["preferences"]) == (
                expected["profile"], expected["preferences"],
            )  # fmt: skip
            seen += then["profile"] != now["profile"]
    assert seen > 4, "the sample goes on after these days"
    before = history_documents.user(
        tmp_path / "all", "default", "lin", history_documents.parse_moment("2026-02-01")
    )
    assert not any(before[name] for name in before if name != "user_id"), "known later"


def _file(path: Path, lines: list[bytes]) -> str:
    path.write_bytes(b"".join(lines))
    return str(path)


@pytest.mark.parametrize(
    "ask",
    [
        lambda root: history_documents.session(root, "default", "x", None, AT),
        lambda root: history_lists.timeline(root, "default", "x"),
        lambda root: history_documents.user(root, "default", "x", AT),
        lambda root: history_lists.why(root, "default", "x"),
    ],
    ids=["session", "timeline", "user", "why"],
)
def test_an_empty_history_knows_nothing(tmp_path: Path, ask: Callable[[Path], Any]) -> None:
    root = open_root(tmp_path / "history")
    with pytest.raises(DataRefused, match="history"):
        ask(root)
    assert history_documents.states(root, "default", "x", AT, None) == []


@pytest.mark.parametrize("running_first", [True, False])
def test_of_a_running_turn_that_has_ended_no_time_counts(
    tmp_path: Path, running_first: bool
) -> None:
    """It began 49 h after it ended, by another clock; and it names a task, so that it is stored."""
    at = {"type": "turn", "session_id": "s", "user_id": "u", "event_id": "e", "task_id": "t"}
    ended = {**at, "occurred_at": "2026-03-01T00:00:00Z"}
    running = {**at, "occurred_at": "2026-03-03T01:00:00Z", "status": "running"}
    told = [running, ended] if running_first else [ended, running]
    file_runner.run([str(ndjson(tmp_path / "told.ndjson", told))], tmp_path / "history")
    now = parse_time("2026-03-03T02:00:00Z")
    session = history_documents.session(tmp_path / "history", "default", "s", None, now)
    assert (session["status"], session["closed_reason"]) == ("closed", "expired")
