"""Tenants' quotas on records and bytes: what is refused, what the refusal says, whom it spares."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from streams.errors import ConfigurationError
from streams.files import file_runner
from streams.quota import Quota, Quotas, TenantQuota, Work
from streams.serving.http.keys import changed, make
from streams.serving.http.quotas import OverQuota, TenantQuotas
from streams.serving.http.settings import ServeSettings
from tests.command import environment, turn
from tests.serving.serving import Server, serving
from tests.waiting import until

SLOW = 3600
"""Tests that are not about time end before much of a quota has come back."""
QUOTAS = {
    "few": {"records": 2},
    "small": {"bytes": 1_000},
    "kept": {"records": 1},
    "back": {"records": 1},
    "free": {"records": 0, "bytes": 0},
    "agent": {"records": 2},
    "broken": {"bytes": 1_000},
}
"""A tenant for each test: what one has written the next would wait for."""


class Clock:
    """A time that stands still until it is moved."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def refusal(quotas: TenantQuotas, tenant: str, records: int = 1, size: int = 1) -> dict[str, Any]:
    """What a refused request is told of the quota."""
    with pytest.raises(OverQuota) as refused:
        quotas.take(tenant, records, size)
    told: dict[str, Any] = json.loads(refused.value.body)["quota"]
    return told


# --- the count --------------------------------------------------------------------------------


def test_a_request_is_taken_whole_while_anything_is_left_and_the_rest_is_waited_for() -> None:
    clock = Clock()
    quotas = TenantQuotas(Quotas(Quota(records=10)), clock)
    quotas.take("acme", 19, 1)  # 20 are in two seconds
    quotas.take("acme", 100, 1)
    assert refusal(quotas, "acme") == {
        "tenant": "acme", "limit": "records", "per_second": 10, "remaining": -99, "retry_after": 10,
    }  # fmt: skip
    clock.now += 9.9
    assert refusal(quotas, "acme")["retry_after"] == 1
    clock.now += 0.1
    quotas.take("acme", 1, 1)
    assert refusal(quotas, "acme")["remaining"] == 0


def test_in_the_long_run_no_quota_is_exceeded() -> None:
    clock = Clock()
    quotas = TenantQuotas(Quotas(Quota(records=7)), clock)
    taken = 0
    for step in range(10_000):
        clock.now += 0.01
        try:
            quotas.take("acme", 1 + step % 50, 1)
            taken += 1 + step % 50
        except OverQuota:
            pass
    assert 7 * 100 <= taken <= 7 * (100 + 2) + 50


def test_each_limit_counts_for_itself_and_what_is_refused_costs_nothing() -> None:
    clock = Clock()
    quotas = TenantQuotas(Quotas(Quota(records=10, bytes=100)), clock)
    quotas.take("acme", 1, 200)
    assert [refusal(quotas, "acme")["limit"] for _ in range(50)] == ["bytes"] * 50
    clock.now += 2
    quotas.take("acme", 20, 1)
    assert refusal(quotas, "acme")["limit"] == "records"


def test_what_was_not_stored_is_given_back() -> None:
    quotas = TenantQuotas(Quotas(Quota(records=10, bytes=100)), Clock())
    for _ in range(50):
        quotas.take("acme", 20, 200)
        quotas.give_back("acme", 20, 200)


def test_a_record_that_takes_long_counts_as_several() -> None:
    clock = Clock()
    quotas = TenantQuotas(Quotas(Quota(records=100)), clock)
    quotas.take("acme", 10, 1)
    quotas.charge_work(Work("acme", 10, 0.002))
    quotas.check("acme")  # two tenths of a millisecond each
    quotas.charge_work(Work("acme", 10, 0.5))
    assert refusal(quotas, "acme") | {"remaining": 0} == {
        "tenant": "acme", "limit": "records", "per_second": 100, "remaining": 0, "retry_after": 4,
    }  # fmt: skip
    quotas.charge_work(Work("free", 10, 100.0))


