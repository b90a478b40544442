"""Two indexes of an entity: its seen ids, and the order of a session's turns.

Their cost per record does not grow with the entity.
"""

from bisect import bisect_left
from itertools import chain
from struct import Struct

from schemas.row import Row, replace
from streams.folds.effects import RowKey, RowKind, Rows
from streams.folds.ids import short_hash

# --- seen ids ---------------------------------------------------------------------------------
# Entries of 12 bytes (8 of the id's hash, 4 that check the content) in order of arrival, in rows
# `i/{number}`, the runs. Only the newest run is rewritten. The first look-up builds a set of all
# hashes, which stays with the entity in memory. The ids of a session's newest turns are in the
# order of turns, below.

RUNS = RowKind("i", bytes)
HASH, ENTRY = 8, 12
RUN = 32
"""Entries of a run."""
HASHES = Struct("8s4x").iter_unpack

Place = tuple[bytes, RowKey[bytes] | None, int]
"""Place of an id: its hash, its run (None: not stored yet) and the position there."""


def running(check: bytes) -> bytes:
    """Returns the check of a turn that has not ended: odd, all other checks are even."""
    return bytes((*check[:3], check[3] | 1))


def is_running(check: bytes) -> bool:
    return check[3] & 1 == 1


def find_id(rows: Rows, runs: int, id_hash: bytes) -> tuple[bytes | None, Place]:
    """Returns the stored check of an id, or None; and its place, for `put_id`."""
    if runs:
        if rows.hashes is None:
            hashes = (HASHES(run) for _, run in RUNS.scan(rows))
            rows.hashes = {entry_hash for (entry_hash,) in chain.from_iterable(hashes)}
        if id_hash in rows.hashes:
            for number in range(runs - 1, -1, -1):  # the newest entry counts
                key = RUNS.key(str(number))
                run = rows[key]
                at = run.find(id_hash)
                while at > 0 and at % ENTRY:  # inside another entry
                    at = run.find(id_hash, at + 1)
                if at >= 0:
                    return run[at + HASH : at + ENTRY], (id_hash, key, at)
    return None, (id_hash, None, -1)


def put_id(rows: Rows, runs: int, place: Place, check: bytes) -> int:
    """Stores a new id, or a new check of a stored one. Returns the number of runs."""
    id_hash, key, at = place
    if key is not None:
        run = rows[key]
        rows.put(key, run[: at + HASH] + check + run[at + ENTRY :])
        return runs
    newest = rows[RUNS.key(str(runs - 1))] if runs else b""
    if not runs or len(newest) >= RUN * ENTRY:
        newest, runs = b"", runs + 1
    rows.put(RUNS.key(str(runs - 1)), newest + id_hash + check)
    if rows.hashes is not None:
        rows.hashes.add(id_hash)
    return runs


def turn_hash(event_id: str) -> bytes:
    return short_hash("e" + event_id)


def put_turns(rows: Rows, runs: int, overflow: "Block") -> int:
    """Stores turns that are no longer among the newest as a new run. Returns the number of runs."""
    if not overflow:
        return runs
    hashes = [turn_hash(event_id) for _, event_id, _, _ in overflow]
    checks = (check for _, _, _, check in overflow)
    rows.put(RUNS.key(str(runs)), b"".join(map(bytes.__add__, hashes, checks)))
    if rows.hashes is not None:
        rows.hashes.update(hashes)
    return runs + 1


# --- the order of turns -----------------------------------------------------------------------
# Nearly every turn is later than all before it, so the newest turns are in the session's header,
# the newest of each client in a row `o/={client}`. A full list becomes a block,
# `b/{client}␟{number}`, which `O/{client}` lists; "" is all clients.

BLOCK = 64
MAX_BLOCKS = 4096  # about 260,000 turns per session and client; the oldest block falls out

Entry = tuple[int, str, str | None, bytes]
"""A turn in its session's order: occurred_at, event_id, client_id, and the check of its content.
The check is empty in a block, as the runs have it."""

Gap = tuple[Entry | None, Entry | None]
"""The turns before and after a turn."""

Block = tuple[Entry, ...]


class Newest(Row, frozen=True):
    """The newest turns in order; `blocks` is set if there are older ones."""

    entries: Block = ()
    blocks: bool = False


class Directory(Row, frozen=True):
    """The first entry of each block, in order, and the blocks' numbers."""

    firsts: tuple[tuple[int, str], ...] = ()
    numbers: tuple[int, ...] = ()
    next_number: int = 0


NEWEST = RowKind("o", Newest)
BLOCKS = RowKind("b", Block)
DIRECTORIES = RowKind("O", Directory)


def find_turn(newest: Newest, event_id: str) -> bytes | None:
    """Returns the check of a turn among the newest, or None for any other."""
    for _, entry_id, _, check in newest.entries:
        if entry_id == event_id:
            return check
    return None


def insert_turn(rows: Rows, client: str, newest: Newest, entry: Entry) -> tuple[Newest, Gap, Block]:
    """Inserts a turn into the order of one client ("" for all). Returns the newest turns, the
    turn's neighbours, and the turns that are no longer among the newest."""
    entries = newest.entries
    at, before = len(entries), None
    if entries and entry > entries[-1] and at < BLOCK:  # nearly always
        return Newest((*entries, entry), newest.blocks), (entries[-1], None), ()
    if entries and entry < entries[-1]:
        at = bisect_left(entries, _order(entry), key=_order)
    if at:
        before = entries[at - 1]
    elif newest.blocks:
        before = _neighbour(rows, client, -1)
        if before and _order(entry) < _order(before):
            return newest, _insert_late(rows, client, _unchecked(entry), entries), ()
    gap = before, entries[at] if at < len(entries) else None
    entries = (*entries[:at], entry, *entries[at:])
    if len(entries) <= BLOCK:
        return Newest(entries, newest.blocks), gap, ()
    overflow = entries[:BLOCK]
    _add_block(rows, client, tuple(map(_unchecked, overflow)))
    return Newest(entries[BLOCK:], True), gap, overflow


