"""Chat sentences judged by hand before the rules of their language were written.

A line of `judged/LANGUAGE.ndjson` is {text, part: tune, held or blind,
facts: ["families whose: words"],
over?: ["whose words"], may?: [facts that count neither way], keep?: [what the plan says],
missed?: true, since?: the version of the rules before which it was written, if not the first}. No
facts and nothing over is junk: whatever is found in it is wrong. The part "tune" was looked at
while rules were written: it alone has `keep` and `missed`. The part "held" was not, until version
7: its failures were read before that, and mended by kind. The part "blind" was written before
version 7, and measured once, after it; whoever changes rules because of it has to say so here.
Version 8 mended the kinds of those that docs/extractors.md named as wrong (Spanish, Japanese,
French), so that their figures are no longer those of unseen sentences.
`judged/asked.ndjson` (English users who ask for something) has the parts "tune" and "blind" only;
"blind" was measured before anybody looked at what fails in it, and then mended by kind.
`judged/registers.ndjson` are turns of six registers (support, a coding assistant, a companion,
bookings, a health coach, a tutor) and of other languages, with the parts "tune" and "blind",
written before version 10. There a family `any` and a person `*` agree with whatever was stored,
and so does an end `*`.
`judged/platforms.ndjson` are turns of seven registers and of other languages, in the same form and
all "blind": written before version 11 by who mended it, before the rules were read, and measured
once before that. No item was mended for itself, but who mends knows what they wrote.
`judged/worth.ndjson` are sentences of our own for each class of thing that version 11 stored in
vain of posts, chats and bookings of others, and for each that is worth it: {text, class, useful,
keep, "as yet": where the rules do otherwise, felt?: whether it is a feeling}. They were written
after versions 12 and 13, to show what counts, and with versions 14 and 15 for each class
that they mend.
`draws.ndjson` judges what was drawn of others' texts: draw 1 of what version 12 stored, draws 2 to
4 of what version 13 stored as it came to be, each of things not drawn before and judged before what
fails in it was mended.
Draw 5 is of what version 13 stored of sixteen sources, drawn and judged by another reader: what is
`arguable` counts as not useful. Version 14 was made with it, so it says nothing of version 14.
Draw 6 is of what version 14 stored as it was first, judged by a third reader. Version 14 was
mended with it, so it says nothing of what version 14 stores now. Draw 7 is of that, judged by a
fourth reader. Draw 8, by four more, is of the same, from the two thirds of the turns whose hash is
not divisible by three; version 15 was made with it. Draw 9 is of what version 15 stores of the
other third, judged by another reader. Draw 10 is of what version 16 stored of all of them as it was
first, by yet another. `two_people.ndjson` has what two readers said of things that version 15
stored of two people's talk, and a third of the same as version 16 tells them.
`kept_back.ndjson` and `bookings.ndjson` judge what was stored of others' texts, by their turns.
`python -m tests.acceptance.judged` prints the table; `-v` lists what fails in the part "tune".
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from schemas.base import JsonObject
from streams.extractors import rules
from tests.acceptance.utterances import turn

FOLDER = Path(__file__).parent / "judged"
LANGUAGES = ("zh", "ja", "de", "fr", "es")
PARTS = ("tune", "held", "blind")
LIKES = ("like", "dislike")
LONGEST = {False: 40, True: 66}  # characters said of a fact, by whether they are Latin: no more

Judged = dict[str, Any]


class Said(NamedTuple):
    """One thing that a plan says: its family, whose it is, and the text."""

    family: str
    whose: str
    text: str


class Score(NamedTuple):
    """Facts and ends found, of those judged; things found that nobody judged, of those found;
    items without a fact that gave something, of those items."""

    met: int = 0
    expected: int = 0
    wrong: int = 0
    found: int = 0
    junk: int = 0
    silent: int = 0

    def __add__(self, other: object) -> "Score":
        assert isinstance(other, Score)
        return Score(*(one + two for one, two in zip(self, other, strict=True)))

    @property
    def recall(self) -> float:
        return self.met / self.expected

    @property
    def precision(self) -> float:
        return 1 - self.wrong / self.found if self.found else 1.0


def items(language: str) -> list[Judged]:
    """The items of a language, in the order of their file."""
    lines = (FOLDER / f"{language}.ndjson").read_bytes().splitlines()
    return [msgspec.json.decode(line) for line in lines]


def kept(plan: JsonObject) -> list[str]:
    """The sentences of a plan, likes as "like: subject"."""
    states = [update["body_text"] for update in plan.get("state_updates", ())]
    likes = plan.get("preference_updates", ())
    return states + [f"{update['polarity']}: {update['subject']}" for update in likes]


def over(plan: JsonObject) -> list[str]:
    """What a plan ends, as "whose words"; of whomever, where it is of one of several people. An end
    on a date is two, then and now, of which one is told."""
    people: dict[str, set[str]] = {}
    for one in plan.get("ends", ()):
        people.setdefault(one["value"], set()).add(one.get("whose", ""))
    return [
        f"{min(whose) if len(whose) == 1 else ''} {value}".strip()
        for value, whose in people.items()
    ]


def said(plan: JsonObject) -> Iterator[Said]:
    """What a plan says, but for the ends."""
    for update in plan.get("state_updates", ()):
        payload = update["payload"]
        if payload.get("polarity") is None:  # a favourite is a preference, too
            family = payload.get("family") or payload["category"]
            yield Said(family, payload.get("whose", ""), update["body_text"])
    for update in plan.get("preference_updates", ()):
        if update["op"] == "confirm":
            yield Said(update["polarity"], "", update["subject"])


def agrees(one: Said, fact: str) -> bool:
    """Whether it has the family, the person and the words of a judged fact."""
    kinds, _, words = fact.partition(": ")
    families, _, whose = kinds.partition(" ")
    return (
        (families == "any" or one.family in families.split("|"))
        and (one.whose == whose or whose == "*" or (one.family == "pet" and not whose))
        and all(word in one.text for word in words.split())
        and len(one.text) <= LONGEST[max(one.text) < "\u3000"]
    )


def ended(value: str, judged: str) -> bool:
    """Whether an end says what was judged to be over: the words, or that it names none."""
    if judged == "*":
        return True
    return all(word in value for word in judged.lower().split()) if judged else value == ""


def score(judged: Judged) -> Score:
    """The counts of one item."""
    plan = rules.extract(turn(judged["text"])) or {}
    found, ends = list(said(plan)), over(plan)
    facts, gone = judged["facts"], judged.get("over", [])
    may = [*facts, *judged.get("may", ())]
    allowed = [*gone, *(one[5:].strip() for one in may if one.startswith("over:"))]
    wrong = sum(not any(agrees(one, fact) for fact in may) for one in found)
    wrong += sum(not any(ended(one, value) for value in allowed) for one in ends)
    met = sum(any(agrees(one, fact) for one in found) for fact in facts)
    met += sum(any(ended(one, value) for one in ends) for value in gone)
    silent = not facts and not gone
    return Score(
        met, len(facts) + len(gone), wrong, len(found) + len(ends), silent and wrong > 0, silent
    )


def total(judged: Iterable[Judged]) -> Score:
    """The counts of several items."""
    return sum((score(one) for one in judged), Score())


def main() -> None:
    """A row for each language and part."""
    print("| | facts and ends found | right of what was found | something found where no fact is |")
    print("| --- | --- | --- | --- |")
    for language in LANGUAGES:
        for part in PARTS[: 1 if "-v" in sys.argv else None]:
            own = [one for one in items(language) if one["part"] == part]
            counts = total(own)
            right = counts.found - counts.wrong
            print(
                f"| {language}, {part} | {counts.recall:.2f} ({counts.met}/{counts.expected}) | "
                f"{counts.precision:.2f} ({right}/{counts.found}) | {counts.junk}/{counts.silent} |"
            )
            if "-v" in sys.argv and part == "tune":
                for one in own:
                    _explain(one)


def _explain(judged: Judged) -> None:
    counts = score(judged)
    if counts.met < counts.expected or counts.wrong:
        plan = rules.extract(turn(judged["text"])) or {}
        print(f"  {judged['text']}: {judged['facts']} {judged.get('over', '')}")
        print(f"    {[tuple(one) for one in said(plan)]} {over(plan)}")


if __name__ == "__main__":
    main()
