"""A group's record: the model is asked, its answer judged, repaired once; then it is a failure."""

import re
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from schemas.base import JsonObject
from streams.errors import Unreachable
from streams.llm import plans, prompt
from streams.llm.budget import Budget, BudgetSpent
from streams.llm.client import Client, Still
from streams.llm.completion import REFUSED, SHOWN, Rejected, Reply
from streams.llm.groups import Group
from streams.llm.known import Known, Remembered, choose
from streams.llm.plans import Author, Fault, Misfit, Usage
from streams.llm.settings import LlmSettings

MICROS = 1_000_000
CALLS = 2
"""Of a group: the question, and once what was wrong with the answer."""
MOST_ERRORS = 1000
"""Different ones that are counted."""

NOT_A_FIELD = "Extra inputs are not permitted"
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|'[^']*$|\"[^\"]*$")

NOTHING: Remembered = {}


class Extractor:
    """Makes records of groups, and counts what that takes.

    `comes_back`: who calls asks again about a group that could not be asked about to the end.
    """

    def __init__(
        self,
        settings: LlmSettings,
        client: Client,
        author: Author,
        budget: Budget,
        *,
        comes_back: bool,
    ) -> None:
        self.author = author
        self.budget = budget
        self.counts: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.failed_in_row = 0
        """Groups without a plan since the last one with a plan."""
        self.last_failure = ""
        self.cost = 0.0
        self._settings = settings
        self._client = client
        self._comes_back = comes_back
        self._paid: dict[str, list[Reply]] = {}
        """By plan id: first answers of groups whose second question is still to be asked."""

    async def make(
        self, group: Group, remembered: Remembered, still: Still | None = None
    ) -> JsonObject:
        """The record of a group: a plan, or what says that there is none. `still`: whether its
        turns are there yet, asked before what has waited is sent.

        Raises ConfigurationError, Unreachable, BudgetSpent: the group is then as it was, and what
        was paid for it is kept, or the record. Erased: nothing of it is kept.
        """
        known = self._known(group, remembered)
        name = plans.plan_id(group, self.author)
        question = messages = prompt.messages(
            group, known, self._settings.instructions, self._settings.max_text
        )
        replies = self._paid.pop(name, [])
        while True:
            if replies:
                try:
                    return self._made(group, known, replies)
                except Fault as fault:
                    error = str(fault)
                if len(replies) == CALLS:
                    return self._partly(error, group, known, replies)
                answer = replies[-1].text[: plans.ANSWER_KEPT]
                messages = [*question, *prompt.repair(answer, error)]
            try:
                reply = await self._client.ask(messages, still)
            except Rejected as refused:
                return self._partly(str(refused), group, known, replies)
            except (BudgetSpent, Unreachable) as stopped:
                if not replies:
                    raise
                if self._comes_back and getattr(stopped, "seconds", 0.0) is not None:
                    self._paid[name] = replies
                    raise
                why = f"{error}; not asked again: {stopped}"
                return self._partly(why, group, known, replies)
            replies.append(reply)
            self._count(reply)

    def _partly(self, error: str, group: Group, known: Known, replies: list[Reply]) -> JsonObject:
        """The plan of what is valid in the last answer, else a failure."""
        if not replies or replies[-1].fault:
            return self._failed(error, group, replies)
        usage, categories = self._usage(replies), self._settings.all_categories
        try:
            record = plans.valid_part(
                replies[-1].text, group, known, self.author, usage, categories
            )
        except Fault:
            return self._failed(error, group, replies)
        self.failed_in_row = 0
        self.counts["groups"] += 1
        self.counts["partly"] += 1
        return record

    def _failed(self, error: str, group: Group, replies: list[Reply]) -> JsonObject:
        self.counts["groups"] += 1
        self.counts["failed"] += 1
        self.failed_in_row += 1
        text = replies[-1].text if replies else ""
        error = self._settings.redacted(error)
        self.last_failure = _without_words(_in_a_line(error[:SHOWN]))
        if len(self.errors) < MOST_ERRORS:
            self.errors[error[:SHOWN]] += 1
        return plans.failure(error, text, group, self.author, self._usage(replies))

    def _known(self, group: Group, remembered: Remembered) -> Known:
        told = self._settings
        said = "\n".join(turn.user_input for turn in group.turns)
        return choose(remembered, said, told.max_states, told.max_state_bytes)

    def _made(self, group: Group, known: Known, replies: list[Reply]) -> JsonObject:
        reply = replies[-1]
        if reply.fault:
            raise Fault(reply.fault)
        usage = self._usage(replies)
        try:
            record = plans.plan(
                reply.text, group, known, self.author, usage, self._settings.all_categories
            )
        except Fault as fault:
            self._client.judged(reply, fits=not isinstance(fault, Misfit))
            raise
        self._client.judged(reply, fits=True)
        self.failed_in_row = 0
        self.counts["groups"] += 1
        self.counts["repaired"] += len(replies) > 1
        return record

    def _usage(self, replies: list[Reply]) -> Usage:
        sent = sum(reply.prompt_tokens for reply in replies)
        received = sum(reply.completion_tokens for reply in replies)
        cost = round(self._settings.cost(sent, received), 9)
        return Usage(len(replies), sent, received, cost, int(time.time() * MICROS))

    def _count(self, reply: Reply) -> None:
        self.counts["calls"] += 1
        self.counts["prompt_tokens"] += reply.prompt_tokens
        self.counts["completion_tokens"] += reply.completion_tokens
        self.cost += self._settings.cost(reply.prompt_tokens, reply.completion_tokens)

    @property
    def retries(self) -> int:
        """Attempts that failed for the moment."""
        return self._client.retries

    @property
    def away(self) -> str | None:
        """Why no request is answered now, if none is; it begins with ":" or "until …:"."""
        return self._client.away

    @property
    def breaker(self) -> str:
        """The circuit breaker's state."""
        return self._client.breaker

    def summary(self) -> dict[str, int | float]:
        """What has been done and spent."""
        names = (
            "groups",
            "calls",
            "repaired",
            "partly",
            "failed",
            "prompt_tokens",
            "completion_tokens",
        )
        return {**{name: self.counts[name] for name in names}, "cost": round(self.cost, 6)}

    @property
    def why_failed(self) -> str | None:
        """What was wrong most often, in a line."""
        return _in_a_line(self.errors.most_common(1)[0][0]) if self.errors else None


def _without_words(error: str) -> str:
    """What was wrong, for logs and readiness: nothing of what the model or a user said."""
    if error.startswith(REFUSED):
        return REFUSED
    if NOT_A_FIELD in error:  # behind its name, which may be any words
        return "an answer has a field that its schema has not"
    return _QUOTED.sub("…", error)


def _in_a_line(text: str) -> str:
    return " ".join(text.split())


@asynccontextmanager
async def extractor(
    settings: LlmSettings, budget: Budget, *, timed: bool, patient: bool
) -> AsyncIterator[Extractor]:
    """An extractor with an open connection."""
    async with Client(settings, budget, patient=patient) as client:
        author = Author(settings.extractor, settings.extractor_version, timed)
        yield Extractor(settings, client, author, budget, comes_back=patient)
