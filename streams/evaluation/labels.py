"""Reads labelled sets: JSON Lines files of input records and labels.

A line with `label` is a label; any other is an input record, as `turnfold run` reads it.
"""

import gzip
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from schemas.time import parse_time
from streams.errors import ConfigurationError, DataRefused

Id = Annotated[str, msgspec.Meta(min_length=1)]
Text = Annotated[str, msgspec.Meta(min_length=1)]


class Label(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="label"
):
    """Fields of all labels: tenant, user, and the ids of the events with the evidence.

    `line` is its line in the file, from 1.
    """

    tenant: Id = "default"
    user_id: Id | None = None
    evidence: list[Id] = []
    line: int = 0


class Question(Label, tag="question", frozen=True):
    """A question to memory; figures are per `category`.

    `answer`: one wording or several; any of them counts. `asked_at`: RFC 3339; default: the time of
    the newest event of the tenant. If `user_id` is missing, the whole tenant is searched.
    """

    question: Text
    answer: Text | list[Text] | None = None
    category: Text = "all"
    asked_at: str | None = None

    @property
    def answers(self) -> list[str]:
        """The wordings of the answer."""
        return [self.answer] if isinstance(self.answer, str) else self.answer or []


class Observation(Label, tag="observation", frozen=True):
    """A fact about a user that is worth remembering."""

    text: Text


class Judgement(Label, tag="judgement", frozen=True):
    """A reader's verdict on an item that an extractor stores, by the item's text."""

    text: Text
    verdict: Literal["useful", "arguable", "useless"]


class Current(Label, tag="current", frozen=True):
    """An expectation of a user's facts and preferences after the last record: one with all words of
    `text` is current, or, if not `holds`, none is."""

    text: Text
    holds: bool = True


AnyLabel = Question | Observation | Judgement | Current


class Labels(NamedTuple):
    """The labels of a file, in order, and its number of input records."""

    questions: list[Question]
    observations: list[Observation]
    judgements: list[Judgement]
    current: list[Current]
    records: int


def read(file: Path, records: Path | None = None) -> Labels:
    """Reads a labelled set; a `.gz` file is unpacked.

    Writes the input records alone to `records`, at the same line numbers as in `file`. Raises
    DataRefused with line and field, ConfigurationError for a file that cannot be read.
    """
    labels = Labels([], [], [], [], 0)
    lists: dict[type[Label], list[Any]] = {
        Question: labels.questions, Observation: labels.observations,
        Judgement: labels.judgements, Current: labels.current,
    }  # fmt: skip
    with ExitStack() as files:
        output = files.enter_context(records.open("wb")) if records else None
        count = 0
        for number, line in _lines(file):
            label = _label(file, number, line)
            if label is None:
                count += bool(line.strip())
            else:
                lists[type(label)].append(label)
            if output is not None:
                output.write(line.rstrip(b"\r\n") + b"\n" if label is None else b"\n")
    if not any(lists.values()):
        raise DataRefused(f"{file}: no label (docs/evaluation.md)")
    return labels._replace(records=count)


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    try:
        packed = file.suffix == ".gz"
        with gzip.open(file) if packed else file.open("rb") as lines:
            yield from enumerate(lines, start=1)
    except (OSError, EOFError) as error:
        raise ConfigurationError(f"{file}: {getattr(error, 'strerror', None) or error}") from error


def _label(file: Path, number: int, line: bytes) -> AnyLabel | None:
    """The label of a line, or None for an input record or an empty line."""
    if not line.strip():
        return None
    try:
        document: Any = msgspec.json.decode(line)
    except UnicodeDecodeError:
        raise DataRefused(f"{file}: line {number}: not UTF-8") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise DataRefused(f"{file}: line {number}: not JSON: {error}") from None
    if not isinstance(document, dict):
        raise DataRefused(f"{file}: line {number}: not a JSON object")
    if "label" not in document:
        return None
    if "line" in document:
        raise DataRefused(f"{file}: line {number}: line: unknown field")
    try:
        label: AnyLabel = msgspec.convert(document, AnyLabel)
        if (
            not isinstance(label, Question)
            and label.user_id is None
            and not isinstance(label, Observation)
        ):
            raise DataRefused(f"{file}: line {number}: user_id: required")
        if isinstance(label, Question) and label.asked_at is not None:
            parse_time(label.asked_at)
    except msgspec.ValidationError as error:
        raise DataRefused(f"{file}: line {number}: {_reason(error)}") from None
    except ValueError as error:
        raise DataRefused(f"{file}: line {number}: asked_at: {error}") from None
    return msgspec.structs.replace(label, line=number)


def _reason(error: msgspec.ValidationError) -> str:
    """Turns "Expected `str`, got `int` - at `$.evidence[0]`" into "evidence[0]: expected …"."""
    text, _, path = str(error).partition(" - at `$")
    field = path.rstrip("`").lstrip(".")
    text = text[0].lower() + text[1:]
    return f"{field}: {text}" if field else text
