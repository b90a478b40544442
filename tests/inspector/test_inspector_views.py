"""What a reader does: searches, follows reasons both ways, moves the clocks, signs in."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from streams.files import file_runner
from streams.sample import CONVERSATIONS
from streams.serving.http.keys import changed, make
from tests.command import BY_DEFAULT, folded, ndjson, turn
from tests.inspector.browsing import barriers, expects, watched
from tests.inspector.conftest import Visit
from tests.serving.serving import Server, serving

pytestmark = pytest.mark.needs("chromium")

LONG = 10_000
HOSTILE = (
    "<script>document.title='owned'</script>", "<img src=x onerror=\"document.title='owned'\">",
    '"><svg onload=alert(1)>', "</textarea></title><style>body{display:none}</style>",
    "javascript:alert(1) {{ 7*7 }} {% raw %}", "' autofocus onfocus='alert(1)",
    "\u202egnp.exe\u202c \u2066abc\u2067", "שלום <b>world</b> مرحبا",
    "<meta http-equiv=refresh content=0;url=//evil.example>",
    "<a href=//evil.example hx-get=/ hx-trigger=load>x</a>",
)  # fmt: skip


def test_a_search_answers_while_one_types(visit: Visit) -> None:
    with visit() as page:
        page.goto("/")
        page.locator("#q").press_sequentially("Piccadilly", delay=30)
        hit = page.locator(".hits mark").first
        expect(hit).to_have_text("Piccadilly", ignore_case=True)
        page.wait_for_url("**/?q=Piccadilly")
        page.locator("select[name=kind]").select_option("state")
        page.wait_for_url("**/?q=Piccadilly&kind=state")
        page.go_back()
        page.wait_for_url("**/?q=Piccadilly")


def test_reasons_lead_from_a_value_to_its_turn_and_back(visit: Visit) -> None:
    with visit() as page:
        page.goto("/users/emma")
        page.get_by_role("link", name="Emma lives in Ancoats").click()
        expect(page.locator(".revisions del").first).to_have_text("Leeds")
        page.locator("blockquote a", has_text="Keys in hand").click()
        turn = page.locator(".turn:target")
        expect(turn.locator(".say.user")).to_contain_text("Keys in hand")
        turn.locator(".changed a", has_text="Emma lives in Ancoats").click()
        expect(page.locator("h1")).to_have_text("Emma lives in Ancoats, Manchester. I helped her "
                                                "find the place.")  # fmt: skip


def test_a_value_leads_to_the_plan_that_proposed_it_and_the_plan_back(visit: Visit) -> None:
    with visit() as page:
        page.goto("/states/emma-home")
        page.locator(".revisions a", has_text="plan-emma-1").click()
        page.wait_for_url("**/users/emma/plans/plan-emma-1")
        expect(page.locator("#extractor")).to_contain_text("sample 1")
        expect(page.locator("pre")).to_contain_text('"plan_id": "plan-emma-1"')
        page.locator("dl a", has_text="emma-move-1").click()
        expect(page.locator(".turn:target .id").first).to_have_text("emma-move-1")
        page.go_back()
        page.locator("main .items a", has_text="Emma lives in Leeds").click()
        page.wait_for_url("**/states/emma-home")
        page.locator(".revisions a", has_text="sample 1").first.click()
        page.wait_for_url("**/users/emma/plans/*#extractor")


def test_facts_that_a_pack_left_out_are_a_click_away(visit: Visit) -> None:
    with visit() as page:
        page.goto("/users/emma?max_tokens=50")
        page.locator("#pack a", has_text="left out").click()
        page.wait_for_url("**/users/emma/facts")
        page.locator("select[name=status]").select_option("ended")
        page.wait_for_url("**/users/emma/facts?status=ended*")
        expect(page.locator("#found .over")).to_contain_text("Emma lives in Leeds")
        expect(page.locator("#found")).to_contain_text("extracted by sample")


def test_a_session_is_listed_by_its_first_line_unless_that_is_not_to_be_kept(
    tmp_path: Path,
) -> None:
    said = {
        "open": "I moved to Oslo.\nIt rains.", "private": "Don't store this, but I am ill.",
        "silent": "",
    }  # fmt: skip
    records = [
        turn(f"{name}-1", session_id=name, user_id="maya", user_input=text)
        for name, text in said.items()
    ]
    folded(ndjson(tmp_path / "records.ndjson", records), history=tmp_path / "history")
    with serving("--history", tmp_path / "history") as server:
        server.until("/v1/users", 200)
        listed = server.client.get("/users/maya.json").json()["sessions"]
        page = server.client.get("/users/maya", headers={"accept": "text/html"}).text
    lines = {one["session_id"]: one["first_line"] for one in listed}
    assert lines == {"open": "I moved to Oslo.\nIt rains.", "private": None, "silent": ""}
    assert "I moved to Oslo.</bdi>" in page and "but I am ill" not in page


@pytest.mark.parametrize("user_id", ["emma", "lin", "yui"])
@pytest.mark.parametrize("as_of", ["2026-03-05", "2026-03-12", "2030-01-01"])
def test_facts_in_force_are_the_states_of_that_time(
    sample: Server, user_id: str, as_of: str
) -> None:
    clock = {"as_of": as_of, "known_at": "2026-03-20"}
    address = f"/users/{user_id}/facts.json"
    every = sample.client.get(address, params=clock).json()
    states = sample.client.get(f"/v1/users/{user_id}/states", params=clock).json()["states"]
    in_force = [
        (fact["entity_id"], fact["valid_from"])
        for fact in every["facts"]
        if fact["status"] == "in_force" and fact["kind"] != "preference"
    ]
    assert sorted(in_force) == sorted(
        (state["state_id"], state["valid_from"])
        for state in states
        if state["kind"] != "long_mood_state"
    )
    assert every["fact_count"] == sum(every["counts"]["status"].values())
    for name, counts in every["counts"].items():
        for value, count in counts.items():
            some = sample.client.get(address, params={**clock, name: value}).json()
            assert some["fact_count"] == count and some["counts"] == every["counts"]
            assert some["facts"] == [fact for fact in every["facts"] if fact[name] == value]


def test_a_plan_is_there_from_when_it_was_known(sample: Server) -> None:
    address = "/users/emma/plans/plan-emma-1.json"
    told = sample.client.get(address).json()
    assert told["plan"]["doc"]["plan_id"] == "plan-emma-1" and told["change_count"] > 0
    (made,) = told["steps"]["as_of"]
    assert sample.client.get(address, params={"known_at": made}).json()["plan"] == told["plan"]
    before = sample.client.get(address, params={"as_of": "2026-03-02T08:55:19Z"}).json()
    assert before["plan"] is None and before["changes"] == [] and before["change_count"] == 0
    assert sample.client.get("/users/lin/plans/plan-emma-1.json").status_code == 404


def test_the_clocks_move_change_by_change_on_the_keyboard(visit: Visit) -> None:
    with visit() as page:
        page.goto("/users/emma")
        expect(page.locator("#pack")).to_contain_text("Ancoats")
        slider = page.locator("[data-clock=as_of]")
        slider.focus()
        steps = (slider.get_attribute("data-steps") or "").split()
        page.keyboard.press("Home")
        page.wait_for_url(f"**as_of={steps[0].replace(':', '%3A')}*")
        expect(page.locator("#pack")).not_to_contain_text("Ancoats")
        page.keyboard.press("ArrowRight")
        page.wait_for_url(f"**as_of={steps[1].replace(':', '%3A')}*")
        expect(slider).to_be_focused()
        page.get_by_role("link", name="People and sessions").click()
        page.wait_for_url("**as_of=*")
        page.go_back()
        page.locator("[data-clock=as_of]").focus()
        page.keyboard.press("End")
        expect(page.locator("#pack")).to_contain_text("Ancoats")
        page.wait_for_url("**/users/emma")


def test_both_clocks_are_obeyed(visit: Visit) -> None:
    """Nora's birthday was known wrongly at first."""
    with visit() as page:
        page.goto("/states/emma-nora-birthday?known_at=2026-03-05")
        before = page.locator("h1").inner_text()
        page.goto("/states/emma-nora-birthday")
        assert page.locator("h1").inner_text() != before
        assert page.locator(".plane rect").count() > page.locator(".known li").count() - 1


