"""The inspector without a browser: texts, files, headers, addresses, and how one signs in."""

import re
import socket
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from string import Formatter

import httpx
import msgspec
import pytest
from starlette.requests import Request

from streams.folds.summary import Language
from streams.serving.http.keys import Role, changed, make
from streams.serving.http.refusal import Refusal
from streams.serving.inspector import assets, catalogue, page
from streams.serving.inspector.catalogue import TEXTS, Text, Texts
from streams.serving.inspector.links import Links
from streams.serving.inspector.view import View
from streams.serving.inspector.views import VIEWS
from tests.planned import CONVERSATIONS
from tests.serving.serving import Server, serving
from tests.waiting import WITHIN

PACKAGE = "streams.serving.inspector"
INLINE = re.compile(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)|javascript:")
AS_PAGE = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
OWN = {"sec-fetch-site": "same-origin"}
ASKED = re.compile(r"""\bt\(["']([\w.]+)["'][,)]""")
"""In a template: the key of a text."""
BUILT = re.compile(r"""["']([a-z_]+\.)["'] ~""")
"""The beginning of a key whose end is a value, such as `"kind." ~ hit.kind`."""


def sources() -> str:
    """All templates and modules, without the catalogue's own."""
    found = list(files(PACKAGE).joinpath("templates").iterdir())
    found += [one for one in files(PACKAGE).iterdir() if one.name.endswith(".py")]
    return "\n".join(
        one.read_text("utf-8") for one in found if not one.name.startswith("catalogue")
    )


# --- templates ----------------------------------------------------------------------------------


def test_who_has_seen_one_page_does_not_wait_for_the_templates_of_others() -> None:
    page._templates.cache_clear()
    page._compile_the_others.cache_clear()
    scope = {
        "type": "http", "method": "GET", "scheme": "http", "server": ("h", 80), "path": "/x",
        "raw_path": b"/x", "query_string": b"", "headers": [], "state": {"caller": None},
    }  # fmt: skip
    page.refused(Request(scope), Refusal(404, "Not found", "no session of that id"))
    page._compile_the_others().join(WITHIN)
    compiled = page._templates().cache
    assert compiled is not None
    assert {view.template for view in VIEWS} <= {name for _, name in compiled}


# --- texts --------------------------------------------------------------------------------------


def holes(text: str) -> list[str]:
    return sorted(name for _, name, _, _ in Formatter().parse(text) if name is not None)


@pytest.mark.parametrize("key", TEXTS)
def test_a_text_has_every_language_and_the_same_holes(key: str) -> None:
    assert all(one.strip() for one in TEXTS[key])
    assert len({tuple(holes(one)) for one in TEXTS[key]}) == 1


def test_a_key_has_one_text() -> None:
    rows = files(PACKAGE).joinpath("texts.csv").read_text("utf-8").splitlines()[1:]
    assert len(rows) == len(TEXTS)


def test_every_text_that_is_used_is_written_and_every_other_is_not() -> None:
    source = sources()
    assert {key for key in ASKED.findall(source) if key not in TEXTS} == set()
    built = tuple(BUILT.findall(source))
    assert {key for key in TEXTS if f'"{key}"' not in source and not key.startswith(built)} == set()


def test_a_text_takes_what_it_is_given_as_text() -> None:
    assert Texts("ja")("count.turns", n="{n}") == catalogue.TEXTS["count.turns"].ja.format(n="{n}")
    assert Text._fields == ("en", "zh", "ja")


