"""Base class of the folds' rows: immutable, cheap to create.

A row is stored as a MessagePack array of its fields in order, so new fields go to the end and
have a default. `replace(row, field=value)` returns a changed copy.
"""

import msgspec

replace = msgspec.structs.replace
asdict = msgspec.structs.asdict
astuple = msgspec.structs.astuple
set_derived = msgspec.structs.force_setattr
"""For a row's `__post_init__` only: sets a field that is derived from the others."""


class Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Created and copied in a quarter of the time of a named tuple; never part of a cycle."""


class Mutable(msgspec.Struct, gc=False):
    """A mutable struct that one call fills in and its caller reads."""
