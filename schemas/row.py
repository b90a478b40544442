"""The base of what the folds keep: an immutable row, as cheap to make as Python allows.

A row is written as a MessagePack array of its fields in order, so new fields go to the end and
have a default. `replace(row, field=value)` answers a changed copy.
"""

import msgspec

replace = msgspec.structs.replace
asdict = msgspec.structs.asdict
astuple = msgspec.structs.astuple
set_derived = msgspec.structs.force_setattr
"""For a row's `__post_init__` alone: sets a field that is made of the others."""


class Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Made and copied in a quarter of a named tuple's time; never part of a cycle."""


class Mutable(msgspec.Struct, gc=False):
    """The same, to be filled in by one call and read by its caller."""