def test_a_tenants_own_quota_counts_and_what_it_leaves_out_is_as_for_all() -> None:
    told = {"big": TenantQuota(records=100), "free": TenantQuota(records=0, bytes=0)}
    quotas = ServeSettings(quota_records=1, quota_bytes=50, quotas=told).all_quotas
    for _ in range(50):
        quotas.take("free", 1_000, 1_000_000)
    quotas.take("big", 50, 200)
    assert refusal(quotas, "big") | {"retry_after": 0, "remaining": 0} == {
        "tenant": "big", "limit": "bytes", "per_second": 50, "remaining": 0, "retry_after": 0,
    }  # fmt: skip
    quotas.take("other", 2, 1)
    assert refusal(quotas, "other")["per_second"] == 1


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ('{"acme": {"records": -1}}', "TURNFOLD_SERVE_QUOTAS.acme.records: Input should be gr"),
        ('{"acme": {"record": 1}}', "TURNFOLD_SERVE_QUOTAS.acme.record: Extra inputs"),
        ('{"acme": 5}', "TURNFOLD_SERVE_QUOTAS.acme: Input should be an object"),
        ('{"a/b": {}}', "must not contain control characters or a slash"),
        ("acme=5", "TURNFOLD_SERVE_QUOTAS: not JSON"),
    ],
)
def test_a_wrong_quota_is_refused_by_its_place(
    monkeypatch: pytest.MonkeyPatch, told: str, said: str
) -> None:
    monkeypatch.setenv("TURNFOLD_SERVE_QUOTAS", told)
    with pytest.raises(ConfigurationError, match=r"^serve settings: ") as wrong:
        ServeSettings.load()
    assert said in str(wrong.value)


# --- a server ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, dict[str, str]]]:
    """A server with these quotas, and a key of each tenant."""
    folder = tmp_path_factory.mktemp("quotas")
    tokens = {}
    with changed(folder / "keys.json") as held:
        for tenant in (*QUOTAS, "other"):
            tokens[tenant], key = make(tenant, "admin", None, "")
            held.append(key)
    env = environment(TURNFOLD_SERVE_QUOTAS=json.dumps(QUOTAS))
    options = ("--history", folder / "history", "--keys", folder / "keys.json")
    with serving(*options, env=env) as running:
        yield running, tokens


class Client:
    """One tenant's."""

    def __init__(self, server: Server, token: str) -> None:
        self.server = server
        self.headers = {"Authorization": f"Bearer {token}"}

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        headers = self.headers | more.pop("headers", {})
        return self.server.client.request(method, path, headers=headers, **more)

    def post(self, *event_ids: str) -> httpx.Response:
        """Turns as records."""
        lines = b"\n".join(json.dumps(turn(one)).encode() for one in event_ids)
        kind = {"content-type": "application/x-ndjson"}
        return self.ask("POST", "/v1/records", content=lines, headers=kind)


@pytest.fixture
def client_of(server: tuple[Server, dict[str, str]]) -> Any:
    running, tokens = server
    return lambda tenant: Client(running, tokens[tenant])


def is_taken(reply: httpx.Response) -> bool:
    """Whether the records are stored; a busy machine may not have folded them within the wait."""
    return reply.status_code in {200, 202}


def is_over(reply: httpx.Response, tenant: str, limit: str, per_second: int) -> int:
    """The seconds that a refused request is told to wait."""
    assert reply.status_code == 429, reply.text
    said = reply.json()
    assert said["type"] == "/problems/over-quota"
    told = said["quota"]
    assert (told["tenant"], told["limit"], told["per_second"]) == (tenant, limit, per_second)
    assert told["remaining"] <= 0
    assert reply.headers["retry-after"] == str(told["retry_after"])
    for text in (tenant, f"{per_second} {limit} a second", f"{told['remaining']} are left"):
        assert text in said["detail"]
    policies = reply.headers.get_list("ratelimit-policy")
    assert f'"{limit}";q={2 * per_second};w=2' in policies
    return int(told["retry_after"])


def test_every_way_to_write_is_counted_and_nothing_of_a_refused_request_is_stored(
    client_of: Any,
) -> None:
    few, other = client_of("few"), client_of("other")
    assert is_taken(few.post(*(f"first-{number}" for number in range(SLOW))))
    message = {
        "user_id": "u",
        "session_id": "refused",
        "messages": [{"role": "user", "content": "x"}],
    }
    ways: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/v1/messages", {"json": message}),
        ("POST", "/memory/session/update", {"json": {"session_id": "refused", "intent": "x"}}),
        ("POST", "/memory/user/update", {"json": {"user_id": "refused", "event": {"intent": "x"}}}),
    ]
    for method, path, body in ways:
        is_over(
            few.ask(method, path, headers={"idempotency-key": path}, **body), "few", "records", 2
        )
        assert is_taken(other.ask(method, path, **body)), "another tenant's are taken"
    is_over(few.post("late"), "few", "records", 2)
    for path in ("/v1/sessions/refused", "/memory/session/refused", "/memory/user/refused"):
        assert few.ask("GET", path).status_code == 404, "reads are not limited"
        assert other.ask("GET", path).status_code in (200, 404)
    assert few.ask("GET", "/v1/sessions/s").json()["conversation_count"] == SLOW