@pytest.mark.parametrize("language", ("zh", "ja"))
def test_what_a_pack_adds_is_in_the_language_of_the_page(
    api: httpx.Client, language: Language
) -> None:
    added = re.compile(r"(good|low) mood|since \d|Likes: |assumption|constraint")
    told, spoken = 0, ""
    records = map(msgspec.json.decode, CONVERSATIONS.read_bytes().splitlines())
    for user_id in {record["user_id"] for record in records if record.get("user_id")}:
        path = f"/users/{user_id}"
        given = api.get(f"{path}.json").json()["pack"]
        told += len(added.findall(given["text"]))
        page = api.get(path, headers=AS_PAGE | {"accept-language": language})
        shown = re.sub(r"<pre.*?</pre>", "", page.text, flags=re.DOTALL)  # as an agent gets it
        assert not added.findall(shown)
        spoken += shown
    assert told > 2
    assert Texts(language)("pack.likes", what="").strip() in spoken
    assert Texts(language)("pack.since", day="").strip() in spoken


# --- files --------------------------------------------------------------------------------------


def test_the_files_are_few_and_small() -> None:
    assert sum(len(one.body) for one in assets.assets().values()) <= 250_000


def test_what_others_have_written_names_its_version_and_has_its_licence() -> None:
    names = set(assets.assets())
    others = {name for name in names if re.search(r"-\d", name) and not name.endswith("LICENSE")}
    assert {re.sub(r"(\.min)?\.(js|css)$", "", name) for name in others} == {
        name.removesuffix(".LICENSE") for name in names if name.endswith("LICENSE")
    }
    notice = (Path(__file__).resolve().parents[2] / "NOTICE").read_text("utf-8")
    assert all(name in notice for name in others)


def test_a_file_is_kept_for_ever_under_the_address_that_names_its_content(
    api: httpx.Client,
) -> None:
    for name in assets.assets():
        reply = api.get(assets.address(name), headers={"accept-encoding": "gzip"})
        assert reply.status_code == 200 and "immutable" in reply.headers["cache-control"]
        again = api.get(assets.address(name), headers={"if-none-match": reply.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        plain = api.get(f"/static/{name}", headers={"accept-encoding": "identity"})
        assert plain.content == reply.content and "no-cache" in plain.headers["cache-control"]
    assert api.get("/static/none.js").status_code == 404
    assert api.get("/static/..%2Fview.py").status_code == 404


# --- pages --------------------------------------------------------------------------------------


def test_a_page_lets_nothing_run_that_is_not_a_file_of_ours(api: httpx.Client) -> None:
    reply = api.get("/", headers=AS_PAGE)
    policy = dict(one.split(" ", 1) for one in reply.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert len(reply.headers.get_list("content-security-policy")) == 1
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["cache-control"] == "no-store"
    assert not INLINE.search(reply.text)


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.path)
def test_a_wrong_parameter_is_said_on_a_page_as_in_json(api: httpx.Client, view: View) -> None:
    for path in (view.path, view.twin):
        reply = api.get(path, params={"nonsense": "1"}, headers=AS_PAGE)
        assert reply.status_code == 400
        assert "unknown query parameter nonsense" in reply.text


def test_a_form_sends_empty_fields_that_say_nothing(api: httpx.Client) -> None:
    reply = api.get("/index.json", params={"q": "", "from": "", "kind": ""})
    assert reply.status_code == 200 and reply.json()["q"] is None


def test_an_unknown_path_is_a_page_for_people_and_a_problem_for_programs(
    api: httpx.Client,
) -> None:
    page = api.get("/no/such", headers=AS_PAGE)
    assert page.status_code == 404 and page.headers["content-type"].startswith("text/html")
    for path, headers in (("/no/such", {}), ("/v1/no/such", AS_PAGE)):
        reply = api.get(path, headers=headers)
        assert reply.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/sessions/nobody.json", 404), ("GET", "/states/nothing.json", 404),
        ("GET", "/no/such.json", 404), ("GET", "/users/emma.json?max_tokens=many", 422),
        ("GET", "/users/emma.json?as_of=soon", 422), ("GET", "/users/emma.json?mistake=1", 400),
        ("GET", "/users/emma.json", 406), ("POST", "/index.json", 405), ("GET", "/index.json", 406),
    ],
)  # fmt: skip
def test_the_address_of_json_answers_json_whatever_is_wrong(
    api: httpx.Client, method: str, path: str, status: int
) -> None:
    """Also to a browser that takes nothing but pages."""
    accept = "text/html" if status == 406 else "text/html,application/xhtml+xml,*/*;q=0.8"
    for more in ({}, {"hx-request": "true"}):
        reply = api.request(method, path, headers={**AS_PAGE, **OWN, "accept": accept, **more})
        assert reply.status_code == status, reply.text
        assert reply.headers["content-type"] == "application/problem+json"
        assert reply.json()["status"] == status


