"""The demo's data: two weeks of three people's conversations, written for this project.

Emma (English) moves to Manchester; 林晓 (Chinese) learns limits; 結衣 (Japanese) gets through
a hard week. In time order. One record is sent twice, one is refused (a share of 80), and one is a
`meta_request`, whose text Turnfold must write nowhere.
"""

from importlib.resources import files
from importlib.resources.abc import Traversable

CONVERSATIONS: Traversable = files(__name__) / "conversations.ndjson"
