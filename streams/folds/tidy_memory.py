"""`tidy_memory`: merges open states of equal content (docs/rules.md, "Long-term memory")."""

from schemas.events import WritePlan
from streams.folds import states
from streams.folds.effects import Effects, Rows
from streams.folds.ids import canonical
from streams.folds.plan_order import SENT


def tidy(rows: Rows, plan: WritePlan, out: Effects) -> None:
    """Closes open states of equal content except the oldest. States written by the rules are
    skipped, as their plans arrive in any order."""
    groups: dict[tuple[str, str, str, int], list[states.State]] = {}
    for _, state in states.STATES.scan(rows):
        current = state.versions[-1]
        if current.valid_to is None and not state.is_ruled:
            payload = canonical(current.payload)
            identity = (state.kind, current.body_text, payload, current.valid_from)
            groups.setdefault(identity, []).append(state)
    closed = 0
    for group in groups.values():
        oldest, *duplicates = sorted(group, key=lambda state: (state.created_at, state.state_id))
        duplicates = duplicates[: out.rules.max_tidied - closed]
        closed += len(duplicates)
        if duplicates:
            _merge(rows, plan, oldest, duplicates, out)


def _merge(
    rows: Rows, plan: WritePlan, oldest: states.State, duplicates: list[states.State], out: Effects
) -> None:
    newest = max(member.versions[-1].last_confirmed_at for member in (oldest, *duplicates))
    at = plan.occurred_at
    place = out.place._replace(rank=SENT)  # after all versions of the states, even if late
    close = states.Update(place, "tidy_close", at, at, valid_to=at)
    for state in duplicates:
        states.put(rows, plan, state, close, "tidy_memory", out)
    if newest != oldest.versions[-1].last_confirmed_at:
        keep = states.Update(place, "tidy_keep", at, at, valid_to=newest)
        states.put(rows, plan, oldest, keep, "tidy_memory", out)
