"""Two indexes of an entity: which ids were seen, and the order of a session's turns.

Both cost the same per record however long the entity grows, and write little of it again.
"""

from bisect import bisect_left
from itertools import chain
from struct import Struct

from schemas.row import Row, replace
from streams.folds.ids import short_hash
from streams.folds.rows import RowKey, RowKind, Rows

# --- seen ids ---------------------------------------------------------------------------------
# Entries of 12 bytes, 8 of the id's hash and 4 that check the content, in the order they came, in
# rows `i/{number}`, the runs: only the newest is written again, nothing of an entry compresses.
# The first look-up makes a set of all hashes, which stays with the entity in memory. The ids of
# a session's newest turns are not here but in their order, below.

RUNS = RowKind("i", bytes)
HASH, ENTRY = 8, 12
RUN = 32
"""Entries of a run that is filled one by one."""
HASHES = Struct("8s4x").iter_unpack

Place = tuple[bytes, RowKey[bytes] | None, int]
"""Where an id stands: its hash, its run (None: nowhere yet) and position there."""


def running(check: bytes) -> bytes:
    """The check of a turn that has not ended: those of all else are even."""
    return bytes((*check[:3], check[3] | 1))


def is_running(check: bytes) -> bool:
    return check[3] & 1 == 1


def find_id(rows: Rows, runs: int, id_hash: bytes) -> tuple[bytes | None, Place]:
    """The check remembered for an id, or None; and its place, for `put_id`."""
    if runs:
        if rows.hashes is None:
            every = (HASHES(run) for _, run in RUNS.scan(rows))
            rows.hashes = {one for (one,) in chain.from_iterable(every)}
        if id_hash in rows.hashes:
            for number in range(runs - 1, -1, -1):  # the newest says what is so
                key = RUNS.key(str(number))
                run = rows[key]
                at = run.find(id_hash)
                while at > 0 and at % ENTRY:  # inside another entry
                    at = run.find(id_hash, at + 1)
                if at >= 0:
                    return run[at + HASH : at + ENTRY], (id_hash, key, at)
    return None, (id_hash, None, -1)


def put_id(rows: Rows, runs: int, place: Place, check: bytes) -> int:
    """Remembers an id that is new, or the new check of a known one. Returns how many runs there
    are."""
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


def put_turns(rows: Rows, runs: int, left: "Block") -> int:
    """Remembers turns that left the newest ones, as a run of their own. Returns how many there
    are."""
    if not left:
        return runs
    hashes = [turn_hash(event_id) for _, event_id, _, _ in left]
    checks = (check for _, _, _, check in left)
    rows.put(RUNS.key(str(runs)), b"".join(map(bytes.__add__, hashes, checks)))
    if rows.hashes is not None:
        rows.hashes.update(hashes)
    return runs + 1


# --- the order of turns -----------------------------------------------------------------------
# Nearly every turn is later than all before it, so the newest stand in the session's header, those
# of each client in a row `o/={client}`. Too many, they become a block, `b/{client}␟{number}`, which
# `O/{client}` lists; "" is all clients.

BLOCK = 64
MAX_BLOCKS = 4096  # about 260,000 turns a session and client; the oldest block falls out

Entry = tuple[int, str, str | None, bytes]
"""A turn in its session's order: occurred_at, event_id, client_id, and the check of its content
while it is among the newest; in a block none, for there the runs have it."""

Gap = tuple[Entry | None, Entry | None]
"""The turns before and after one."""

Block = tuple[Entry, ...]


class Newest(Row, frozen=True):
    """The newest turns in order; `blocks` says whether others came before them."""

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
    """The check of a turn that is among the newest."""
    for _, one, _, check in newest.entries:
        if one == event_id:
            return check
    return None


def insert_turn(rows: Rows, client: str, newest: Newest, entry: Entry) -> tuple[Newest, Gap, Block]:
    """Puts a turn into the order of one client ("" for all). Returns the newest turns, the turn's
    neighbours, and those that are no longer among the newest."""
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
    left = entries[:BLOCK]
    _add_block(rows, client, tuple(map(_unchecked, left)))
    return Newest(entries[BLOCK:], True), gap, left


