"""Two indexes kept in an entity's rows: which ids were seen, and the order of a session's turns.

Both cost the same per record however long the entity grows: a record touches one block.
"""

from bisect import bisect_left
from typing import NamedTuple

from schemas.row import Row, replace
from streams.folds.rows import Rows

# --- seen ids ---------------------------------------------------------------------------------
# Entries of 16 bytes: 8 of the id's hash, 8 of the content's. Blocks are hash buckets, so that a
# look-up reads one of them; they double in number when they hold 128 on average (design 04 says
# blocks of 256 in arrival order, where a look-up reads all: docs/decisions.md).

ENTRY = 16
LOAD = 128
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
# Sorted blocks of at most 256 entries; while there is one block there is no directory.

BLOCK = 256
MAX_BLOCKS = 4096  # about 500,000 turns a session and client; the oldest block falls out


class Entry(NamedTuple):
    """A turn in its session's order."""

    occurred_at: int
    event_id: str
    client_id: str | None


class Directory(Row, frozen=True):
    """The first entry of each block, in order, and the blocks' numbers."""

    firsts: tuple[tuple[int, str], ...]
    numbers: tuple[int, ...]
    next_number: int


Block = tuple[Entry, ...]


def insert_turn(rows: Rows, client: str, entry: Entry) -> tuple[Entry | None, Entry | None]:
    """Puts a turn into the order of one client ("" for all); returns its neighbours."""
    directory: Directory | None = rows.get("O/" + client)
    where, name = _locate(directory, client, entry)
    block: Block | None = rows.get(name)
    if not block and not directory:
        rows.put(name, (entry,))
        return None, None
    block = block or ()
    at = len(block)
    if block and entry < block[-1]:  # seldom: nearly every turn is later than all before it
        at = bisect_left(block, entry[:2], key=_order)
    before = block[at - 1] if at else _neighbour(rows, directory, client, where - 1, -1)
    after = block[at] if at < len(block) else None
    if after is None and directory:
        after = _neighbour(rows, directory, client, where + 1, 0)
    block = (*block[:at], entry, *block[at:])
    if len(block) <= BLOCK:
        rows.put(name, block)
        if directory and at == 0:
            _put_directory(rows, client, directory, where, block)
    else:
        _split(rows, client, directory or Directory((block[0][:2],), (0,), 1), where, block)
    return before, after


def remove_turn(rows: Rows, client: str, entry: Entry) -> tuple[Entry | None, Entry | None]:
    """Takes a turn out of the order, if it is there; returns those that were its neighbours."""
    directory: Directory | None = rows.get("O/" + client)
    where, name = _locate(directory, client, entry)
    block: Block = rows.get(name) or ()
    at = bisect_left(block, entry[:2], key=_order)
    if at == len(block) or block[at][:2] != entry[:2]:
        return None, None
    rest = (*block[:at], *block[at + 1 :])
    rows.put(name, rest)
    before = rest[at - 1] if at else _neighbour(rows, directory, client, where - 1, -1)
    after = rest[at] if at < len(rest) else _neighbour(rows, directory, client, where + 1, 0)
    return before, after


def _order(entry: Entry) -> tuple[int, str]:
    return entry[:2]


def _locate(directory: Directory | None, client: str, entry: Entry) -> tuple[int, str]:
    if directory is None:
        return 0, f"o/{client}\x1f0"
    where = max(0, bisect_left(directory.firsts, (entry[0], entry[1] + "\0")) - 1)
    return where, f"o/{client}\x1f{directory.numbers[where]}"


def _neighbour(
    rows: Rows, directory: Directory | None, client: str, where: int, end: int
) -> Entry | None:
    step = -1 if end else 1
    while directory and 0 <= where < len(directory.numbers):
        block: Block = rows.get(f"o/{client}\x1f{directory.numbers[where]}") or ()
        if block:
            return block[end]
        where += step  # emptied by `remove_turn`
    return None


def _put_directory(rows: Rows, client: str, directory: Directory, where: int, block: Block) -> None:
    firsts = list(directory.firsts)
    firsts[where] = block[0][:2]
    rows.put(f"O/{client}", replace(directory, firsts=tuple(firsts)))


def _split(rows: Rows, client: str, directory: Directory, where: int, block: Block) -> None:
    # A block that grew at its end stays full: turns come in order nearly always.
    cut = BLOCK if where == len(directory.numbers) - 1 else BLOCK // 2
    left, right = block[:cut], block[cut:]
    number = directory.next_number
    firsts = list(directory.firsts)
    numbers = list(directory.numbers)
    firsts[where : where + 1] = [left[0][:2], right[0][:2]]
    numbers[where : where + 1] = [numbers[where], number]
    rows.put(f"o/{client}\x1f{numbers[where]}", left)
    rows.put(f"o/{client}\x1f{number}", right)
    if len(numbers) > MAX_BLOCKS:
        rows.delete(f"o/{client}\x1f{numbers.pop(0)}")
        firsts.pop(0)
    rows.put(f"O/{client}", Directory(tuple(firsts), tuple(numbers), number + 1))