def test_an_inspector_that_is_turned_off_is_not_there(tmp_path: Path) -> None:
    with serving("--history", tmp_path / "h", "--no-inspector") as server:
        for path in ("/index.json", assets.address("inspector.css"), "/sign-in"):
            assert server.client.get(path, headers=AS_PAGE).status_code == 404
        assert server.client.get("/", headers=AS_PAGE).json()["service"] == "turnfold"


@pytest.mark.parametrize(
    ("id", "path"),
    [
        ("emma", "/users/emma"), ("a/b", "/users/a%2Fb"), ("a.json", "/users/a%2Ejson"),
        ("?#&", "/users/%3F%23%26"), ("結衣", "/users/%E7%B5%90%E8%A1%A3"),
    ],
)  # fmt: skip
def test_an_address_holds_any_id_and_the_clocks(id: str, path: str) -> None:
    assert Links().user(id) == path
    assert Links("2026-03-05T00:00:00Z").user(id) == f"{path}?as_of=2026-03-05T00%3A00%3A00Z"


# --- signing in ---------------------------------------------------------------------------------


def add(file: Path, tenant: str, role: Role) -> str:
    token, key = make(tenant, role, None, "")
    with changed(file) as held:
        held.append(key)
    return token


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A key for reading, and an operator's; `file` is where they are."""
    file = tmp_path_factory.mktemp("keys") / "keys.json"
    made = {"read": add(file, "acme", "read"), "all": add(file, "*", "admin")}
    return made | {"file": str(file)}


