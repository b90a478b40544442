"""A chat message's content as text: a string, or a list of parts as OpenAI and LangChain write it.

Image bytes are never kept. An image that comes with a description leaves the description; one
without is dropped and counted, as are audio and files.
"""

import re
from typing import Any, NamedTuple

from streams.folds.ids import canonical
from streams.importers.base import Skipped
from streams.pipeline import images

TEXT_TYPES = {"text", "input_text", "output_text", "audio_transcription"}
THOUGHT_TYPES = {"thinking", "reasoning", "thoughts"}
CALL_TYPES = {"tool_use", "tool_call", "function_call"}  # `tool_calls` has them already
ERROR = re.compile(
    r"""^\s*(
        ["'(\[<]* (\w*error | \w*exception | traceback) \b (?!-)
        | \{ \s* "error" \s* : (?! \s* (null | false | "" | 0\b) )
    )""",
    re.IGNORECASE | re.VERBOSE,
)


class Content(NamedTuple):
    """What a message says, what it thinks, and the descriptions of its images."""

    text: str = ""
    thought: str = ""
    images: tuple[str, ...] = ()

    @property
    def with_images(self) -> str:
        """The text with each described image in brackets, for those who are not users."""
        return "\n".join(
            part for part in (self.text, *map("[image: {}]".format, self.images)) if part
        )


def read_content(content: Any, skipped: Skipped) -> Content:
    """The content of a message: null, text, a part or a list of parts."""
    if content is None:
        return Content()
    parts = content if isinstance(content, list) else [content]
    texts: list[str] = []
    thoughts: list[str] = []
    images: list[str] = []
    for part in parts:
        kind, text = _read_part(part)
        if kind == "text":
            texts.append(_without_images(text, skipped))
        elif kind == "thought":
            thoughts.append(text)
        elif kind == "image" and text:
            images.append(text)
        elif kind:
            skipped["image without a description" if kind == "image" else f"{kind} part"] += 1
    return Content("\n".join(texts), "\n".join(filter(None, thoughts)), tuple(images))


def starts_with_error(text: str) -> bool:
    """Whether a tool's answer starts with an error: `Error: …`, `KeyError(…)`, `{"error": …}`."""
    return ERROR.match(text) is not None


def _read_part(part: Any) -> tuple[str, str]:
    """What kind of part it is (empty: of no interest) and its text."""
    if isinstance(part, str):
        return "text", part
    if not isinstance(part, dict):
        return "unknown", ""
    kind = str(part.get("type") or part.get("content_type") or "")
    if not kind:
        text = part.get("text")
        return "text", text if isinstance(text, str) else canonical(part)
    if kind in TEXT_TYPES and isinstance(part.get("text"), str):
        return "text", part["text"]
    if kind == "refusal":
        return "text", str(part.get("refusal") or "")
    if kind in THOUGHT_TYPES:
        return "thought", str(
            part.get("thinking") or part.get("reasoning") or part.get("text") or ""
        )
    if kind in CALL_TYPES:
        return "", ""
    if "image" in kind:
        return "image", _description(part)
    return kind, ""


def _description(part: dict[str, Any]) -> str:
    for name in ("description", "alt_text", "alt"):
        if isinstance(part.get(name), str) and part[name].strip():
            return str(part[name])
    return ""


def _without_images(text: str, skipped: Skipped) -> str:
    found = list(images.find(text)) if images.may_hold(text) else []
    for start, end in reversed(found):
        text = f"{text[:start]}[image]{text[end:]}"
    if found:
        skipped["image without a description"] += len(found)
    return text