def remove_turn(rows: Rows, client: str, newest: Newest, entry: Entry) -> tuple[Newest, Gap]:
    """Takes a turn out of the order, if it is there. Returns the newest turns, and those that were
    its neighbours."""
    block, where, directory = newest.entries, -1, None
    at = bisect_left(block, _order(entry), key=_order)
    if newest.blocks and not _stands(block, at, entry):
        directory = rows[DIRECTORIES.key(client)]
        where = _locate(directory, entry)
        block = rows.get(_block_key(client, directory.numbers[where])) or ()
        at = bisect_left(block, _order(entry), key=_order)
    if not _stands(block, at, entry):
        return newest, (None, None)
    rest = (*block[:at], *block[at + 1 :])
    before = rest[at - 1] if at else None
    after = rest[at] if at < len(rest) else None
    if directory is None:
        if before is None and newest.blocks:
            before = _neighbour(rows, client, -1)
        return Newest(rest, newest.blocks), (before, after)
    rows.put(_block_key(client, directory.numbers[where]), rest)
    if before is None and where:
        before = _neighbour(rows, client, where - 1)
    if after is None:
        after = _follower(rows, client, directory, where + 1, newest.entries)
    return newest, (before, after)


def check_turn(newest: Newest, event_id: str, check: bytes) -> Newest:
    """The newest turns with another check for one that stands among them."""
    entries = ((*one[:3], check) if one[1] == event_id else one for one in newest.entries)
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
    """A turn earlier than the last of all blocks: into the block where it belongs."""
    directory = rows[DIRECTORIES.key(client)]
    where = _locate(directory, entry)
    block = rows.get(_block_key(client, directory.numbers[where])) or ()
    at = bisect_left(block, _order(entry), key=_order)
    before = block[at - 1] if at else None
    if before is None and where:
        before = _neighbour(rows, client, where - 1)
    after = block[at] if at < len(block) else None
    if after is None:
        after = _follower(rows, client, directory, where + 1, newest)
    block = (*block[:at], entry, *block[at:])
    if len(block) > 2 * BLOCK:
        _split(rows, client, directory, where, block)
    else:
        rows.put(_block_key(client, directory.numbers[where]), block)
        if at == 0:
            firsts = (*directory.firsts[:where], block[0][:2], *directory.firsts[where + 1 :])
            rows.put(DIRECTORIES.key(client), replace(directory, firsts=firsts))
    return before, after


def _neighbour(rows: Rows, client: str, where: int) -> Entry | None:
    """The last turn of the blocks up to one (-1: the last one); `remove_turn` may empty blocks."""
    directory = rows[DIRECTORIES.key(client)]
    for number in reversed(directory.numbers[: where + 1] if where >= 0 else directory.numbers):
        block = rows.get(_block_key(client, number)) or ()
        if block:
            return block[-1]
    return None


def _follower(
    rows: Rows, client: str, directory: Directory, where: int, newest: Block
) -> Entry | None:
    """The first turn of the blocks from one on, or of the newest ones."""
    for number in directory.numbers[where:]:
        block = rows.get(_block_key(client, number)) or ()
        if block:
            return block[0]
    return newest[0] if newest else None


def _add_block(rows: Rows, client: str, block: Block) -> None:
    directory = rows.get(DIRECTORIES.key(client)) or Directory()
    _put_blocks(rows, client, directory, len(directory.numbers), [block])


def _split(rows: Rows, client: str, directory: Directory, where: int, block: Block) -> None:
    rows.delete(_block_key(client, directory.numbers[where]))
    _put_blocks(rows, client, directory, where, [block[:BLOCK], block[BLOCK:]])


def _put_blocks(
    rows: Rows, client: str, directory: Directory, where: int, blocks: list[Block]
) -> None:
    """Puts blocks in the place of one that stands there, or after the last."""
    numbers, firsts = list(directory.numbers), list(directory.firsts)
    first_number = directory.next_number
    for number, block in enumerate(blocks, first_number):
        rows.put(_block_key(client, number), block)
    numbers[where : where + 1] = range(first_number, first_number + len(blocks))
    firsts[where : where + 1] = [block[0][:2] for block in blocks]
    if len(numbers) > MAX_BLOCKS:
        rows.delete(_block_key(client, numbers.pop(0)))
        firsts.pop(0)
    next_number = first_number + len(blocks)
    rows.put(DIRECTORIES.key(client), Directory(tuple(firsts), tuple(numbers), next_number))
