"""JMESPath expressions as functions of an event, compiled once.

What nearly all of them are (paths, `==`, `&&`, `||`, `!`, constants) becomes a few dictionary
look-ups; everything else is left to the library. A property test holds that both ways give the
same value.
"""

import re
from collections.abc import Callable
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError, JMESPathTypeError
from jmespath.functions import Functions

Read = Callable[[Any], Any]
"""The value of an expression in an event; None where it has none. Raises JMESPathError."""


_NAME = re.compile(r"[\w-]*-[\w-]*")
_QUOTED = """; a name with other characters has double quotes, and YAML's around them: '"{}"'"""


class BadExpression(ValueError):  # noqa: N818 - what it is
    """An expression that cannot be read; the text says where and why."""


def compiled(text: str) -> Read:
    """The function of an expression. Raises BadExpression."""
    try:
        return _compiled(text)
    except JMESPathError as error:
        said = " ".join(str(error).partition("\n")[0].split())
        hint = _QUOTED.format(text) if _NAME.fullmatch(text) else ""
        raise BadExpression(f"`{text}` is no JMESPath expression: {said}{hint}") from None
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
    """As JMESPath has it: 0 is true, an empty text, list or object is not."""
    return value is not None and value is not False and value != "" and value != [] and value != {}


def failure(error: Exception) -> str:
    """Why an expression has no value, without the values that it met."""
    if isinstance(error, JMESPathTypeError):
        wanted = " or ".join(error.expected_types)
        return f"{error.function_name}() takes {wanted}, not {error.actual_type}"
    return f"the expression fails ({type(error).__name__})"


def _check(text: str, node: Any) -> None:
    """What the library would find in the first event only, or never: an unknown function, a wrong
    number of arguments, a path of what `!` gives."""
    if node["type"] in _PATHS and node["children"][0]["type"] == "not_expression":
        raise BadExpression(f"`{text}`: JMESPath reads !a.b as (!a).b; write !(a.b)")
    if node["type"] == "function_expression":
        name = node["value"]
        known = Functions.FUNCTION_TABLE.get(name)
        if known is None:
            raise BadExpression(f"`{text}`: JMESPath has no function {name}()")
        wanted, given = known["signature"], len(node["children"])
        is_variadic = bool(wanted) and wanted[-1].get("variadic")
        if given < len(wanted) or (given > len(wanted) and not is_variadic):
            number = f"at least {len(wanted)}" if is_variadic else str(len(wanted))
            raise BadExpression(f"`{text}`: {name}() takes {number} arguments, not {given}")
    for child in node["children"]:
        _check(text, child)


_PATHS = ("subexpression", "index_expression")


# --- the quick way ------------------------------------------------------------------------------


def _quick(node: Any) -> Read | None:
    """A node of the syntax tree as a function; None where the library is to do it."""
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
    """`a.b`, `a[0]`: each step reads what the one before has found."""
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
    left, right = both

    def read(value: Any) -> Any:
        found = left(value)
        return found if is_true(found) else right(value)

    return read


def _and(node: Any) -> Read | None:
    if (both := _all(node)) is None:
        return None
    left, right = both

    def read(value: Any) -> Any:
        found = left(value)
        return right(value) if is_true(found) else found

    return read


def _not(node: Any) -> Read | None:
    if (one := _all(node)) is None:
        return None
    (read,) = one
    return lambda value: not is_true(read(value))


def _compare(node: Any) -> Read | None:
    """`==` and `!=` with a text, which is equal to nothing but that text."""
    left, right = node["children"]
    if node["value"] not in ("eq", "ne") or right["type"] != "literal":
        return None
    constant, read = right["value"], _quick(left)
    if not isinstance(constant, str) or read is None:
        return None
    if node["value"] == "eq":
        return lambda value: read(value) == constant
    return lambda value: read(value) != constant


def _object(node: Any) -> Read | None:
    """`{name: expression, …}`"""
    pairs = node["children"]
    found = [_quick(pair["children"][0]) for pair in pairs]
    reads = [(pair["value"], read) for pair, read in zip(pairs, found, strict=True) if read]
    if len(reads) < len(pairs):
        return None
    return lambda value: None if value is None else {name: read(value) for name, read in reads}


def _list(node: Any) -> Read | None:
    """`[expression, …]`"""
    reads = _all(node)
    if reads is None:
        return None
    return lambda value: None if value is None else [read(value) for read in reads]


def _all(node: Any) -> list[Read] | None:
    found = [_quick(child) for child in node["children"]]
    known = [read for read in found if read is not None]
    return known if len(known) == len(found) else None


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