def test_the_budget_says_what_it_leaves_out(visit: Visit) -> None:
    with visit() as page:
        page.goto("/users/emma")
        items = page.locator("#pack .items li").count()
        slider = page.locator("[name=max_tokens]")
        slider.focus()
        page.keyboard.press("Home")
        page.wait_for_url("**max_tokens=50**")
        expect(page.locator("#pack")).to_contain_text("left out")
        assert page.locator("#pack .items li").count() < items


def test_an_agents_loop_shows_its_forced_stop(visit: Visit) -> None:
    with visit() as page:
        page.goto("/sessions/emma-trains")
        task = page.locator(".task").first
        expect(task).to_contain_text("stopped at the limit")
        task.locator("summary").first.click()
        assert task.locator(".tree li").count() >= 3


def test_what_was_known_before_a_turn_is_a_click_away(visit: Visit) -> None:
    with visit() as page:
        page.goto("/sessions/emma-move")
        turn = page.locator(".turn", has_text="Keys in hand")
        turn.get_by_role("link", name="What was known before it").click()
        page.wait_for_url("**/users/emma?as_of=2026-03-13T17%3A44%3A59*")
        expect(page.locator("#pack")).to_contain_text("Leeds")


def test_what_people_say_runs_nothing_and_steers_nothing(browser: Browser, tmp_path: Path) -> None:
    records = [
        turn(f"e{at} {text}"[:100].replace("\x1f", ""), user_input=text, agent_answer=text,
             session_id="s" if at % 2 else f"s {text}"[:100], user_id="u",
             observations=[{"type": "background", "content": text, "explicit": True,
                            "confidence": 0.9}])
        for at, text in enumerate(HOSTILE)
    ]  # fmt: skip
    plans = [
        {
            "type": "write_plan", "plan_id": f"p{at}", "user_id": "u", "session_id": "s",
            "occurred_at": "2026-03-01T10:00:00Z", "extractor": {"name": text, "version": "1"},
            "state_updates": [
                {"op": "upsert", "kind": "fact", "state_id": f"state {at} {text}",
                 "body_text": text, "reason": text}
            ],
        }
        for at, text in enumerate(HOSTILE)
    ]  # fmt: skip
    file = ndjson(tmp_path / "hostile.ndjson", [*records, *plans])
    counts = file_runner.run([str(file)], tmp_path / "h")
    assert counts["dead"] == 0, counts
    with serving("--history", tmp_path / "h") as server, watched(browser, server.url) as page:
        server.until("/v1/users", 200)
        expects(page, 404)
        addresses = {"/", "/users/u", "/sessions/s", "/?q=evil", "/?q=%3Cscript%3E"}
        addresses |= {f"/no/{text}" for text in ("<b>", "'\"")}
        for address in sorted(addresses):
            page.goto(address)
            if not address.startswith("/no/"):
                addresses |= set(page.locator("main a").evaluate_all(
                    "all => all.map(one => one.getAttribute('href'))"))  # fmt: skip
        assert len(addresses) > 3 * len(HOSTILE)
        for address in sorted(addresses):
            assert address.startswith("/") and not address.startswith("//")
            page.goto(address)
            title = page.title()  # what people wrote in it is apart from our name
            assert title != "owned" and title[0] == "\u2068" and title.endswith("\u2069 · Turnfold")
            assert page.locator("main").is_visible()
            assert page.locator("main script, main style, main b, main img, main meta").count() == 0
            asked = page.locator("[hx-get]").evaluate_all(
                "all => all.map(one => one.getAttribute('hx-get'))"
            )
            assert all(one.startswith("/") and not one.startswith("//") for one in asked)


