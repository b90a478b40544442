"""The demo's data: two weeks of three people's conversations, written for this project.

Emma (English) moves to Manchester; 林晓 (Chinese) learns limits; 結衣 (Japanese) gets through
a hard week. In time order, as a platform sends them: turns, and the steps and tool results of
agents. The rules find the memory in them. One record is sent twice, one is rejected (a share of
80), and one is a `meta_request`: Turnfold must not write its text anywhere.
"""

from importlib.resources import files
from importlib.resources.abc import Traversable

from streams.extractors.rules import SLOT, state_id

CONVERSATIONS: Traversable = files(__name__) / "conversations.ndjson"
TENANT, PERSON = "default", "emma"
HOME = state_id(TENANT, PERSON, SLOT, "home")
"""Where Emma lives: Leeds, then Manchester since 9 March, which she mentions on the 13th."""
MOVED, MOVE_TOLD = "2026-03-11T00:00:00Z", "2026-03-14T00:00:00Z"
"""A time at which she had moved and memory did not know it, and one at which it did."""
