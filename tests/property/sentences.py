"""Worlds of sentences that contradict one another, for the rules: what a user likes and dislikes,
has and gives up, again and again, in several sessions and on few days, so that many meet."""

from random import Random
from typing import Any

from tests.property.world import DAYS, turn

Json = dict[str, Any]

THINGS = ("running", "coffee", "green tea", "jazz", "spicy food", "long meetings")
SENTENCES = (
    "I hate {0}.", "I love {0}.", "I can't stand {0}.", "I really like {0}.",
    "I don't like {0} any more.", "I prefer {0} to {1}.", "I gave up {0}.", "I've gone off {0}.",
    "My favourite drink is {0}.", "I live in Oslo.", "I live in Bergen.",
    "I moved to Porto last week.", "I don't live in Oslo any more, I live in Bergen.",
    "I have been living in Oslo since May 2025.", "I work at Acme.", "I work at Globex, not Acme.",
    "I quit my job.", "I have a dog called Rex.", "My dog Rex died last week.",
    "Remind me to call the plumber tomorrow.", "I'm vegetarian.", "I'm no longer vegetarian.",
    "I'm so happy today!", "I am really sad.", "I'm allergic to peanuts.", "Let's use Postgres.",
    "We switched from Postgres to SQLite.", "I'm learning Spanish.", "I stopped learning Spanish.",
)  # fmt: skip


def sentences(draw: Random, most: int, user: str = "u1") -> list[Json]:
    """Turns of one user; two of one time have two ids."""
    return [
        turn(
            f"e{number}",
            draw.randint(0, 12) * DAYS,
            session_id=draw.choice(("s1", "s2", "s3")),
            user_id=user,
            user_input=draw.choice(SENTENCES).format(draw.choice(THINGS), draw.choice(THINGS)),
        )
        for number in range(draw.randint(2, most))
    ]
