"""`turnfold context`: what an agent is handed, now, at another time, and in spite of odd input."""

from pathlib import Path

import pytest

from schemas.citation import Citation
from schemas.time import parse_time
from streams import history_lists
from streams.context import PackRequest
from streams.context.load import context
from streams.context.pack_lines import STABLE_SECTIONS
from streams.extractors.registry import named
from streams.files import file_runner
from tests.command import ndjson, turn, turnfold
from tests.planned import CONVERSATIONS

pytestmark = pytest.mark.nightly

LATER = parse_time("2026-04-01T00:00:00Z")


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample's history; nobody writes into it."""
    root = tmp_path_factory.mktemp("context") / "history"
    file_runner.run([str(CONVERSATIONS)], root)
    return root


def asked(root: Path, user: str = "emma", at: int = LATER, **more: object) -> str:
    return context(root, "default", PackRequest(user_id=user, at=at, **more)).pack.text  # type: ignore[arg-type]


def test_a_pack_says_what_stands_and_where_it_is_from(history: Path) -> None:
    found = turnfold("context", "emma", "--history", history, "--query", "When is Nora's birthday?")
    assert found.code == 0
    assert "younger sister" in found.out and "14 March" in found.out
    assert "Likes: short answers" in found.out, "whatever the question"
    assert "Ancoats" not in found.out, "not about the question"
    assert "Ancoats" in turnfold("context", "emma", "--history", history, "--query", "Hi!").out
    assert "Leeds" not in found.out.partition("## About the question")[0], "she has moved"
    known = context(history, "default", PackRequest(user_id="emma", at=LATER)).pack.items
    for item in known:
        assert history_lists.why(history, "default", item.cite) == history_lists.why(
            history, "default", item.id
        )
        assert str(Citation.of(item.kind, item.id)) == item.cite


def test_a_pack_of_an_earlier_day_knows_nothing_later(history: Path) -> None:
    then = asked(history, at=parse_time("2026-03-05T23:00:00Z"), text="Where does Emma live?")
    assert "Leeds" in then and "Ancoats, Manchester" not in then


@pytest.mark.nightly
def test_the_pack_of_a_past_moment_can_be_made_again(tmp_path: Path) -> None:
    """Folded day by day: what was handed out then is what as_of and known_at give in the end."""
    days: dict[str, list[bytes]] = {}
    for line in CONVERSATIONS.read_bytes().splitlines():
        moment = line.partition(b'"occurred_at":')[2].strip()[1:11].decode()
        days.setdefault(moment, []).append(line)
    root, handed = tmp_path / "history", []
    for place, (day, lines) in enumerate(sorted(days.items())):
        (tmp_path / f"{place}.ndjson").write_bytes(b"\n".join(lines) + b"\n")
        file_runner.run([str(tmp_path / f"{place}.ndjson")], root)
        known_at = _now(root)
        at = parse_time(f"{day[:10]}T23:59:59Z") if day[:2] == "20" else LATER
        handed += [
            (user, at, known_at, asked(root, user, at, sections=STABLE_SECTIONS))
            for user in ("emma", "lin", "yui")
        ]
    assert len({text for _, _, _, text in handed}) > 8
    for user, at, known_at, text in handed:
        assert asked(root, user, at, known_at=known_at, sections=STABLE_SECTIONS) == text


def _now(root: Path) -> int:
    from tests.command import rows

    ((latest,),) = rows(root, "SELECT max(epoch_us(recorded_at)) FROM revisions")
    return int(latest)


def test_a_budget_that_holds_nothing_says_so(history: Path) -> None:
    found = turnfold("context", "emma", "--history", history, "--max-tokens", "5")
    assert (found.code, found.out) == (0, "")
    assert "left out (token budget): " in found.err and " facts" in found.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--max-tokens", "0"], "max_tokens"),
        (["--sections", "facts,nothing"], "sections"),
        (["--session", "lin-calculus"], "session_id"),
        (["--as-of", "yesterday"], "yesterday"),
    ],
)
def test_a_wrong_option_is_named(history: Path, options: list[str], said: str) -> None:
    found = turnfold("context", "emma", "--history", history, *options)
    assert found.code == 2
    assert said in found.err


def test_a_citation_of_nothing_or_of_a_turn(history: Path, tmp_path: Path) -> None:
    assert turnfold("why", "s:0000000000", "--history", history).code == 4
    root = tmp_path / "history"
    file_runner.run(
        [str(ndjson(tmp_path / "t.ndjson", [turn("e1", user_input="Hello there.")]))], root
    )
    found = turnfold("why", str(Citation.of("event", "e1")), "--history", root)
    assert found.code == 4 and "changed nothing" in found.err