def test_a_session_of_ten_thousand_turns_holds_few_of_them(
    browser: Browser, tmp_path: Path
) -> None:
    records = [
        turn(f"e{at:05}", session_id="long", user_id="u", user_input=f"turn number {at}",
             occurred_at=f"2026-03-{1 + at // 1440:02}T{at // 60 % 24:02}:{at % 60:02}:00Z")
        for at in range(LONG)
    ]  # fmt: skip
    file_runner.run([str(ndjson(tmp_path / "long.ndjson", records))], tmp_path / "h")
    with serving("--history", tmp_path / "h") as server, watched(browser, server.url) as page:
        page.goto("/sessions/long?turn=e05000#at-e05000")
        expect(page.locator("#at-e05000")).to_be_visible()
        page.keyboard.press("End")
        expect(page.locator("text=turn number 9999")).to_be_visible()
        page.keyboard.press("Home")
        expect(page.locator("text='turn number 0'")).to_be_visible()
        assert page.locator(".turn").count() <= 500


def test_an_empty_history_says_what_to_do(browser: Browser, tmp_path: Path) -> None:
    with serving("--history", tmp_path / "h") as server, watched(browser, server.url) as page:
        server.until("/v1/users", 200)
        page.goto("/")
        expect(page.locator("main")).to_contain_text("/v1/messages")
        expects(page, 404)
        page.goto("/sessions/none")
        expect(page.locator("h1")).to_have_text("There is nothing here")


