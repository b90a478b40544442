"""Compiles JMESPath expressions into functions of an event.

Common expressions (paths, `==`, `&&`, `||`, `!`, constants) become a few dictionary look-ups;
others use the library. A property test checks that both return the same values.
"""

import re
from collections.abc import Callable
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError, JMESPathTypeError
from jmespath.functions import Functions

Read = Callable[[Any], Any]
"""Value of an expression in an event, or None. Raises JMESPathError."""


_NAME = re.compile(r"[\w-]*-[\w-]*")
_QUOTED = """; a name with other characters has double quotes, and YAML's around them: '"{}"'"""


class BadExpression(ValueError):  # noqa: N818 - what it is
    """An invalid expression; the text has position and reason."""


def compiled(text: str) -> Read:
    """Compiles an expression. Raises BadExpression."""
    try:
        return _compiled(text)
    except JMESPathError as error:
        problem = " ".join(str(error).partition("\n")[0].split())
        hint = _QUOTED.format(text) if _NAME.fullmatch(text) else ""
        raise BadExpression(f"`{text}` is no JMESPath expression: {problem}{hint}") from None
    except RecursionError:
        raise BadExpression(f"`{text[:20]}…` is nested too deep") from None
    except BadExpression:
        raise
    except ValueError:  # a number of thousands of digits
        raise BadExpression(f"`{text[:20]}…` is no JMESPath expression") from None


def _compiled(text: str) -> Read:
    parsed = jmespath.compile(text)
    _check(text, parsed.parsed)
    return _quick(parsed.parsed) or parsed.search


def is_true(value: Any) -> bool:
    """Truth as in JMESPath: 0 is true, an empty text, list or object is false."""
    return value is not None and value is not False and value != "" and value != [] and value != {}


def failure(error: Exception) -> str:
    """Reason why an expression failed, without values of the event."""
    if isinstance(error, JMESPathTypeError):
        expected = " or ".join(error.expected_types)
        return f"{error.function_name}() takes {expected}, not {error.actual_type}"
    return f"the expression fails ({type(error).__name__})"


def _check(text: str, node: Any) -> None:
    """Checks errors that the library reports only at evaluation, or never: an unknown function, a
    wrong number of arguments, a path applied to `!`."""
    if node["type"] in _PATHS and node["children"][0]["type"] == "not_expression":
        raise BadExpression(f"`{text}`: JMESPath reads !a.b as (!a).b; write !(a.b)")
    if node["type"] == "function_expression":
        name = node["value"]
        function = Functions.FUNCTION_TABLE.get(name)
        if function is None:
            raise BadExpression(f"`{text}`: JMESPath has no function {name}()")
        signature, count = function["signature"], len(node["children"])
        is_variadic = bool(signature) and signature[-1].get("variadic")
        if count < len(signature) or (count > len(signature) and not is_variadic):
            number = f"at least {len(signature)}" if is_variadic else str(len(signature))
            raise BadExpression(f"`{text}`: {name}() takes {number} arguments, not {count}")
    for child in node["children"]:
        _check(text, child)


_PATHS = ("subexpression", "index_expression")


# --- the quick way ------------------------------------------------------------------------------


def _quick(node: Any) -> Read | None:
    """Compiles a node of the syntax tree, or returns None if the library must evaluate it."""
    make = _MAKERS.get(node["type"])
    return None if make is None else make(node)


def _field(node: Any) -> Read:
    name = node["value"]

    def read(value: Any) -> Any:
        return value.get(name) if type(value) is dict else None

    return read


def _index(node: Any) -> Read:
    number = node["value"]

    def read(value: Any) -> Any:
        if type(value) is not list or not -len(value) <= number < len(value):
            return None
        return value[number]

    return read


def _path(node: Any) -> Read | None:
    """`a.b`, `a[0]`: each step reads the value of the previous one."""
    steps = _all(node)
    if steps is None:
        return None
    if all(child["type"] == "field" for child in node["children"]):
        return _fields([child["value"] for child in node["children"]])

    def read(value: Any) -> Any:
        for step in steps:
            value = step(value)
            if value is None:
                return None
        return value

    return read


def _fields(names: list[str]) -> Read:
    *before, last = names

    def read(value: Any) -> Any:
        for name in before:
            if type(value) is not dict:
                return None
            value = value.get(name)
        return value.get(last) if type(value) is dict else None

    return read


def _literal(node: Any) -> Read:
    constant = node["value"]
    return lambda value: constant


def _current(node: Any) -> Read:
    return lambda value: value


def _or(node: Any) -> Read | None:
    if (both := _all(node)) is None:
        return None
    first, second = both

    def read(value: Any) -> Any:
        first_value = first(value)
        return first_value if is_true(first_value) else second(value)

    return read


def _and(node: Any) -> Read | None:
    if (both := _all(node)) is None:
        return None
    first, second = both

    def read(value: Any) -> Any:
        first_value = first(value)
        return second(value) if is_true(first_value) else first_value

    return read


def _not(node: Any) -> Read | None:
    if (operands := _all(node)) is None:
        return None
    (operand,) = operands
    return lambda value: not is_true(operand(value))


def _compare(node: Any) -> Read | None:
    """`==` and `!=` with a text, which only equals the same text."""
    subject, literal = node["children"]
    if node["value"] not in ("eq", "ne") or literal["type"] != "literal":
        return None
    constant, operand = literal["value"], _quick(subject)
    if not isinstance(constant, str) or operand is None:
        return None
    if node["value"] == "eq":
        return lambda value: operand(value) == constant
    return lambda value: operand(value) != constant


def _object(node: Any) -> Read | None:
    """`{name: expression, …}`"""
    pairs = node["children"]
    readers = [_quick(pair["children"][0]) for pair in pairs]
    reads = [(pair["value"], reader) for pair, reader in zip(pairs, readers, strict=True) if reader]
    if len(reads) < len(pairs):
        return None
    return lambda value: None if value is None else {name: reader(value) for name, reader in reads}


def _list(node: Any) -> Read | None:
    """`[expression, …]`"""
    reads = _all(node)
    if reads is None:
        return None
    return lambda value: None if value is None else [reader(value) for reader in reads]


def _all(node: Any) -> list[Read] | None:
    readers = [_quick(child) for child in node["children"]]
    quick_readers = [reader for reader in readers if reader is not None]
    return quick_readers if len(quick_readers) == len(readers) else None


_MAKERS: dict[str, Callable[[Any], Read | None]] = {
    "field": _field,
    "index": _index,
    "subexpression": _path,
    "index_expression": _path,
    "literal": _literal,
    "current": _current,
    "or_expression": _or,
    "and_expression": _and,
    "not_expression": _not,
    "comparator": _compare,
    "multi_select_dict": _object,
    "multi_select_list": _list,
}
