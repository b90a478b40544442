"""Creates the record of a group: requests an answer, checks it, and requests one correction."""

import re
import time
from collections import Counter
from typing import Any

from schemas.base import JsonObject, format_time
from streams.errors import Unreachable
from streams.llm import prompt
from streams.llm.budget import Budget, BudgetSpent
from streams.llm.client import Client, Still
from streams.llm.completion import REFUSED, SHOWN, Rejected, Reply
from streams.llm.debounce import Group
from streams.llm.plans import ANSWER_KEPT, Author, Fault, Misfit, Planner
from streams.llm.prompted_memory import Remembered, choose
from streams.llm.settings import LlmSettings

CALLS = 2
"""Maximum calls per group: the request and one correction."""
MOST_ERRORS = 1000
"""Maximum different errors counted."""

NOT_A_FIELD = "Extra inputs are not permitted"
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|'[^']*$|\"[^\"]*$")

NOTHING: Remembered = {}
COUNTS = ("groups", "calls", "repaired", "partly", "failed", "prompt_tokens", "completion_tokens")


class Extractor:
    """Creates records of groups, and counts calls, tokens and cost. `failed_in_row`: groups without
    a plan since the last one with a plan."""

    def __init__(self, settings: LlmSettings, client: Client, budget: Budget) -> None:
        self.author = Author(settings.extractor, settings.extractor_version)
        self.budget = budget
        self.client = client
        self.counts: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.failed_in_row = 0
        self.last_failure = ""
        self.cost = 0.0
        self._follows_schema = False  # whether an answer had the requested format
        self._settings = settings

    async def make(
        self,
        group: Group,
        remembered: Remembered,
        replies: list[Reply],
        still: Still | None = None,
    ) -> JsonObject:
        """Returns the record of a group: a plan, or a failure. `replies`: the replies so far; new
        ones are appended. `still`: checks that the turns exist before a delayed request is sent.

        Raises ConfigurationError, Erased; Unreachable and BudgetSpent, unless a correction would
        not be retried: then the valid part of the first answer counts.
        """
        settings = self._settings
        text = "\n".join(turn.user_input for turn in group.turns)
        memory = choose(remembered, text, settings.max_states, settings.max_state_bytes)
        planner = Planner(group, memory, self.author, settings.all_categories)
        question = prompt.messages(group, memory, settings.instructions, settings.max_text)
        while True:
            messages = question
            if replies:
                try:
                    return self._plan(planner, replies)
                except Fault as fault:
                    error = str(fault)
                    if isinstance(fault, Misfit) and not self._follows_schema:
                        self.client.schema_was_ignored()
                if len(replies) == CALLS:
                    return self._partly(planner, error, replies)
                messages = [*question, *prompt.repair(replies[-1].text[:ANSWER_KEPT], error)]
            try:
                reply = await self.client.ask(messages, still)
            except Rejected as rejected:
                return self._partly(planner, str(rejected), replies)
            except (BudgetSpent, Unreachable) as stop:
                is_retried = self.client.patient and getattr(stop, "seconds", 0.0) is not None
                if not replies or is_retried:
                    raise
                return self._partly(planner, f"{error}; not asked again: {stop}", replies)
            replies.append(reply)
            self.counts["calls"] += 1
            self.counts["prompt_tokens"] += reply.prompt_tokens
            self.counts["completion_tokens"] += reply.completion_tokens
            self.cost += settings.cost(reply.prompt_tokens, reply.completion_tokens)

    def _plan(self, planner: Planner, replies: list[Reply]) -> JsonObject:
        if fault := replies[-1].fault:
            raise Fault(fault)
        record = planner.plan(replies[-1].text, self._usage(replies))
        self._follows_schema = True
        self._succeeded("repaired", len(replies) > 1)
        return record

    def _partly(self, planner: Planner, error: str, replies: list[Reply]) -> JsonObject:
        """Returns the plan of the valid part of the last answer, otherwise a failure."""
        usage = self._usage(replies)
        if replies and not replies[-1].fault:
            try:
                record = planner.valid_part(replies[-1].text, usage)
            except Fault:
                pass
            else:
                self._succeeded("partly")
                return record
        self.counts["groups"] += 1
        self.counts["failed"] += 1
        self.failed_in_row += 1
        error = self._settings.redacted(error)
        self.last_failure = _without_words(" ".join(error[:SHOWN].split()))
        if len(self.errors) < MOST_ERRORS:
            self.errors[error[:SHOWN]] += 1
        return planner.failure(error, replies[-1].text if replies else "", usage)

    def _succeeded(self, how: str, is_so: bool = True) -> None:
        self.failed_in_row = 0
        self.counts["groups"] += 1
        self.counts[how] += is_so

    def _usage(self, replies: list[Reply]) -> JsonObject:
        sent = sum(reply.prompt_tokens for reply in replies)
        received = sum(reply.completion_tokens for reply in replies)
        return {
            "calls": len(replies),
            "prompt_tokens": sent,
            "completion_tokens": received,
            "cost": round(self._settings.cost(sent, received), 9),
            "made_at": format_time(time.time_ns() // 1000),
        }

    def summary(self) -> dict[str, Any]:
        """Returns the counts, the cost, and the most frequent error in one line."""
        common = self.errors.most_common(1)
        why = " ".join(common[0][0].split()) if common else None
        counts = {name: self.counts[name] for name in COUNTS}
        return {**counts, "cost": round(self.cost, 6), "why_failed": why}


def _without_words(error: str) -> str:
    """An error for logs and readiness, without words of the model or a user."""
    if error.startswith(REFUSED):
        return REFUSED
    if NOT_A_FIELD in error:  # after the name of the field, which may be any words
        return "an answer has a field that its schema has not"
    return _QUOTED.sub("…", error)
