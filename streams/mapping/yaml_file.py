"""Strict YAML reader: unique names in objects, dates as text, no references, and line numbers of
all values."""

import re
from pathlib import Path
from typing import Any

import yaml
from yaml.events import AliasEvent
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from streams.errors import ConfigurationError

Place = tuple[str | int, ...]
MOST_BYTES = 1_000_000
_TAG = "tag:yaml.org,2002:"
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_QUOTE = "put the text into quotes"
_HINTS = {
    "while scanning an alias": f"{_QUOTE}: outside them * begins a reference in YAML",
    "while scanning an anchor": f"{_QUOTE}: outside them & and ! mean other things in YAML",
    "while scanning for the next token": _QUOTE,
    "mapping values are not allowed here": f"{_QUOTE}, if it holds a colon",
    "while parsing a block mapping": "put all of the text into one pair of quotes, or correct the "
    "indentation",
}
"""Remedy, by the context or problem of a parser error."""


class _Loader(yaml.SafeLoader):
    """YAML loader without references, with which a small file can create a huge value."""

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        if self.check_event(AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            problem = (
                f"`*{event.anchor}` is a reference, and none are read; write the part out, or "
            )
            raise yaml.MarkedYAMLError(problem=f"{problem}{_QUOTE}", problem_mark=event.start_mark)
        return super().compose_node(parent, index)


class Document:
    """A file's `value`, and the `lines` of its parts by path."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[Place, int] = {}
        try:
            text = path.read_text("utf-8")
        except OSError as error:
            raise ConfigurationError(f"{path}: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise self._fault(f"not UTF-8 (byte {error.start})") from None
        if len(text) > MOST_BYTES:
            raise self._fault(f"larger than {MOST_BYTES} bytes")
        try:
            node = yaml.compose(text, _Loader)
            if node is None:
                raise self._fault("is empty")
            self.value: Any = self._plain(node, ())
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            hint = _HINTS.get(error.context or "") or _HINTS.get(error.problem or "")
            problem = f"{error.problem}; {hint}" if hint else f"{error.problem}"
            raise self._fault(problem.replace("\0", ""), line) from None
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            code = ord(error.character) if isinstance(error.character, str) else error.character
            why = f"holds the character U+{code:04X}, which YAML does not allow; remove it"
            raise self._fault(why, line) from None
        except (yaml.YAMLError, RecursionError) as error:
            raise self._fault(f"no YAML: {type(error).__name__}") from None

    def refusal(self, place: Place, problem: str) -> ConfigurationError:
        """Error at a part of the file."""
        line = next(
            (self.lines[place[:n]] for n in range(len(place), -1, -1) if place[:n] in self.lines), 1
        )
        name = shown(place)
        return self._fault(f"{name}: {problem}" if name else problem, line)

    def _fault(self, problem: str, line: int | None = None) -> ConfigurationError:
        """Error with the problem, its line, and the fix."""
        where = "" if line is None else f", line {line}"
        remedy = "" if "; " in problem else "; docs/mapping.md has an example"
        return ConfigurationError(f"{self.path}{where}: {problem}{remedy}")

    def _plain(self, node: Node, place: Place) -> Any:
        self.lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, MappingNode):
            return self._object(node, place)
        if isinstance(node, SequenceNode):
            return [self._plain(inner, (*place, n)) for n, inner in enumerate(node.value)]
        assert isinstance(node, ScalarNode)
        return self._scalar(node, place)

    def _object(self, node: MappingNode, place: Place) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, ScalarNode) or key.tag == f"{_TAG}merge":
                self.lines[place] = key.start_mark.line + 1
                raise self.refusal(place, "a name must be plain text")
            key_place = (*place, key.value)
            self.lines[key_place] = key.start_mark.line + 1
            if key.value in values:
                raise self.refusal(key_place, "stands here twice; remove one")
            values[key.value] = self._plain(value, key_place)
        return values

    def _scalar(self, node: ScalarNode, place: Place) -> Any:
        kind, text = node.tag.removeprefix(_TAG), str(node.value)
        if kind == "bool" and text in ("true", "false"):
            return text == "true"
        if kind == "null" and text in ("", "~", "null"):
            return None
        try:
            if kind == "int":
                if not _INTEGER.fullmatch(text):
                    raise ValueError
                return int(text)
            if kind == "float":
                return float(text)
        except ValueError:
            problem = f"{text}: write the number in plain digits; {_QUOTE}, if it is one"
            raise self.refusal(place, problem) from None
        if kind == "bool":
            raise self.refusal(place, f"{text}: write true or false; {_QUOTE}, if it is one")
        if kind in ("str", "timestamp", "null"):
            return text
        raise self.refusal(
            place,
            f"the tag {node.tag} is not allowed; {_QUOTE}, if it is an expression with !",
        )


def shown(place: Place) -> str:
    """A path for messages: sources."chat.messages".records[0]."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + (f'"{part}"' if "." in part else part)
    return text
