"""Context packs: a user's relevant memory as text for a prompt (docs/context.md).

`items` derives lines from the documents of memory, `pack` selects lines within the budget, `render`
writes the text, `gather` reads the documents from a history.
"""

from schemas.context import SECTIONS
from streams.context.items import Item, Source, items
from streams.context.pack import Pack, pack
from streams.context.question import FORMATS, PackRequest

__all__ = ["FORMATS", "SECTIONS", "Item", "Pack", "PackRequest", "Source", "items", "pack"]
