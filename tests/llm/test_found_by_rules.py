"""What rules found is found again from the turns, so that a plan can take its place."""

from schemas.time import format_time, parse_time
from streams.llm.debounce import Group, Turn
from streams.llm.prompted_memory import REPLACED, Remembered
from streams.llm.replaced_plans import with_rules

AT = parse_time("2026-01-01T00:00:00Z")


def group(*texts: str) -> Group:
    return Group(
        tuple(
            Turn("default", "s", "u", f"e{n}", AT + n, AT + n, "chat", text)
            for n, text in enumerate(texts)
        )
    )


def test_states_and_preferences_of_each_turn_are_found() -> None:
    made = with_rules({}, group("I live in Porto.", "Hello!", "I love green tea."))[REPLACED]
    home, tea = made
    assert (home["entity"], home["body_text"]) == ("state", "Lives in Porto.")
    assert (home["evidence_event_ids"], home["updated_at"]) == (["e0"], format_time(AT))
    assert (tea["entity"], tea["subject"]) == ("preference", "green tea")
    assert tea["updated_at"] == format_time(AT + 2)


def test_what_the_history_tells_it_knows_better() -> None:
    """Another may have corrected it: then it is shown to the model, and is not replaced. A history
    that shows it as the rules wrote it has only not told yet whose it is."""
    (home,) = with_rules({}, group("I live in Porto."))[REPLACED]
    corrected = {**home, "body_text": "Lives in Porto Alegre."}
    shown: Remembered = {"states": [corrected], REPLACED: []}
    assert with_rules(shown, group("I live in Porto.")) == shown
    behind: Remembered = {"states": [home]}
    assert with_rules(behind, group("I live in Porto."))[REPLACED] == [home]
    by_rules: Remembered = {"states": [home], REPLACED: [{**home, "seen": "in the history"}]}
    assert with_rules(by_rules, group("I live in Porto."))[REPLACED] == by_rules[REPLACED]


def test_what_rules_revoke_or_end_is_left() -> None:
    made = with_rules({}, group("I prefer tea to coffee.", "I no longer live in Lisbon."))[REPLACED]
    assert all(one["entity"] == "state" or one["subject"] == "tea" for one in made)