def test_a_state_is_not_corrected_beyond_the_quota(client_of: Any) -> None:
    kept = client_of("kept")
    plan = {
        "type": "write_plan", "plan_id": "p", "user_id": "u", "occurred_at": "2026-01-01T00:00:00Z",
        "extractor": {"name": "test", "version": "1"},
        "state_updates": [{"kind": "fact", "state_id": "lives", "body_text": "Lives in Leeds.",
                           "confidence": 0.9, "reason": "said so"}],
    }  # fmt: skip
    lines = "\n".join(map(json.dumps, [plan, *(turn(f"k{number}") for number in range(SLOW))]))
    kind = {"content-type": "application/x-ndjson"}
    assert is_taken(kept.ask("POST", "/v1/records", content=lines, headers=kind))
    where = {"user_id": "u"}
    change = {"reason": "moved", "body_text": "Lives in Leiden."}
    reply = until(  # 503 until the plan is applied, which takes a busy machine a while
        lambda: kept.ask("PATCH", "/v1/states/lives", params=where, json=change),
        lambda reply: reply.status_code != 503,
    )
    is_over(reply, "kept", "records", 1)
    reply = kept.ask("DELETE", "/v1/states/lives", params=where | {"reason": "moved"})
    is_over(reply, "kept", "records", 1)
    (state,) = kept.ask("GET", "/v1/users/u").json()["states"]
    assert state["body_text"] == "Lives in Leeds." and state["valid_to"] is None


def test_bytes_are_those_of_the_records_unpacked(client_of: Any) -> None:
    small = client_of("small")
    sizes = 0
    while is_taken(reply := small.post(f"small-{sizes}")):
        sizes += len(json.dumps(turn(f"small-{sizes}", tenant="small")))
        assert sizes < 100_000
    is_over(reply, "small", "bytes", 1_000)
    assert sizes >= 2_000


def test_a_body_that_is_refused_unread_is_charged(client_of: Any) -> None:
    broken = client_of("broken")
    packed = {"content-encoding": "gzip"}
    reply = broken.ask("POST", "/v1/records", content=b"x" * 1_000 * SLOW, headers=packed)
    assert reply.status_code == 400
    is_over(broken.post("e"), "broken", "bytes", 1_000)
    assert is_taken(client_of("other").post("e"))


def test_a_refusal_names_the_seconds_until_the_quota_is_back(client_of: Any) -> None:
    back = client_of("back")
    many = 100  # a busy machine does not take so many seconds until the next request
    assert is_taken(back.post(*(f"b{number}" for number in range(many))))
    wait = is_over(back.post("next"), "back", "records", 1)
    assert 0 < wait < many


def test_a_tenant_without_a_quota_is_not_limited(client_of: Any) -> None:
    free = client_of("free")
    for number in range(20):
        assert is_taken(free.post(*(f"f{number}-{one}" for one in range(100))))


def test_an_agent_is_told_why_it_could_not_remember(client_of: Any) -> None:
    agent = client_of("agent")
    agent.post(*(f"agent-{number}" for number in range(SLOW)))
    call = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "remember", "arguments": {"user_id": "u", "text": "I live in Leeds."}},
    }  # fmt: skip
    accepts = {"accept": "application/json, text/event-stream"}
    reply = agent.ask("POST", "/mcp", json=call, headers=accepts)
    assert "tenant agent may write 2 records a second" in reply.text, reply.text


def test_refusals_what_was_charged_and_unsettled_letters_are_counted(tmp_path: Path) -> None:
    lines = tmp_path / "lines.ndjson"
    lines.write_text("no json\n")
    assert file_runner.run([str(lines)], tmp_path / "history")["dead"] == 1
    with changed(tmp_path / "keys.json") as held:
        token, key = make("*", "admin", None, "")
        held.append(key)
    env = environment(TURNFOLD_SERVE_QUOTA_RECORDS="1")
    options = ("--history", tmp_path / "history", "--keys", tmp_path / "keys.json")
    with serving(*options, env=env) as running:
        acme = Client(running, token)
        acme.headers |= {"Turnfold-Tenant": "acme"}
        assert is_taken(acme.post("e1", "e2", "e3"))
        assert acme.post("e4").status_code == 429
        shown = until(
            lambda: acme.ask("GET", "/metrics").text,
            lambda text: 'turnfold_unsettled_letters{reason="bad_json"} 1.0' in text,
        )
    assert 'turnfold_unsettled_letters{reason="invalid"} 0.0' in shown
    assert 'turnfold_quota_charged_total{limit="records"} 3.0' in shown
    assert 'turnfold_quota_refusals_total{limit="records"} 1.0' in shown
