"""`turnfold demo`: folds the sample and shows the extracted facts with their sources."""

import json
import os
import webbrowser
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib.resources import as_file
from io import StringIO
from pathlib import Path
from threading import Thread
from typing import Any

from schemas.base import JsonObject, parse_time
from schemas.citation import cited
from sinks.history import connect
from sinks.history_root import is_marked
from streams import history_documents
from streams.cli_tables import short
from streams.errors import UsageError
from streams.extractors.do_not_store import is_private
from streams.extractors.registry import Extractor, named
from streams.files import file_runner
from streams.files.extractor_choice import update_choice
from streams.output import counted, say
from streams.sample import CONVERSATIONS, HOME, MOVE_TOLD, MOVED, PERSON, TENANT

Command = Callable[[Sequence[str]], Any]
"""Runs `turnfold` with these arguments in this process."""
FOUND = "SELECT event_id, doc FROM plans WHERE extractor_name = 'rules'"
ENDED = """
SELECT owner_id, coalesce("before" ->> '$.body_text', "before" ->> '$.subject'), strftime(coalesce(
    CASE op WHEN 'supersede' THEN "after" ->> '$.valid_from' ELSE "after" ->> '$.valid_to' END,
    "after" ->> '$.updated_at'
)::TIMESTAMP, '%m-%d') FROM revisions WHERE op IN ('supersede', 'close', 'revoke')
ORDER BY occurred_at DESC
"""
SAID = """
SELECT user_id, strftime(occurred_at, '%m-%d'), event_id, user_input FROM event_current
WHERE user_input <> '' ORDER BY occurred_at
"""
SAMPLE = "event_id = 'emma-move-1'"
FOOD, NORA = "What can we cook tonight?", "When is Nora's birthday?"


def show(history: Path, run: Command) -> None:
    """Folds the sample into `history`; prints the extracted facts with their sources, and the
    output of the memory commands.

    Raises UsageError for a folder that has another history.
    """
    check_ours(history)
    with as_file(CONVERSATIONS) as sample:
        counts = file_runner.run([str(sample)], history, choose=lambda: _rules(history))
    _counts(counts, history)
    if not _found(history):
        say("\nThe live generation has nothing that the rules found.")
        return
    _clocks(history)
    os.environ.setdefault("TURNFOLD_MEANING", "off")  # a first look downloads no model
    of = ("--history", str(history))
    _command(run, slice(-4, -1), "why", cited("state", HOME), *of)
    about = ("--query", FOOD, "--max-tokens", "160")
    _command(run, slice(-4, None), "context", PERSON, *about, *of)
    _command(run, slice(1, 2), "search", NORA, "--user", PERSON, "--limit", "1", *of)
    say("In a browser: uv run --extra serve turnfold demo --open")


def check_ours(history: Path) -> None:
    """Keeps the sample's users out of other histories. Raises UsageError."""
    if not is_marked(history):
        return
    with connect(history, views=["events"]) as db:
        (counts,) = db.execute(f"SELECT count(*), bool_or({SAMPLE}) FROM events").fetchall()
    if counts[0] and not counts[1]:
        raise UsageError(
            f"{history} has a history of its own, and the demo's people would be added to it; "
            "name another folder: turnfold demo --history turnfold-demo"
        )


def _rules(history: Path) -> Extractor | None:
    return named(update_choice(history, "rules", lambda _: None).in_process)


def _counts(counts: dict[str, int], history: Path) -> None:
    if not counts["read"]:
        say(f"The sample is in {history} already: nothing was read twice.")
        return
    say(
        f"{counted(counts['read'], 'record')} of three people folded into {history} in "
        f"{counts['seconds']} s: "
        f"{counts['applied']} applied, {counts['duplicate']} sent twice, {counts['withheld']} "
        f"withheld, {counted(counts['dead'], 'dead letter')}."
    )


def _found(history: Path) -> bool:
    """Prints extracted facts; returns whether there are any."""
    with connect(history, tenant=TENANT, views=["plans", "revisions", "event_current"]) as db:
        plans = {event_id: json.loads(doc) for event_id, doc in db.execute(FOUND).fetchall()}
        ends = {(owner, text): day for owner, text, day in db.execute(ENDED).fetchall()}
        turns = db.execute(SAID).fetchall()
    useful = sum(bool(_parts(plan)) for plan in plans.values())
    if not useful:
        return False
    say(f"\nWhat the rules found in {useful} of {len(turns)} turns, no model asked:")
    for user, day, event_id, text in turns:
        turn = f"  {user:4}  {day}  {event_id:14}"
        if is_private(text):
            say(f"{turn}  asked not to be stored: no fact, and search leaves it out")
        sentences: dict[str, list[str]] = {}
        for sentence, fragment, name in _parts(plans.get(event_id, {})):
            until = f" (until {ends[user, name]})" if (user, name) in ends else ""
            sentences.setdefault(sentence, []).append(fragment + until)
        for sentence, parts in sentences.items():
            say(f"{turn}  “{short(sentence, 60)}” → {'; '.join(parts)}")
    return True


def _parts(plan: JsonObject) -> list[tuple[str, str, str]]:
    """For each update of a plan: the evidence sentence, the extracted text, and the text that names
    its end."""
    parts = [
        (update["payload"]["evidence"], update["body_text"].rstrip(".。"), update["body_text"])
        for update in plan.get("state_updates", ())
    ]
    parts += [
        (update["note"], f"{update['polarity']}s {update['subject']}", update["subject"])
        for update in plan.get("preference_updates", ())
    ]
    felt = plan.get("event_affect")
    if felt:
        label = f"feels {', '.join(felt['labels'])} (valence {felt['vad']['v']:+.1f})"
        parts.append((felt["text"], label, ""))
    return parts


def _clocks(history: Path) -> None:
    say("\nOne fact, two clocks: when it was true, and when it was known")
    for moment in (MOVED, MOVE_TOLD):
        states = history_documents.states(
            history, TENANT, PERSON, parse_time(MOVED), parse_time(moment)
        )
        home = next(
            (str(state["body_text"]) for state in states if state["state_id"] == HOME), "nothing"
        )
        say(f"  Emma on {MOVED[:10]}, as known on {moment[:10]}: {home}")


def _command(run: Command, part: slice, *arguments: str) -> None:
    """Prints a command and a part of the lines of its output, without blank ones."""
    words = (f'"{word}"' if " " in word else word for word in arguments)
    say(f"\n$ uv run turnfold {' '.join(words)}")
    with redirect_stdout(StringIO()) as output, redirect_stderr(StringIO()):
        run(arguments)
    for line in list(filter(str.strip, output.getvalue().splitlines()))[part]:
        say(f"  {short(line, 110)}")


def open_page(url: str) -> bool:
    """Opens a URL; returns at once, False without a browser. Terminal browsers (`w3m`) only count
    if `BROWSER` names them."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    if type(browser) is webbrowser.GenericBrowser and "BROWSER" not in os.environ:
        return False
    Thread(target=browser.open, args=(url,), daemon=True).start()
    return True
