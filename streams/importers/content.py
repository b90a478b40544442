"""Content of a chat message as text: a string, or a list of parts in the format of OpenAI and
LangChain.

Image bytes are never stored. Only the description of an image is kept; images without one, audio
and files are dropped and counted.
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
    """Text, reasoning and image descriptions of a message."""

    text: str = ""
    thought: str = ""
    images: tuple[str, ...] = ()

    @property
    def with_images(self) -> str:
        """Text with image descriptions in brackets, for messages of agents and tools."""
        return "\n".join(
            part for part in (self.text, *map("[image: {}]".format, self.images)) if part
        )


def read_content(content: Any, skipped: Skipped) -> Content:
    """Parses the content of a message: null, text, a part or a list of parts."""
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
    """Whether a tool's result starts with an error: `Error: …`, `KeyError(…)`, `{"error": …}`."""
    return ERROR.match(text) is not None


def _read_part(part: Any) -> tuple[str, str]:
    """Returns kind (empty: ignored) and text of a part."""
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
    spans = list(images.find(text)) if images.may_hold(text) else []
    for start, end in reversed(spans):
        text = f"{text[:start]}[image]{text[end:]}"
    if spans:
        skipped["image without a description"] += len(spans)
    return text