@pytest.fixture(scope="module")
def guarded(tokens: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with keys, over an empty history."""
    history = tmp_path_factory.mktemp("guarded") / "h"
    with serving("--history", history, "--keys", tokens["file"]) as server:
        yield server


@pytest.fixture
def stranger(guarded: Server) -> Iterator[httpx.Client]:
    """A browser that has not signed in."""
    with httpx.Client(base_url=guarded.url, timeout=WITHIN) as client:
        yield client


def sign_in(client: httpx.Client, key: str, **more: str) -> httpx.Response:
    return client.post("/sign-in", data={"key": key, **more}, headers={**AS_PAGE, **OWN})


def test_who_has_not_signed_in_sees_nothing_but_the_way_in(stranger: httpx.Client) -> None:
    for path in ("/", "/users/emma", "/no/such"):
        page = stranger.get(path, headers=AS_PAGE)
        assert page.status_code == 401 and 'type="password"' in page.text
        assert f'name="next" value="{path}"' in page.text
    for path in ("/index.json", "/users/emma.json", "/no/such"):
        assert stranger.get(path).headers["content-type"] == "application/problem+json"
    assert stranger.get("/users/emma.json", headers=AS_PAGE).status_code == 401
    assert stranger.get("/").json()["service"] == "turnfold"
    assert stranger.get(assets.address("inspector.css")).status_code == 200


def test_a_key_opens_the_pages_and_not_the_api(
    stranger: httpx.Client, tokens: dict[str, str]
) -> None:
    reply = sign_in(stranger, tokens["read"], next="/?q=a%20b")
    assert (reply.status_code, reply.headers["location"]) == (303, "/?q=a%20b")
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Secure" not in cookie
    assert tokens["read"] not in cookie and tokens["read"].split("_")[2] not in cookie
    assert stranger.get("/", headers=AS_PAGE).status_code == 200
    for path in ("/v1/users/emma", "/v1/search?q=x", "/memory/user/emma", "/metrics"):
        assert stranger.get(path).status_code == 401
    assert stranger.post("/v1/records", json={}).status_code == 401


def test_a_session_behind_tls_is_never_sent_without(
    guarded: Server, tokens: dict[str, str]
) -> None:
    reply = httpx.post(
        f"{guarded.url}/sign-in",
        data={"key": tokens["read"]},
        headers={**OWN, "x-forwarded-proto": "https"},
    )
    assert reply.headers["set-cookie"].endswith("; Secure")


def test_signing_out_ends_the_session_at_the_server(
    stranger: httpx.Client, tokens: dict[str, str]
) -> None:
    sign_in(stranger, tokens["read"])
    kept = dict(stranger.cookies)
    assert stranger.post("/sign-out", headers=OWN).status_code == 303
    for name, value in kept.items():
        stranger.cookies.set(name, value)
    assert stranger.get("/", headers=AS_PAGE).status_code == 401


@pytest.mark.parametrize("key", ["", "nothing", "ts_0_0", "ts_000000000000_" + "0" * 64])
def test_a_wrong_key_opens_nothing(stranger: httpx.Client, key: str) -> None:
    reply = sign_in(stranger, key)
    assert reply.status_code == 401 and "set-cookie" not in reply.headers
    assert 'role="alert"' in reply.text


def test_a_key_of_all_tenants_names_one(stranger: httpx.Client, tokens: dict[str, str]) -> None:
    for tenant in ("", "*", "a/b"):
        assert sign_in(stranger, tokens["all"], tenant=tenant).status_code == 401
    assert sign_in(stranger, tokens["all"], tenant="acme").status_code == 303
    assert "acme" in stranger.get("/", headers=AS_PAGE).text


@pytest.mark.parametrize(
    "headers",
    [
        {}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"},
        {"origin": "http://evil.example"}, {"origin": "null"},
    ],
)  # fmt: skip
def test_another_site_can_sign_nobody_in_or_out(
    stranger: httpx.Client, tokens: dict[str, str], headers: dict[str, str]
) -> None:
    reply = stranger.post("/sign-in", data={"key": tokens["read"]}, headers=headers)
    assert reply.status_code == 403 and "set-cookie" not in reply.headers
    sign_in(stranger, tokens["read"])
    assert stranger.post("/sign-out", headers=headers).status_code == 403
    assert stranger.get("/", headers=AS_PAGE).status_code == 200


def test_a_request_that_names_no_host_signs_nobody_in(guarded: Server) -> None:
    url = httpx.URL(guarded.url)
    with socket.create_connection((url.host, url.port), timeout=WITHIN) as connection:
        connection.sendall(b"POST /sign-in HTTP/1.0\r\nContent-Length: 0\r\n\r\n")
        first = connection.makefile("rb").readline()
    assert first.split()[1] == b"403"


@pytest.mark.parametrize(
    "following", ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:1", ""]
)
def test_signing_in_leads_to_no_other_site(
    stranger: httpx.Client, tokens: dict[str, str], following: str
) -> None:
    assert sign_in(stranger, tokens["read"], next=following).headers["location"] == "/"


def test_a_link_on_another_site_finds_the_session(
    stranger: httpx.Client, tokens: dict[str, str]
) -> None:
    """A strict cookie does not come with it: the page asks once more, as from here."""
    cross = {**AS_PAGE, "sec-fetch-site": "cross-site"}
    assert stranger.get("/", headers=cross).headers["refresh"] == "0"
    assert "refresh" not in stranger.get("/", headers={**AS_PAGE, **OWN}).headers


def test_a_revoked_key_ends_its_sessions(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    token = add(file, "acme", "read")
    add(file, "acme", "admin")
    with serving("--history", tmp_path / "h", "--keys", file) as server:
        assert sign_in(server.client, token).status_code == 303
        assert server.client.get("/index.json").status_code != 401
        with changed(file) as held:
            held[:] = [one for one in held if one.role == "admin"]
        server.until("/index.json", 401)
