"""The context pack: what an agent should know of a user before it answers, as text for a prompt.

`items` makes lines of the documents of memory, `pack` chooses what the budget holds, `render`
writes it, `gather` reads the documents out of a history (docs/context.md).
"""

from schemas.context import SECTIONS
from streams.context.items import Item, Source, items
from streams.context.pack import Pack, pack
from streams.context.question import FORMATS, Question

__all__ = ["FORMATS", "SECTIONS", "Item", "Pack", "Question", "Source", "items", "pack"]
