"""Two indexes kept in an entity's rows: which ids were seen, and the order of a session's turns.

Both cost the same per record however long the entity grows: a record touches one block.
"""

from bisect import bisect_left

from schemas.row import Row, replace
from streams.folds.rows import Rows

# --- seen ids ---------------------------------------------------------------------------------
# Entries of 16 bytes: 8 of the id's hash, 8 of the content's. Blocks are hash buckets, so that a
# look-up reads one of them; they double in number when they hold 16 on average (design 04 says
# blocks of 256 in arrival order, where a look-up reads all: docs/decisions.md).

ENTRY = 16
LOAD = 16
RUNNING = b"\1"  # the last byte of the content's hash says that the turn had not ended


class Seen(Row, frozen=True):
    """How many ids an entity has seen, in 2**bits blocks."""

    bits: int = 0
    total: int = 0


def _block(bits: int, id_hash: bytes) -> str:
    return f"i/{int.from_bytes(id_hash, 'big') >> (64 - bits)}"


Place = tuple[str, bytes, int, bytes]
"""Where an id stands or would stand: its block's name and bytes, its position or -1, its hash."""


def find_id(rows: Rows, seen: Seen, id_hash: bytes) -> tuple[bytes | None, Place]:
    """The content hash remembered for an id, or None; and its place, for `put_id`."""
    name = _block(seen.bits, id_hash) if seen.bits else "i/0"
    block: bytes = rows.get(name) or b""
    at = block.find(id_hash)
    while at > 0 and at % ENTRY:  # inside another entry
        at = block.find(id_hash, at + 1)
    return (block[at + 8 : at + ENTRY] if at >= 0 else None), (name, block, at, id_hash)


def put_id(rows: Rows, seen: Seen, place: Place, content: bytes) -> Seen:
    """Remembers an id that is new, or the new content of a known one."""
    name, block, at, id_hash = place
    if at >= 0:
        rows.put(name, block[: at + 8] + content + block[at + ENTRY :])
        return seen
    rows.put(name, block + id_hash + content)
    seen = Seen(seen.bits, seen.total + 1)
    return _double(rows, seen) if seen.total > LOAD << seen.bits else seen


def _double(rows: Rows, seen: Seen) -> Seen:
    blocks: dict[str, list[bytes]] = {}
    for name, block in list(rows.scan("i/")):
        rows.delete(name)
        for at in range(0, len(block), ENTRY):
            entry = block[at : at + ENTRY]
            blocks.setdefault(_block(seen.bits + 1, entry[:8]), []).append(entry)
    for name, entries in blocks.items():
        rows.put(name, b"".join(entries))
    return Seen(seen.bits + 1, seen.total)


# --- the order of turns -----------------------------------------------------------------------
# Nearly every turn is later than all before it, so the newest entries are a row of their own,
# `o/{client}`. Filled, it becomes a block, `b/{client}␟{number}`, which `O/{client}` lists.

BLOCK = 64
MAX_BLOCKS = 4096  # about 260,000 turns a session and client; the oldest block falls out

Entry = tuple[int, str, str | None]
"""A turn in its session's order: occurred_at, event_id, client_id."""

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


def insert_turn(rows: Rows, client: str, entry: Entry) -> Gap:
    """Puts a turn into the order of one client ("" for all); returns its neighbours."""
    name = "o/" + client
    newest: Newest = rows.get(name) or Newest()
    entries = newest.entries
    at, before = len(entries), None
    if entries and entry > entries[-1] and at < BLOCK:  # nearly always
        rows.put(name, Newest((*entries, entry), newest.blocks))
        return entries[-1], None
    if entries and entry < entries[-1]:
        at = bisect_left(entries, _order(entry), key=_order)
    if at:
        before = entries[at - 1]
    elif newest.blocks:
        before = _neighbour(rows, client, -1)
        if before and _order(entry) < _order(before):
            return _insert_late(rows, client, entry, entries)
    after = entries[at] if at < len(entries) else None
    entries = (*entries[:at], entry, *entries[at:])
    if len(entries) > BLOCK:
        _add_block(rows, client, entries[:BLOCK])
        rows.put(name, Newest(entries[BLOCK:], True))
    else:
        rows.put(name, Newest(entries, newest.blocks))
    return before, after


