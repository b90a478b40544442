"""`tidy_memory`: of open states that say the same, one stays.

See docs/rules.md, "Long-term memory".
"""

from schemas.events import WritePlan
from streams.folds import states
from streams.folds.ids import canonical
from streams.folds.order import SENT
from streams.folds.rows import Effects, Rows


def tidy(rows: Rows, plan: WritePlan, out: Effects) -> None:
    """`tidy_memory`: of open states that say the same, the oldest stays. The rules' states are left
    out: their plans come in any order."""
    groups: dict[tuple[str, str, str, int], list[states.State]] = {}
    for _, state in states.STATES.scan(rows):
        current = state.versions[-1]
        if current.valid_to is None and not state.is_ruled:
            payload = canonical(current.payload)
            about = (state.kind, current.body_text, payload, current.valid_from)
            groups.setdefault(about, []).append(state)
    closed = 0
    for same in groups.values():
        oldest, *rest = sorted(same, key=lambda state: (state.created_at, state.state_id))
        rest = rest[: out.rules.max_tidied - closed]
        closed += len(rest)
        if rest:
            _merge(rows, plan, oldest, rest, out)


def _merge(
    rows: Rows, plan: WritePlan, oldest: states.State, rest: list[states.State], out: Effects
) -> None:
    newest = max(one.versions[-1].last_confirmed_at for one in (oldest, *rest))
    at = plan.occurred_at
    place = out.place._replace(rank=SENT)  # behind all that the states have, also if late
    close = states.Update(place, "tidy_close", at, at, valid_to=at)
    for state in rest:
        states.put(rows, plan, state, close, "tidy_memory", out)
    if newest != oldest.versions[-1].last_confirmed_at:
        keep = states.Update(place, "tidy_keep", at, at, valid_to=newest)
        states.put(rows, plan, oldest, keep, "tidy_memory", out)