def remove_turn(rows: Rows, client: str, newest: Newest, entry: Entry) -> tuple[Newest, Gap]:
    """Removes a turn from the order, if present. Returns the newest turns and its neighbours."""
    block, block_index, directory = newest.entries, -1, None
    at = bisect_left(block, _order(entry), key=_order)
    if newest.blocks and not _stands(block, at, entry):
        directory = rows[DIRECTORIES.key(client)]
        block_index = _locate(directory, entry)
        block = rows.get(_block_key(client, directory.numbers[block_index])) or ()
        at = bisect_left(block, _order(entry), key=_order)
    if not _stands(block, at, entry):
        return newest, (None, None)
    remaining = (*block[:at], *block[at + 1 :])
    before = remaining[at - 1] if at else None
    after = remaining[at] if at < len(remaining) else None
    if directory is None:
        if before is None and newest.blocks:
            before = _neighbour(rows, client, -1)
        return Newest(remaining, newest.blocks), (before, after)
    rows.put(_block_key(client, directory.numbers[block_index]), remaining)
    if before is None and block_index:
        before = _neighbour(rows, client, block_index - 1)
    if after is None:
        after = _follower(rows, client, directory, block_index + 1, newest.entries)
    return newest, (before, after)


def check_turn(newest: Newest, event_id: str, check: bytes) -> Newest:
    """Replaces the check of one of the newest turns."""
    entries = ((*entry[:3], check) if entry[1] == event_id else entry for entry in newest.entries)
    return Newest(tuple(entries), newest.blocks)


def _unchecked(entry: Entry) -> Entry:
    return *entry[:3], b""


def _order(entry: Entry) -> tuple[int, str]:
    return entry[:2]


def _stands(block: Block, at: int, entry: Entry) -> bool:
    return at < len(block) and _order(block[at]) == _order(entry)


def _block_key(client: str, number: int) -> RowKey[Block]:
    return BLOCKS.key(client, str(number))


def _locate(directory: Directory, entry: Entry) -> int:
    return max(0, bisect_left(directory.firsts, (entry[0], entry[1] + "\0")) - 1)


def _insert_late(rows: Rows, client: str, entry: Entry, newest: Block) -> Gap:
    """Inserts a turn into its block: it is earlier than the last turn of all blocks."""
    directory = rows[DIRECTORIES.key(client)]
    block_index = _locate(directory, entry)
    block = rows.get(_block_key(client, directory.numbers[block_index])) or ()
    at = bisect_left(block, _order(entry), key=_order)
    before = block[at - 1] if at else None
    if before is None and block_index:
        before = _neighbour(rows, client, block_index - 1)
    after = block[at] if at < len(block) else None
    if after is None:
        after = _follower(rows, client, directory, block_index + 1, newest)
    block = (*block[:at], entry, *block[at:])
    if len(block) > 2 * BLOCK:
        _split(rows, client, directory, block_index, block)
    else:
        rows.put(_block_key(client, directory.numbers[block_index]), block)
        if at == 0:
            firsts = (
                *directory.firsts[:block_index],
                block[0][:2],
                *directory.firsts[block_index + 1 :],
            )
            rows.put(DIRECTORIES.key(client), replace(directory, firsts=firsts))
    return before, after


def _neighbour(rows: Rows, client: str, block_index: int) -> Entry | None:
    """Last turn of the blocks up to `block_index` (-1: all); `remove_turn` may empty blocks."""
    directory = rows[DIRECTORIES.key(client)]
    for number in reversed(
        directory.numbers[: block_index + 1] if block_index >= 0 else directory.numbers
    ):
        block = rows.get(_block_key(client, number)) or ()
        if block:
            return block[-1]
    return None


def _follower(
    rows: Rows, client: str, directory: Directory, block_index: int, newest: Block
) -> Entry | None:
    """First turn of the blocks from `block_index` on, or of the newest turns."""
    for number in directory.numbers[block_index:]:
        block = rows.get(_block_key(client, number)) or ()
        if block:
            return block[0]
    return newest[0] if newest else None


def _add_block(rows: Rows, client: str, block: Block) -> None:
    directory = rows.get(DIRECTORIES.key(client)) or Directory()
    _put_blocks(rows, client, directory, len(directory.numbers), [block])


def _split(rows: Rows, client: str, directory: Directory, block_index: int, block: Block) -> None:
    rows.delete(_block_key(client, directory.numbers[block_index]))
    _put_blocks(rows, client, directory, block_index, [block[:BLOCK], block[BLOCK:]])


def _put_blocks(
    rows: Rows, client: str, directory: Directory, block_index: int, blocks: list[Block]
) -> None:
    """Replaces the block at `block_index`, or appends after the last."""
    numbers, firsts = list(directory.numbers), list(directory.firsts)
    first_number = directory.next_number
    for number, block in enumerate(blocks, first_number):
        rows.put(_block_key(client, number), block)
    numbers[block_index : block_index + 1] = range(first_number, first_number + len(blocks))
    firsts[block_index : block_index + 1] = [block[0][:2] for block in blocks]
    if len(numbers) > MAX_BLOCKS:
        rows.delete(_block_key(client, numbers.pop(0)))
        firsts.pop(0)
    next_number = first_number + len(blocks)
    rows.put(DIRECTORIES.key(client), Directory(tuple(firsts), tuple(numbers), next_number))