def test_what_has_a_known_end_is_shown_until_then(tmp_path: Path) -> None:
    """Also where the end was learnt later than the time that is asked about."""
    root = tmp_path / "history"
    plan = {"type": "write_plan", "user_id": "u1", "extractor": {"name": "test"}}
    first = dict(
        plan, plan_id="p1", occurred_at="2026-01-01T09:00:00Z",
        state_updates=[
            {"kind": "fact", "state_id": "job", "body_text": "Works at Foo."},
            {"kind": "task", "state_id": "milk", "body_text": "Buy milk.",
             "valid_to": "2026-04-01T00:00:00Z"},
        ],
    )  # fmt: skip
    second = dict(
        plan, plan_id="p2", occurred_at="2026-02-01T09:00:00Z",
        state_updates=[{"op": "close", "state_id": "job"}],
    )  # fmt: skip
    file_runner.run([str(ndjson(tmp_path / "p.ndjson", [first, second]))], root)

    def shown(day: str) -> set[str]:
        question = PackRequest(user_id="u1", at=parse_time(f"{day}T00:00:00Z"))
        return {item.id for item in context(root, "default", question).pack.items}

    assert shown("2026-01-15") == {"job", "milk"}
    assert shown("2026-03-31") == {"milk"}
    assert shown("2026-04-02") == set()


def test_a_small_budget_keeps_what_bears_on_health(tmp_path: Path) -> None:
    said = [
        "I was diagnosed with type 2 diabetes in January.",
        "I take metformin every morning.",
        "My daughter is severely allergic to peanuts.",
        *(f"I own a {thing}." for thing in ("boat", "kayak", "tent", "loom", "drone", "van")),
        *(f"I visited {city} last year." for city in ("Rome", "Oslo", "Lyon", "Porto", "Graz")),
    ]
    turns = [
        turn(f"e{place}", user_input=text, agent_answer="OK.") for place, text in enumerate(said)
    ]
    root = tmp_path / "history"
    file_runner.run(
        [str(ndjson(tmp_path / "t.ndjson", turns))], root, choose=lambda: named("rules")
    )

    question = PackRequest(user_id="u", at=LATER, max_tokens=110)
    made = context(root, "default", question).pack
    assert made.left_out["facts"] > 0 and "constraints" not in made.left_out
    assert {item.text for item in made.items if item.section == "constraints"} == {
        "Has type 2 diabetes.",
        "Takes metformin.",
        "Daughter is severely allergic to peanuts.",
    }


def test_a_session_shows_nothing_that_was_recorded_later_than_known_at(tmp_path: Path) -> None:
    root = tmp_path / "history"
    turns = [
        turn(id, session_id="s", user_id="u1", occurred_at=f"2026-01-0{day}T09:00:00Z",
             user_input="So be it.",
             session_memory_delta={"add": [
                 {"id": f"m-{id}", "type": "constraint", "content": f"Constraint {id}."}]})
        for day, id in ((1, "early"), (5, "late"))
    ]  # fmt: skip
    file_runner.run([str(ndjson(tmp_path / "t.ndjson", turns))], root)
    asked_for = {"user": "u1", "session_id": "s", "sections": ("session",)}
    then = asked(root, **asked_for, known_at=parse_time("2026-01-03T00:00:00Z"))  # type: ignore[arg-type]
    assert "Constraint early." in then and "Constraint late." not in then
    assert "Constraint late." in asked(root, **asked_for)  # type: ignore[arg-type]


def test_a_session_of_two_users_shows_each_their_own_turns_and_says_whose_memory_it_is(
    tmp_path: Path,
) -> None:
    root = tmp_path / "history"
    turns = [
        turn(f"{user}-{n}", session_id="trip", user_id=user, user_input=f"{user.title()}: boat {n}",
             occurred_at=f"2026-01-0{n}T09:00:00Z",
             session_memory_delta={"add": [
                 {"id": f"m-{user}", "type": "preference", "content": f"{user} likes boats."}]})
        for n, user in enumerate(("ann", "bob", "ann", "bob"), start=1)
    ]  # fmt: skip
    file_runner.run([str(ndjson(tmp_path / "t.ndjson", turns))], root)
    for user, other in (("ann", "bob"), ("bob", "ann")):
        text = asked(root, user, text="boat", session_id="trip")
        memory, _, recalled = text.partition("## About the question")
        assert f"- “{user} likes boats.” (preference) [" in memory
        assert f"- “{other} likes boats.” (preference, said by “{other}”) [" in memory
        assert recalled.count(f"user: “{user.title()}: boat") == 2 and other.title() not in recalled
    found = turnfold("context", "eve", "--history", root, "--session", "trip")
    assert found.code == 2 and "another user's" in found.err