def test_a_reader_signs_in_goes_on_and_signs_out(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    token, key = make("default", "read", None, "")
    with changed(file) as held:
        held.append(key)
    file_runner.run(
        [str(ndjson(tmp_path / "one.ndjson", [turn("e", user_id="u")]))], tmp_path / "h"
    )
    with (
        serving("--history", tmp_path / "h", "--keys", file) as server,
        watched(browser, server.url) as page,
    ):
        expects(page, 401)
        page.goto("/sessions/s?turn=e")
        page.get_by_label("Key", exact=True).fill("ts_wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_be_visible()
        page.get_by_label("Key", exact=True).fill(token)
        page.keyboard.press("Enter")
        page.wait_for_url("**/sessions/s?turn=e")
        expect(page.locator(".turn")).to_be_visible()
        reply = page.request.get("/sessions/s.json")
        assert json.loads(reply.body())["turn_count"] == 1
        assert page.evaluate("document.cookie") == ""
        assert page.request.get("/v1/users/u").status == 401
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Key", exact=True)).to_be_visible()


@pytest.mark.parametrize("path", ["/states/none", "/sessions/none", "/nothing"])
def test_what_is_not_there_is_said_on_a_page(visit: Visit, path: str) -> None:
    with visit() as page:
        expects(page, 404)
        page.goto(path)
        page.get_by_role("link", name="Back to people and sessions").click()
        page.wait_for_url("**/")


def test_lists_head_and_tasks_obey_both_clocks(visit: Visit) -> None:
    with visit() as page:
        page.goto("/")
        expect(page.locator("main")).to_contain_text("emma-trains")
        page.goto("/?as_of=2026-03-05")
        expect(page.locator("main")).to_contain_text("emma-move")
        expect(page.locator("main")).not_to_contain_text("emma-trains")
        page.goto("/?known_at=2026-03-05")
        expect(page.locator("main")).not_to_contain_text("emma-trains")
        page.goto("/users/emma?as_of=2026-03-05")
        theirs = page.locator("section", has=page.locator("#theirs"))
        expect(theirs).to_contain_text("emma-move")
        expect(theirs).not_to_contain_text("emma-trains")
        for clock in ("as_of", "known_at"):
            page.goto(f"/sessions/emma-move?{clock}=2026-03-02T09:00:00Z")
            assert page.locator(".turn").count() == 1
            expect(page.locator(".head")).to_contain_text("turns 1")
            latest = page.locator(".head time").last.get_attribute("datetime")
            assert latest and latest < "2026-03-02T09:00"
        page.goto("/sessions/emma-trains?as_of=2026-03-11T08:30:30Z")
        steps = page.locator(".task .tree li").count()
        page.goto("/sessions/emma-trains")
        assert steps < page.locator(".task .tree li").count()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of the demo's history."""
    history = tmp_path_factory.mktemp("demo") / "history"
    folded(str(CONVERSATIONS), BY_DEFAULT, history=history)
    with serving("--history", history) as server:
        server.until("/v1/users", 200)
        yield server


def test_the_tour_leads_from_a_question_to_its_past_and_stays_ended(
    browser: Browser, demo: Server
) -> None:
    with watched(browser, demo.url) as page:
        page.goto("/")
        page.get_by_role("link", name="Take the tour").click()
        tour = page.get_by_role("complementary", name="Tour")
        seen = ("Manchester", "I moved to", "I moved to", "Leeds", "Manchester")
        for number, text in enumerate(seen, 1):
            expect(tour).to_contain_text(f"{number} of 5")
            expect(page.locator("main")).to_contain_text(text)
            assert barriers(page) == []
            if number < len(seen):
                tour.get_by_role("link", name="Next").click()
        assert "tour=5" in page.url
        tour.get_by_role("link", name="Done").click()
        expect(tour).to_have_count(0)
        page.goto("/users/emma?tour=2")
        expect(page.locator("h1")).to_be_visible()
        expect(tour).to_have_count(0)
        page.goto("/")
        page.get_by_role("link", name="Take the tour").click()
        expect(tour).to_contain_text("1 of 5")
        page.keyboard.press("Escape")
        expect(tour).to_have_count(0)


def test_the_tour_needs_no_scripts(visit: Visit) -> None:
    with visit(java_script_enabled=False) as page:
        page.goto("/users/emma?tour=4&as_of=2026-03-05")
        tour = page.get_by_role("complementary", name="Tour")
        tour.get_by_role("link", name="End the tour").click()
        page.wait_for_url("**/users/emma*")
        assert page.locator("[data-tour]").count() == 0
        for wrong in ("0", "6", "x", "1.0"):
            page.goto(f"/users/emma?tour={wrong}")
            assert page.locator("[data-tour]").count() == 0
