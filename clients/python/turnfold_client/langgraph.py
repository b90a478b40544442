"""LangGraph's store, kept by Turnfold (`pip install 'turnfold-client[langgraph]'`).

store = TurnfoldStore(memory)
store.put(("maya", "likes"), "food", {"dish": "lentils"})
graph = builder.compile(store=store)

An item is a fact of a user's memory: `memory.context` shows it, `why` its origin and time, and
`forget` erases it with the person.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from uuid import uuid4

from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)

from turnfold_client.errors import NotFoundError, NotKeptError
from turnfold_client.session_log import WAIT
from turnfold_client.store_items import Kept, kept_of, matches, update
from turnfold_client.sync_client import Turnfold
from turnfold_client.times import format_time

__all__ = ["TurnfoldStore"]

MOST = 200
"""Updates of a plan."""
HITS = 1000
"""Hits of a search that are looked at."""

Namespace = tuple[str, ...]
Where = tuple[Namespace, str]


class TurnfoldStore(BaseStore):
    """Items of users, by namespace and key.

    `user_at`: which label of a namespace is the user's id (None: all items are of `user_id`). Reads
    and writes are of one user: a search, or a list of namespaces, has to name its label.

    Values come back equal. Methods raise `turnfold_client.ClientError`: NotKeptError for a value
    that is not JSON, or for a TTL, which facts do not have: delete them instead. The writes of a
    batch to one user, up to 200, are stored together or not at all; its reads see the state before
    it. The methods that are awaited use the same client in a thread.
    """

    __slots__ = ("_client", "_user_at", "_user_id")

    def __init__(
        self, client: Turnfold, *, user_at: int | None = 0, user_id: str | None = None
    ) -> None:
        if (user_id is None) == (user_at is None):
            raise ValueError("give either `user_at`, the place of the user's label, or `user_id`")
        self._client, self._user_at, self._user_id = client, user_at, user_id

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`."""
        return await asyncio.to_thread(self.batch, ops)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Does several operations at once; a result for each. Raises ClientError."""
        asked = list(ops)
        for op in asked:
            validate_op_namespace(op)
        owners = [self._owner(op) for op in asked]
        held = {owner: self._held(owner) for owner in dict.fromkeys(owners)}
        results: list[Result] = []
        puts: dict[str, dict[Where, PutOp]] = {}
        for op, owner in zip(asked, owners, strict=True):
            items = held[owner]
            if isinstance(op, PutOp):
                puts.setdefault(owner, {})[op.namespace, op.key] = op
                results.append(None)
            elif isinstance(op, GetOp):
                found = items.get((op.namespace, op.key))
                results.append(None if found is None else found.item)
            elif isinstance(op, SearchOp):
                results.append(self._search(owner, op, items.values()))
            else:
                results.append(_namespaces(op, items))
        for owner, last in puts.items():
            self._put(owner, list(last.values()), held[owner])
        return results

    # --- reading ------------------------------------------------------------------------------

    def _owner(self, op: Op) -> str:
        """Whose items an operation is about. Raises NotKeptError."""
        if self._user_at is None:
            assert self._user_id is not None
            return self._user_id
        if isinstance(op, GetOp | PutOp):
            labels: Sequence[str] = op.namespace
        elif isinstance(op, SearchOp):
            labels = op.namespace_prefix
        else:
            labels = next(
                (one.path for one in op.match_conditions or () if one.match_type == "prefix"), ()
            )
        if len(labels) <= self._user_at or labels[self._user_at] == "*":
            raise NotKeptError(
                f"{tuple(labels)!r} names no user: the label at {self._user_at} is the user's id; "
                "name it, or make the store with user_at=None and a user_id"
            )
        return labels[self._user_at]

    def _held(self, owner: str) -> dict[Where, Kept]:
        """The user's items."""
        try:
            states = self._client.user(owner).states
        except NotFoundError:
            return {}
        found = (kept for state in states if (kept := kept_of(state)) is not None)
        return {(kept.item.namespace, kept.item.key): kept for kept in found}

    def _search(self, owner: str, op: SearchOp, items: Iterable[Kept]) -> list[SearchItem]:
        """The matching items, the latest first. With a query its hits come first, the best one
        first, and have a score."""
        size = len(op.namespace_prefix)
        fit = [
            kept
            for kept in items
            if kept.item.namespace[:size] == op.namespace_prefix
            and matches(kept.item.value, op.filter)
        ]
        fit.sort(key=lambda kept: (kept.item.updated_at, kept.state_id), reverse=True)
        scores = self._scores(owner, op.query) if op.query and fit else {}
        fit.sort(key=lambda kept: -scores.get(kept.state_id, -1.0))
        return [
            SearchItem(
                kept.item.namespace,
                kept.item.key,
                kept.item.value,
                kept.item.created_at,
                kept.item.updated_at,
                scores.get(kept.state_id),
            )
            for kept in fit[op.offset : op.offset + op.limit]
        ]

    def _scores(self, owner: str, query: str) -> dict[str, float]:
        scores: dict[str, float] = {}
        hits = self._client.iter_search(query[:2000], user_id=owner, kind="state", limit=100)
        for hit, _ in zip(hits, range(HITS), strict=False):
            scores.setdefault(hit.id, hit.score)
        return scores

    # --- writing ------------------------------------------------------------------------------

    def _put(self, owner: str, ops: Sequence[PutOp], held: Mapping[Where, Kept]) -> None:
        now = time.time_ns() // 1000
        updates = [
            made
            for op in ops
            if (made := update(op, held.get((op.namespace, op.key)), now)) is not None
        ]
        for start in range(0, len(updates), MOST):
            plan = {
                "type": "write_plan",
                "plan_id": f"langgraph-{uuid4().hex}",
                "user_id": owner,
                "occurred_at": format_time(now),
                "extractor": {"name": "langgraph"},
                "state_updates": updates[start : start + MOST],
            }
            (result,) = self._client.post_records([plan], prefer=WAIT).results
            if result.ending == "withheld":
                raise NotKeptError("nothing was kept: a value says `source: meta_request`")
            if result.ending in ("dead", "refused"):
                raise NotKeptError(f"nothing was kept: {result.detail or result.reason}")


def _namespaces(op: ListNamespacesOp, items: Mapping[Where, Kept]) -> list[Namespace]:
    every = {namespace for namespace, _ in items}
    conditions = op.match_conditions or ()
    found = {one for one in every if all(_fits(one, condition) for condition in conditions)}
    if op.max_depth is not None:
        found = {one[: op.max_depth] for one in found}
    return sorted(found)[op.offset : op.offset + op.limit]


def _fits(namespace: Namespace, condition: MatchCondition) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    is_prefix = condition.match_type == "prefix"
    labels = namespace[: len(path)] if is_prefix else namespace[len(namespace) - len(path) :]
    return all(asked in ("*", label) for label, asked in zip(labels, path, strict=True))