def remove_turn(rows: Rows, client: str, entry: Entry) -> Gap:
    """Takes a turn out of the order, if it is there; returns those that were its neighbours."""
    newest: Newest = rows.get("o/" + client) or Newest()
    block, where, directory = newest.entries, -1, None
    at = bisect_left(block, _order(entry), key=_order)
    if newest.blocks and not _stands(block, at, entry):
        directory = rows.get("O/" + client)
        where = _locate(directory, entry)
        block = rows.get(_name(client, directory, where)) or ()
        at = bisect_left(block, _order(entry), key=_order)
    if not _stands(block, at, entry):
        return None, None
    rest = (*block[:at], *block[at + 1 :])
    before = rest[at - 1] if at else None
    after = rest[at] if at < len(rest) else None
    if directory is None:
        rows.put("o/" + client, Newest(rest, newest.blocks))
        if before is None and newest.blocks:
            before = _neighbour(rows, client, -1)
        return before, after
    rows.put(_name(client, directory, where), rest)
    if before is None and where:
        before = _neighbour(rows, client, where - 1)
    if after is None:
        after = _follower(rows, client, directory, where + 1, newest.entries)
    return before, after


def _order(entry: Entry) -> tuple[int, str]:
    return entry[:2]


def _stands(block: Block, at: int, entry: Entry) -> bool:
    return at < len(block) and _order(block[at]) == _order(entry)


def _name(client: str, directory: Directory, where: int) -> str:
    return f"b/{client}\x1f{directory.numbers[where]}"


def _locate(directory: Directory, entry: Entry) -> int:
    return max(0, bisect_left(directory.firsts, (entry[0], entry[1] + "\0")) - 1)


def _insert_late(rows: Rows, client: str, entry: Entry, newest: Block) -> Gap:
    """A turn earlier than the last of all blocks: into the block where it belongs."""
    directory: Directory = rows.get("O/" + client)
    where = _locate(directory, entry)
    block: Block = rows.get(_name(client, directory, where)) or ()
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
        rows.put(_name(client, directory, where), block)
        if at == 0:
            firsts = (*directory.firsts[:where], block[0][:2], *directory.firsts[where + 1 :])
            rows.put("O/" + client, replace(directory, firsts=firsts))
    return before, after


def _neighbour(rows: Rows, client: str, where: int) -> Entry | None:
    """The last turn of the blocks up to one (-1: the last one); `remove_turn` may empty blocks."""
    directory: Directory = rows.get("O/" + client)
    for number in reversed(directory.numbers[: where + 1] if where >= 0 else directory.numbers):
        block: Block = rows.get(f"b/{client}\x1f{number}") or ()
        if block:
            return block[-1]
    return None


def _follower(
    rows: Rows, client: str, directory: Directory, where: int, newest: Block
) -> Entry | None:
    """The first turn of the blocks from one on, or of the newest ones."""
    for number in directory.numbers[where:]:
        block: Block = rows.get(f"b/{client}\x1f{number}") or ()
        if block:
            return block[0]
    return newest[0] if newest else None


def _add_block(rows: Rows, client: str, block: Block) -> None:
    directory: Directory = rows.get("O/" + client) or Directory()
    _put_blocks(rows, client, directory, len(directory.numbers), [block])


def _split(rows: Rows, client: str, directory: Directory, where: int, block: Block) -> None:
    rows.delete(_name(client, directory, where))
    _put_blocks(rows, client, directory, where, [block[:BLOCK], block[BLOCK:]])


def _put_blocks(
    rows: Rows, client: str, directory: Directory, where: int, blocks: list[Block]
) -> None:
    """Puts blocks in the place of one that stands there, or after the last."""
    numbers, firsts = list(directory.numbers), list(directory.firsts)
    first_number = directory.next_number
    for number, block in enumerate(blocks, first_number):
        rows.put(f"b/{client}\x1f{number}", block)
    numbers[where : where + 1] = range(first_number, first_number + len(blocks))
    firsts[where : where + 1] = [block[0][:2] for block in blocks]
    if len(numbers) > MAX_BLOCKS:
        rows.delete(f"b/{client}\x1f{numbers.pop(0)}")
        firsts.pop(0)
    next_number = first_number + len(blocks)
    rows.put("O/" + client, Directory(tuple(firsts), tuple(numbers), next_number))
