"""`turnfold demo`: the sample folded, and what Turnfold is, shown in ten seconds."""

from importlib.resources import as_file
from pathlib import Path

from schemas.base import parse_time
from sinks.history import connect
from sinks.root import is_marked
from streams import listing, reading
from streams.errors import UsageError
from streams.extractors.naming import Extractor, named
from streams.files import local
from streams.files.extractor_choice import update_choice
from streams.output import say
from streams.sample import CONVERSATIONS
from streams.text_output import short

TENANT = "default"
FOUND = """
SELECT user_id, strftime(occurred_at, '%Y-%m-%d'), coalesce(
    doc ->> '$.state_updates[0].payload.evidence', doc ->> '$.preference_updates[0].note',
    doc ->> '$.event_affect.text'
) AS words FROM plans WHERE extractor_name = 'rules' AND words IS NOT NULL ORDER BY occurred_at
"""
SAMPLE = "event_id = 'emma-move-1'"
BEFORE, AFTER = "2026-03-05T23:59:59Z", "2026-03-14T23:59:59Z"


def show(history: Path) -> None:
    """Folds the sample into `history` and prints what it remembers, why and as of when.

    Raises UsageError for a folder that has another history.
    """
    check_ours(history)
    with as_file(CONVERSATIONS) as sample:
        counts = local.run([str(sample)], history, choose=lambda: _rules(history))
    _counts(counts, history)
    _remembered(history)
    _found(history)
    _reasons(history)
    _agents(history)
    _feelings(history)
    _learner(history)
    _next(history)


def check_ours(history: Path) -> None:
    """The sample's people do not come among somebody's own. Raises UsageError."""
    if not is_marked(history):
        return
    with connect(history, views=["events"]) as db:
        (found,) = db.execute(f"SELECT count(*), bool_or({SAMPLE}) FROM events").fetchall()
    if found[0] and not found[1]:
        raise UsageError(
            f"{history} has a history of its own, and the demo's people would be added to it; "
            "name another folder: turnfold demo --history turnfold-demo"
        )


def _rules(history: Path) -> Extractor | None:
    return named(update_choice(history, "rules", lambda _: None).in_process)


def _title(text: str) -> None:
    say(f"\n{text}\n{'─' * len(text)}")


def _counts(counts: dict[str, int], history: Path) -> None:
    if not counts["read"]:
        say(f"The sample is in {history} already: nothing was read twice.")
        return
    say(
        f"{counts['read']} records of three people over two weeks, folded into {history} "
        f"in {counts['seconds']} s:"
    )
    say(
        f"  {counts['applied']} applied, {counts['duplicate']} sent twice, {counts['dead']} refused"
        f" (with its reason), {counts['withheld']} withheld (nothing of it is written anywhere)."
    )


def _homes(history: Path, at: str) -> str:
    states = reading.states(history, TENANT, "emma", parse_time(at), None)
    return next(str(one["body_text"]) for one in states if one["state_id"] == "emma-home")


def _remembered(history: Path) -> None:
    _title("What it remembers, as of when")
    for at in (BEFORE, AFTER):
        say(f"  {at[:10]}  {_homes(history, at)}")


def _found(history: Path) -> None:
    _title("What rules found in their own words (no model asked)")
    with connect(history, tenant=TENANT, views=["plans"]) as db:
        said = db.execute(FOUND).fetchall()
    for user, day, text in said:
        say(f"  {day}  {user:5} {short(text, 80)}")


def _reasons(history: Path) -> None:
    _title("Why: a correction, with what it was made from")
    revisions = listing.why(history, TENANT, "emma-nora-birthday")
    for row in {row["revision_id"]: row for row in revisions}.values():  # its newest evidence
        before, after = row["before"], row["after"]
        say(f"  {row['occurred_at'][:10]}  {row['op']}: {row['reason']}")
        say(f"    before: {before['body_text'] if before else '—'}")
        say(f"    after:  {after['body_text']}")
        say(f"    because Emma said: “{short(row['user_input'], 80)}”")


def _agents(history: Path) -> None:
    _title("What its agents did")
    for task_id, session_id in (
        ("emma-move-task-1", "emma-move"),
        ("emma-trains-task-1", "emma-trains"),
    ):
        document = reading.task(history, TENANT, task_id, session_id)
        machine = document["global"]
        forced = f": stopped, {machine['error']}" if machine["forced"] else ""
        steps = f"{machine['iteration']} of at most {machine['max_iteration']} steps"
        say(f"  {machine['status']} after {steps}{forced}")
        say(f"    {short(document['context']['objective'] or '', 90)}")


def _feelings(history: Path) -> None:
    _title("How 結衣 felt (valence −1…+1; the shock fades when it is read)")
    for day in ("2026-03-04", "2026-03-05", "2026-03-07", "2026-03-09", "2026-03-14"):
        at = parse_time(f"{day}T23:00:00Z")
        mood = reading.user(history, TENANT, "yui", at)["mood"]
        bar = "█" * round(abs(mood["vad"]["v"]) * 20)
        side = f"{'':>20} {bar}" if mood["vad"]["v"] >= 0 else f"{bar:>20}"
        say(f"  {day}  {mood['vad']['v']:+.2f} {side}  {short(mood['text'], 40)}")


def _learner(history: Path) -> None:
    _title("What 林晓 has learnt")
    found = reading.user(history, TENANT, "lin", parse_time(AFTER))
    profile = found["profile"]
    for topic, level in profile["mastery"].items():
        quizzes = profile["history"]["quiz_sessions"]
        say(f"  {topic}: {level} ({profile['mastery_score'][topic]:.2f}) after {quizzes} quizzes")


def _next(history: Path) -> None:
    _title("Where to look next")
    for command in (
        f"turnfold show user emma --history {history}",
        f"turnfold context emma --history {history}",
        f"turnfold show session emma-move --history {history} --as-of 2026-03-05",
        f'turnfold search "Where does Emma live?" --history {history}',
        f"turnfold show task emma-move-task-1 --history {history}",
        f"turnfold admin dlq list --history {history}",
        f'turnfold sql --history {history} "SELECT topic, count(*) FROM events GROUP BY ALL"',
        "turnfold run YOUR.ndjson --history memory",
    ):
        say(f"  uv run {command}")
    say(f"  uv run --extra serve turnfold serve --history {history}")
    say("and open the address that it prints: the inspector shows all of this in a browser.")
