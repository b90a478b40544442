"""`tidy_memory`: of open states that say the same, one stays.

See docs/rules.md, "Long-term memory".
"""

from schemas.events import WritePlan
from schemas.row import replace
from streams.folds import states
from streams.folds.ids import canonical
from streams.folds.revisions import revise
from streams.folds.rows import Effects, Rows


def tidy(rows: Rows, plan: WritePlan, out: Effects) -> None:
    """`tidy_memory`: of open states that say the same, the oldest stays."""
    groups: dict[tuple[str, str, str, int], list[states.State]] = {}
    for _, state in states.STATES.scan(rows):
        current = state.versions[-1]
        if current.valid_to is None:
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
    for state in rest:
        version = state.versions[-1]
        until = max(at, version.valid_from)
        _tidied(rows, state, replace(version, valid_to=until, updated_at=at), "close", plan, out)
    kept = oldest.versions[-1]
    if newest != kept.last_confirmed_at:
        version = replace(kept, last_confirmed_at=newest, updated_at=at)
        _tidied(rows, oldest, version, "update", plan, out)


def _tidied(
    rows: Rows, state: states.State, version: states.Version, op: str, plan: WritePlan, out: Effects
) -> None:
    rows.put(
        states.STATES.key(state.state_id), replace(state, versions=(*state.versions[:-1], version))
    )
    was, now = states.document(state, state.versions[-1]), states.document(state, version)
    entity = ("state", state.state_id, state.kind)
    revise(out, rows.key, entity, op, was, now, "tidy_memory", (), plan.occurred_at, plan.plan_id)
