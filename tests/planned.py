"""Conversations with write plans, session memory, affects, links and threads, whose ids are set by
hand: tests name them. The people are those of the shipped sample, which has turns and tasks alone.
"""

from pathlib import Path

CONVERSATIONS = Path(__file__).with_name("planned.ndjson")
