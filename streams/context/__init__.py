"""Context packs: a user's relevant memory as text for a prompt (docs/context.md).

`pack_lines` derives lines from the documents of memory, `token_budget` selects lines within the
budget, `render` writes the text, `load` reads the documents from a history.
"""

from schemas.context import SECTIONS
from streams.context.pack_lines import Item, Source, items
from streams.context.request import FORMATS, PackRequest
from streams.context.token_budget import Pack, pack

__all__ = ["FORMATS", "SECTIONS", "Item", "Pack", "PackRequest", "Source", "items", "pack"]
