"""Whose a dead letter is, in whatever form it names the person."""

import base64
import gzip
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest

from sinks.dead_letter_owners import GOES, MAY_NAME, STAYS, Letters

IDS = ("ann", "zoë", "user-17", "u@example.com", 'q"uote', "dom\\new", "安", "a b")


def each(form: str, content: str | bytes) -> str:
    """Each character or byte as a number in a form."""
    return "".join(
        form % one for one in (content if isinstance(content, bytes) else map(ord, content))
    )


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(one):04x}" for one in text)


FORMS: dict[str, Callable[[str], bytes]] = {
    "its own field": lambda id: json.dumps({"user_id": id}).encode(),
    "another spelling": lambda id: json.dumps({"userId": id}).encode(),
    "an array": lambda id: json.dumps([{"user_id": id}]).encode(),
    "a CloudEvent": lambda id: json.dumps({"specversion": "1.0", "data": {"user_id": id}}).encode(),
    "a subject": lambda id: json.dumps({"subject": f"users/{id}"}).encode(),
    "packed data": lambda id: json.dumps(
        {"data_base64": base64.b64encode(json.dumps({"user_id": id}).encode()).decode()}
    ).encode(),
    "packed twice": lambda id: json.dumps(
        {"data": base64.b64encode(gzip.compress(json.dumps({"who": id}).encode())).decode()}
    ).encode(),
    "gzip in gzip in base64": lambda id: json.dumps(
        {"data": base64.b64encode(gzip.compress(gzip.compress(id.encode()))).decode()}
    ).encode(),
    "a list of bytes": lambda id: json.dumps(
        {"type": "Buffer", "data": [*json.dumps({"who": id}).encode()]}
    ).encode(),
    "Latin-1": lambda id: json.dumps({"who": id}, ensure_ascii=False).encode(
        "latin-1", "backslashreplace"
    ),
    "gzip": lambda id: gzip.compress(json.dumps({"user_id": id}).encode()),
    "JSON in a string": lambda id: json.dumps({"m": json.dumps({"user_id": id})}).encode(),
    "JSON in it again": lambda id: json.dumps(json.dumps(json.dumps({"who": id}))).encode(),
    "escaped": lambda id: f'{{"user_id":"{escaped(id)}"}}'.encode(),
    "escaped and cut": lambda id: f'{{"user_id":"{escaped(id)}","text":"he'.encode(),
    "escapes of bytes": lambda id: each(r"\x%02x", id.encode()).encode(),
    "octal escapes": lambda id: each(r"\%03o", id.encode()).encode(),
    "escapes in braces": lambda id: each(r"\u{%x}", id).encode(),
    "long escapes": lambda id: each(r"\U%08x", id).encode(),
    "HTML": lambda id: json.dumps({"text": each("&#%d;", id)}).encode(),
    "HTML in hex": lambda id: each("&#x%X;", id).encode(),
    "HTML twice": lambda id: each("&amp;#%d;", id).encode(),
    "a URL": lambda id: json.dumps({"url": "/?u=" + each("%%%02x", id.encode())}).encode(),
    "a URL twice": lambda id: each("%%25%02x", id.encode()).encode(),
    "a URL in HTML": lambda id: each("&#37;%02X", id.encode()).encode(),
    "HTML in a URL in JSON in a string": lambda id: json.dumps(
        {"m": json.dumps({"q": quote(each("&#%d;", id))})}
    ).encode(),
    "hex": lambda id: json.dumps({"raw": rf"\x{id.encode().hex()}", "id": 1}).encode(),
    "base64 in a URL": lambda id: quote(
        base64.b64encode(f'{{"who":"{escaped(id)}"}}'.encode())
    ).encode(),
    "cut": lambda id: (json.dumps({"user_id": id, "text": "he"}, ensure_ascii=False)[:-3]).encode(),
    "cut within JSON in a string": lambda id: json.dumps(
        {"m": json.dumps({"user_id": id, "t": 1})}
    )[:-5].encode(),
    "a name given twice": lambda id: f'{{"x":{json.dumps(id)},"x":"bob"}}'.encode(),
    "a field's name": lambda id: json.dumps({"people": {id: 1}}).encode(),
    "too deep": lambda id: b"[" * 5000 + json.dumps(id).encode() + b"]" * 5000,
    "several lines": lambda id: b'{"a":1}\n' + json.dumps({"user_id": id}).encode(),
    "not JSON": lambda id: f"user={id}&text=hello".encode(),
    "UTF-16": lambda id: json.dumps({"user_id": id}).encode("utf-16"),
    "not UTF-8": lambda id: b'{"text":"\xff","user_id":' + json.dumps(id).encode() + b"}",
    "bytes of Avro": lambda id: b"\0\0\0\0\x07H" + id.encode() + b"Hx",
    "an image that was taken out": lambda id: json.dumps({"a": [{"b": [id, "<image>"]}]}).encode(),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_letter_that_names_the_person_goes(form: Callable[[str], bytes]) -> None:
    for id in IDS:
        assert Letters("default", id).verdict(form(id), None, None, None) == GOES, id


IN_WORDS = {name: form for name, form in FORMS.items() if name != "bytes of Avro"}
"""Lengths read as letters in binary formats, where words cannot be told apart."""


@pytest.mark.parametrize("form", IN_WORDS.values(), ids=IN_WORDS)
def test_a_letter_of_another_stays(form: Callable[[str], bytes]) -> None:
    for id, other in (("ann", "joanne"), ("ann", "bob"), ("ann", "ann2"), ("user-1", "user-17")):
        verdict = Letters("default", id).verdict(form(other), None, None, None)
        assert verdict in (STAYS, MAY_NAME), (id, other)
        if id in other and "joanne" in form(other).decode("latin-1"):
            assert verdict == MAY_NAME


def test_a_key_or_a_header_names_the_person() -> None:
    letters = Letters("default", "ann")
    assert letters.verdict(b"{}", "default/ann", None, None) == GOES
    assert letters.verdict(b"{}", "default/ann-2", None, None) == MAY_NAME
    assert letters.verdict(b"{}", None, '[["ce_subject","ann"]]', None) == GOES
    assert letters.verdict(b"{}", "default/bob", '[["ce_subject","bob"]]', None) == STAYS


def test_a_letter_of_a_session_or_a_task_goes() -> None:
    letters = Letters("default", "ann", ["own"], [("group", "t")])
    for record in ([{"sessionId": "own"}], {"data": {"sid": "own"}}):
        assert letters.verdict(json.dumps(record).encode(), None, None, None) == GOES
    steps = [{"session_id": "group", "task_id": "t"}, {"session_id": "other", "task_id": "t"}]
    verdicts = [letters.verdict(json.dumps([one]).encode(), None, None, None) for one in steps]
    assert verdicts == [GOES, STAYS]
    assert letters.verdict(b'{"text":"my own"}', None, None, None) == STAYS


def test_a_number_is_an_id_in_a_field_of_ids_alone() -> None:
    letters = Letters("default", "42")
    assert letters.verdict(b'[{"userId":42}]', None, None, None) == GOES
    assert letters.verdict(b'{"iteration_index":42}', None, None, None) == STAYS


def test_what_cannot_be_read_may_name_the_person() -> None:
    letters = Letters("default", "ann")
    assert letters.verdict(b'{"user_id":"a', None, None, None) == MAY_NAME
    assert letters.verdict(b"\xff\xfe\x00", None, None, None) == MAY_NAME
    hashed = b'{"bytes":12,"sha256":"' + b"a" * 64 + b'"}'
    assert letters.verdict(hashed, None, None, None) == STAYS
