"""`turnfold admin evaluate`: its figures by hand, and what is said of a set that is wrong."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import locomo
from tests.command import Done, ndjson, turn, turnfold

pytestmark = pytest.mark.nightly

TURNS = [
    turn("e1", user_id="ann", session_id="s1", user_input="I live in Porto, near the river."),
    turn("e2", user_id="ann", session_id="s1", user_input="My cat sleeps on the balcony."),
    turn("e3", user_id="ann", session_id="s1", user_input="She is called Olive."),
    turn("e4", user_id="bob", session_id="s2", user_input="My cat is called Pip."),
]


def question(text: str, *evidence: str, **more: Any) -> dict[str, Any]:
    return {"label": "question", "question": text, "user_id": "ann", "evidence": evidence} | more


def observation(text: str, *evidence: str, user: str = "ann") -> dict[str, Any]:
    return {"label": "observation", "text": text, "user_id": user, "evidence": evidence}


def evaluate(folder: Path, lines: list[Any], *given: str | Path) -> Done:
    return turnfold("admin", "evaluate", ndjson(folder / "set.ndjson", lines), *given)


def figures(done: Done) -> dict[str, dict[str, Any]]:
    """By category."""
    assert done.code == 0, done.err
    return {row["category"]: row for row in done.json()["search"]}


def packs(done: Done, category: str = "all") -> dict[int, dict[str, Any]]:
    """By budget."""
    assert done.code == 0, done.err
    return {row["max_tokens"]: row for row in done.json()["packs"] if row["category"] == category}


def test_each_figure_counts_the_questions_that_it_applies_to(tmp_path: Path) -> None:
    lines = [
        *TURNS,
        question("Where does the cat sleep?", "e2", answer="on the balcony", category="pets"),
        question("What is the cat's name?", "e3", answer=["Olive", "Oli"], category="pets"),
        question("zzz", "e1", answer="Porto", category="home"),
        question("Is there a river?", category="home"),
    ]
    found = figures(evaluate(tmp_path, lines, "-o", "json", "--hits", "1"))
    assert found["pets"] == {
        "category": "pets", "questions": 2, "turn": 0.5, "session": 1.0, "answer": 0.5,
        "answer_with_neighbours": 1.0,
    }  # fmt: skip
    assert found["home"] == {
        "category": "home", "questions": 2, "turn": 0.0, "session": 0.0, "answer": 0.0,
        "answer_with_neighbours": 0.0,
    }  # fmt: skip
    assert found["all"]["questions"] == 4 and found["all"]["turn"] == pytest.approx(1 / 3)


def test_a_question_is_asked_of_its_user_unless_everybody_is(tmp_path: Path) -> None:
    lines = [*TURNS, question("Who is called Pip?", "e3", answer="Pip")]
    assert figures(evaluate(tmp_path, lines, "-o", "json"))["all"]["answer"] == 0.0
    assert figures(evaluate(tmp_path, lines, "-o", "json", "--everybody"))["all"]["answer"] == 1.0


def test_extraction_counts_items_and_observations_of_one_substance(tmp_path: Path) -> None:
    lines = [
        *TURNS,
        turn("e5", user_id="ann", session_id="s1", user_input="I love jazz."),
        turn("e6", user_id="eve", session_id="s3", user_input="I live in Leeds."),
        observation("Ann lives in Porto.", "e1"),
        observation("Ann has a cat.", "e2"),
        observation("Ann loves jazz.", "e1"),
    ]
    done = evaluate(tmp_path, lines, "-o", "json", "--extractor", "rules")
    assert done.code == 0, done.err
    assert done.json()["extraction"] == {
        "observations": 3, "observations_found": 1, "items": 2, "items_matching": 1,
        "precision": 0.5, "recall": pytest.approx(1 / 3),
    }  # fmt: skip


def test_a_pack_is_judged_by_its_evidence_within_each_budget(tmp_path: Path) -> None:
    lines = [
        *TURNS,
        question("Where does the cat sleep, and what is it called?", "e2", "e3"),
        question("Who lives near the river?", "e1"),
        question("Which felines?", "e2"),
    ]
    done = evaluate(tmp_path, lines, "-o", "json", "--budgets", "40,400")
    small, large = packs(done)[40], packs(done)[400]
    assert (small["questions"], large["questions"]) == (3, 3)
    assert small["any"] < large["any"] == pytest.approx(2 / 3)
    assert large["tokens"] <= 400 and large["lines"] > small["lines"]
    assert packs(done, "(paraphrase)")[400]["any"] == 0.0
    assert packs(done, "(paraphrase)")[400]["questions"] == 1
    told = evaluate(tmp_path, lines, "--budgets", "400").out
    assert "pack 400" in told and "66.7% / " in told


def test_extractors_are_shown_side_by_side(tmp_path: Path) -> None:
    lines = [*TURNS, question("Where is Porto?", "e1")]
    done = evaluate(tmp_path, lines, "--extractor", "none", "--extractor", "rules", "-o", "json")
    assert done.code == 0 and set(done.json()) == {"none", "rules"}
    told = evaluate(tmp_path, lines, "--extractor", "none", "--extractor", "rules").out
    assert " none " in told and " rules " in told


def test_facts_are_counted_by_judgements_and_by_what_has_to_be_current(tmp_path: Path) -> None:
    lines = [
        *TURNS,
        turn("e5", user_id="ann", session_id="s1", user_input="I love jazz."),
        {"label": "judgement", "user_id": "ann", "text": "jazz", "verdict": "useful"},
        {"label": "judgement", "user_id": "ann", "text": "Lives in Porto.", "verdict": "useless"},
        {"label": "current", "user_id": "ann", "text": "Porto"},
        {"label": "current", "user_id": "ann", "text": "Leeds", "holds": True},
        {"label": "current", "user_id": "ann", "text": "jazz", "holds": False},
        {"label": "current", "user_id": "bob", "text": "Porto", "holds": False},
    ]
    done = evaluate(tmp_path, lines, "--extractor", "rules", "-o", "json")
    assert done.code == 0, done.err
    facts = done.json()["facts"]
    assert (facts["useful"], facts["useful_or_arguable"]) == (0.5, 0.5)
    assert (facts["wrong"], facts["missing"]) == (1, 1)
    assert (facts["users_wrong"], facts["users"]) == (1, 2)
    assert (
        "1 wrong, 1 missing, 1 of 2 users" in evaluate(tmp_path, lines, "--extractor", "rules").out
    )


@pytest.mark.parametrize("budgets", ["0", "x", "400,", "400,-1"])
def test_a_wrong_budget_is_named(tmp_path: Path, budgets: str) -> None:
    done = evaluate(tmp_path, [*TURNS, question("cat", "e2")], "--budgets", budgets)
    assert done.code == 2 and done.err.startswith("turnfold: --budgets: ")


def test_details_say_what_became_of_each_question_and_item(tmp_path: Path) -> None:
    lines = [*TURNS, question("cat balcony", "e2"), observation("Ann lives in Porto.", "e1")]
    out = tmp_path / "details.ndjson"
    assert evaluate(tmp_path, lines, "--extractor", "rules", "--details", out).code == 0
    asked, *packed, item = map(json.loads, out.read_text().splitlines())
    assert [one["max_tokens"] for one in packed] == [400, 800, 1500]
    assert asked["line"] == 5 and asked["turn"] and asked["hits"][0] == "e2"
    assert item["kind"] == "state" and item["matches"] == [6] and item["evidence"] == ["e1"]


def test_a_history_that_exists_is_evaluated_by_generation(tmp_path: Path) -> None:
    history = tmp_path / "h"
    file = ndjson(tmp_path / "set.ndjson", [*TURNS, observation("Ann lives in Porto.", "e1")])
    records = ndjson(tmp_path / "records.ndjson", TURNS)
    assert turnfold("run", records, "--history", history).code == 0
    rebuilt = ("generation", "create", "--history", history, "g", "--extractor", "rules")
    assert turnfold(*rebuilt).code == 0
    recall = [
        turnfold("admin", "evaluate", file, "--history", history, "-o", "json", *more).json()[
            "extraction"
        ]
        for more in ((), ("--generation", "g"))
    ]
    assert [one["recall"] for one in recall] == [0.0, 1.0]


def test_a_table_for_people(tmp_path: Path) -> None:
    done = evaluate(tmp_path, [*TURNS, question("cat balcony", "e2"), observation("x", "e1")])
    assert done.code == 0 and "100.0%" in done.out
    assert "none: precision - (0 of 0 items), recall 0.0% (0 of 1 observations)" in done.out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 5: not JSON"),
        ("[]", "line 5: not a JSON object"),
        ('{"label": "quest"}', "line 5: label: invalid value 'quest'"),
        ('{"label": "judgement", "user_id": "ann", "text": "x", "verdict": "fine"}',
         "line 5: verdict: "),
        ('{"label": "current", "text": "x"}', "line 5: user_id: required"),
        ('{"label": "question"}', "line 5: object missing required field `question`"),
        ('{"label": "question", "question": ""}', "line 5: question: expected `str` of"),
        ('{"label": "question", "question": "q", "evidence": ["e1", 2]}', "line 5: evidence[1]:"),
        ('{"label": "question", "question": "q", "asked_at": "today"}', "line 5: asked_at: "),
        ('{"label": "question", "question": "q", "proof": []}', "unknown field `proof`"),
        ('{"label": "question", "question": "q", "line": 3}', "line 5: line: unknown field"),
        ('{"label": "question", "question": "q", "evidence": ["e9"]}',
         "line 5: evidence[0]: tenant 'default' has no event 'e9'"),
        ('{"label": "question", "question": "q", "user_id": "ann", "evidence": ["e4"]}',
         "line 5: evidence[0]: user 'ann' has no event 'e4'"),
        ('{"type": "turn", "event_id": 7}', "line 5: "),
    ],
)  # fmt: skip
def test_what_is_wrong_is_reported_with_line_and_field(
    tmp_path: Path, line: str, said: str
) -> None:
    file = ndjson(tmp_path / "set.ndjson", TURNS)
    with file.open("a") as more:
        more.write(line + "\n" + json.dumps(question("cat", "e2")) + "\n")
    done = turnfold("admin", "evaluate", file)
    assert done.code == 4 and said in done.err, done.err
    assert done.err.startswith(f"turnfold: {file}: line 5: ") and done.err.count("\n") == 1


def test_a_set_without_a_label_is_refused(tmp_path: Path) -> None:
    done = evaluate(tmp_path, TURNS)
    assert done.code == 4 and "no label" in done.err


def test_a_packed_set_is_read_and_a_broken_one_named(tmp_path: Path) -> None:
    plain = ndjson(tmp_path / "set.ndjson", [*TURNS, question("cat balcony", "e2")]).read_bytes()
    packed = tmp_path / "set.ndjson.gz"
    packed.write_bytes(gzip.compress(plain))
    assert turnfold("admin", "evaluate", packed).code == 0
    packed.write_bytes(gzip.compress(plain)[:-20])
    done = turnfold("admin", "evaluate", packed)
    assert done.code == 3 and str(packed) in done.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--generation", "g"), "needs --history"),
        (("--extractor", "rules", "--history", "h"), "a history has been made already"),
    ],
)
def test_options_that_contradict_each_other(
    tmp_path: Path, given: tuple[str, ...], said: str
) -> None:
    done = evaluate(tmp_path, [question("x")], *given)
    assert done.code == 2 and said in done.err


def test_a_conversation_of_the_data_set_becomes_a_labelled_set(tmp_path: Path) -> None:
    talk = {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "I have a dog.", "blip_caption": "a dog"},
            {"speaker": "Bo", "dia_id": "D1:2", "text": "Nice!"},
        ],
        "session_1_observation": {"Ann": [["Ann has a dog.", ["D1:1"]]]},
        "qa": [
            {"question": "Which pet has Ann?", "answer": "a dog", "evidence": ["D:1:01; D1:2"],
             "category": 4},
            {"question": "Which pet has Bo?", "adversarial_answer": "a dog", "evidence": ["D9:1"],
             "category": 5},
        ],
    }  # fmt: skip
    lines = list(locomo.convert("1", talk, "prefix", together=True))
    assert lines[0]["user_input"] == "Ann: I have a dog."
    assert lines[1]["occurred_at"] == "2023-05-08T13:57:00+00:00"
    assert lines[2]["evidence"] == ["1-D1:1", "1-D1:2"] and lines[3]["evidence"] == []
    assert "answer" not in lines[3]
    assert figures(evaluate(tmp_path, lines, "-o", "json"))["one turn"]["turn"] == 1.0
