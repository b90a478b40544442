"""The rule extractor: every rule by its example, what is no evidence, and what a plan holds."""

import time

import pytest

from schemas.base import JsonObject
from schemas.events import WritePlan
from streams.extractors import rules
from streams.extractors.engine import Language
from streams.extractors.rule import Rule
from streams.folds.quoting import quoted
from tests.acceptance.utterances import extractions, turn

RULES = [(language, rule) for language in rules.LANGUAGES.values() for rule in language.rules]
CALM = (0.1, 0.2, 0.3, 0.5)


def extract(text: str, **changed: object) -> JsonObject | None:
    return rules.extract(turn(text).model_copy(update=changed))


def state(text: str) -> JsonObject:
    plan = extract(text)
    assert plan is not None, text
    (update,) = plan["state_updates"]
    found: JsonObject = update
    return found


@pytest.mark.parametrize(
    ("language", "rule"), RULES, ids=[f"{rule.kind}: {rule.example}" for _, rule in RULES]
)
def test_each_rule_finds_its_example_and_no_other_rule_does(language: Language, rule: Rule) -> None:
    (found,) = language.find(rule.example)
    assert found.rule == rule
    assert found.value == (rule.finds or found.value)
    assert rules.language_of(rule.example) is language


@pytest.mark.parametrize("rule", [rule for _, rule in RULES], ids=lambda rule: rule.example)
def test_the_plan_of_each_example_validates(rule: Rule) -> None:
    plan = rules.extract(turn(rule.example), affect=lambda text: CALM)
    assert plan is not None
    made = WritePlan.model_validate(plan)
    assert (made.extractor.name, made.extractor.version) == (rules.NAME, rules.VERSION)
    assert made.event_id == "e1"
    assert bool(made.event_affect) == (rule.kind == "feeling")
    for update in made.state_updates:
        assert update.payload
        assert update.payload["evidence"] == rule.example
        assert update.evidence_event_ids == ["e1"]
        assert update.op == "upsert"
        assert update.valid_from is not None
        assert update.valid_from <= made.occurred_at
        assert update.body_text
        assert update.reason == f'said: "{rule.example}"'
    assert bool(made.ends) == bool(rule.ends)
    for end in made.ends:
        assert end.evidence_event_ids == ["e1"]
        assert end.at is not None
        assert end.at <= made.occurred_at
    ops = [preference.op for preference in made.preference_updates]
    assert ops in ([], ["confirm"], ["upsert_candidate", "revoke", "confirm"])
    for preference in made.preference_updates:
        assert preference.note == rule.example
        assert preference.reason == f'said: "{rule.example}"'


def test_a_reason_is_what_the_user_said_and_never_a_rules_example() -> None:
    plan = extract("Hello there! \x1b By the way, I live in Porto\u202e! How are you?")
    (update,) = (plan or {})["state_updates"]
    assert update["reason"] == 'said: "By the way, I live in Porto !"'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I moved.", 'said: "I moved."'),
        ("I\tmoved\r\n to\x00 York", 'said: "I moved to York"'),
        ("[image: a red door] I moved", 'said: "I moved"'),
        ("a" * 150 + ". " + "b" * 150, 'said: "' + "a" * 150 + '."'),
        ("word " * 60, 'said: "' + ("word " * 38).rstrip() + '…"'),
        ("\u5bb6" * 300, 'said: "' + "\u5bb6" * 191 + '…"'),
    ],
)
def test_a_quotation_is_one_short_line_cut_at_a_sentence_or_a_word(text: str, reason: str) -> None:
    assert quoted(text) == reason
    assert len(reason) <= 200 and reason.isprintable()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("user_id", None),
        ("status", "running"),
        ("source", "notification"),
        ("source", "reminder"),
        ("source", "desktop_watch"),
        ("source", "vision_detail"),
        ("source", "meta_proactive"),
        ("source", "meta_request"),
    ],
)
def test_only_an_ended_chat_turn_of_a_known_user_counts(field: str, value: object) -> None:
    assert extract("I live in Porto.") is not None
    assert extract("I live in Porto.", **{field: value}) is None


@pytest.mark.parametrize(
    "text",
    [
        "> I live in Porto.\nWhat do you make of that?",
        "```\nI live in Porto.\n```",
        "```\nI live in Porto.",
        'She said "I live in Porto." and left.',
        "Here is what Anna wrote:\nI live in Porto. My name is Anna.",
        "Translate into French. I live in Porto.",
        "If I live in Porto, I save money.",
        "You said I live in Porto.",
        "Do I live in Porto?",
        "他说我住在上海。",
        "如果我住在上海，我就不买车。",
        "把这句话翻译成英文：我住在上海。",
        "「札幌に住んでいます」と書いてあります。",
        "もし札幌に住んでいたら楽しいのに。",
        "英語に訳して。札幌に住んでいます。",
        "»Ich wohne in Berlin« ist der Titel meines Aufsatzes.",
        "Ich bin gerade beim Arzt.",
        "Ich bin mit meinem Anwalt unterwegs.",
        "Ich bin nicht dein Lehrer.",
        "Ich mag nicht mehr aufstehen.",
        "J'aime pas trop quand il crie.",
        "Tu peux m'appeler demain.",
        "Appelle-moi quand tu peux.",
        "Moi, c'est le contraire.",
        "Puedes llamarme mañana.",
        "Llámame cuando puedas.",
        "Puedes llamarme por teléfono.",
        "",
    ],
)
def test_what_is_not_the_users_own_statement_is_no_evidence(text: str) -> None:
    assert extract(text) is None


def test_what_the_assistant_says_is_no_evidence() -> None:
    assert extract("Thanks.", agent_answer="I live in Porto. My name is Anna.") is None


def test_a_slot_keeps_its_id_so_that_a_later_value_replaces_it() -> None:
    first, second = (
        state("I live in Porto."),
        state("I don't live in Porto any more, I live in Rome."),
    )
    assert first["state_id"] == second["state_id"]
    assert (second["payload"]["corrects"], second["payload"]["value"]) == ("Porto", "Rome")
    assert first["payload"]["corrects"] is None


def test_what_a_like_takes_the_place_of_is_revoked_after_it_was_made_known() -> None:
    plan = extract("I don't drink coffee any more, I prefer green tea.")
    assert plan is not None
    changes = [(one["op"], one["subject"]) for one in plan["preference_updates"]]
    assert changes == [
        ("upsert_candidate", "coffee"),
        ("revoke", "coffee"),
        ("confirm", "green tea"),
    ]


def test_a_favourite_is_a_state_too_and_topics_meet_across_languages() -> None:
    english, japanese = state("My favourite drink is tea."), state("好きな飲み物は緑茶です。")
    assert english["state_id"] == japanese["state_id"]


def test_a_favourite_is_one_state_and_other_likes_are_preferences() -> None:
    tea, coffee = state("My favourite drink is tea."), state("My favourite drink is coffee.")
    assert tea["state_id"] == coffee["state_id"]
    assert tea["state_id"] != state("My favourite colour is tea.")["state_id"]
    plan = extract("I love tea.")
    assert plan is not None
    assert "state_updates" not in plan
    (like,) = plan["preference_updates"]
    assert (like["subject"], like["polarity"]) == ("tea", "like")


@pytest.mark.parametrize(
    ("told", "done"),
    [
        ("I need to submit the grant report by Friday.", "I finished the grant report."),
        ("月底前要交季度报告。", "季度报告终于写完了。"),
        ("金曜までに奨学金の書類を出さないといけない。", "奨学金の書類、提出しました。"),
    ],
)
def test_a_task_and_its_completion_are_one_state(told: str, done: str) -> None:
    open_, closed = state(told), state(done)
    assert (open_["kind"], closed["kind"]) == ("task", "task")
    assert open_["state_id"] == closed["state_id"]
    assert (open_["payload"]["status"], closed["payload"]["status"]) == ("open", "done")


def test_a_decision_keeps_its_rationale() -> None:
    decision = state("We've decided to use Postgres because it handles JSON well.")
    assert decision["payload"]["category"] == "decision"
    assert decision["payload"]["rationale"] == "it handles JSON well"


@pytest.mark.parametrize(
    ("told", "corrected", "slot"),
    [
        ("I'm 53.", "I'm 35, not 53.", "age"),
        ("I live in Oslo.", "I actually live in Bergen, not Oslo.", "home"),
        ("I no longer work at Shell, I'm at Acme now.", "I work at Globex, not Acme.", "employer"),
        ("Let's use MySQL because we know it.", "We switched from MySQL to Postgres.", None),
        ("We've decided to go with MySQL.", "We switched from MySQL to Postgres.", None),
    ],
)
def test_a_correction_takes_the_place_of_what_it_corrects(
    told: str, corrected: str, slot: str | None
) -> None:
    before, after = state(told), state(corrected)
    assert before["state_id"] == after["state_id"]
    assert after["payload"].get("slot") == slot
    assert after["payload"]["corrects"] in told


def test_a_switch_leaves_other_decisions_alone() -> None:
    switched = state("We switched from MySQL to Postgres.")
    for other in (
        "Let's use MySQL Workbench because it is free.",
        "Let's use Redis because it is fast.",
    ):
        assert state(other)["state_id"] != switched["state_id"]


def test_a_correction_of_no_topic_ends_no_decision() -> None:
    decided = state("Let's go with Tuesday because it is quiet.")
    assert state("It's actually Thursday, not Tuesday.")["state_id"] != decided["state_id"]


def test_an_event_id_in_two_sessions_gives_two_plans() -> None:
    """Turns are told apart per session, so ids may meet between sessions."""
    one, two = (extract("I live in Porto.", session_id=name) for name in ("s1", "s2"))
    assert one is not None
    assert two is not None
    assert one["plan_id"] != two["plan_id"]
    assert one["state_updates"][0]["state_id"] == two["state_updates"][0]["state_id"]


def test_ids_depend_on_tenant_user_and_event() -> None:
    plans = [
        extract("I live in Porto.", **changed)
        for changed in ({}, {"event_id": "e2"}, {"tenant": "t2"}, {"user_id": "u2"})
    ]
    assert len({plan["plan_id"] for plan in plans if plan}) == 3, "a user's event is the tenant's"
    states = [plan["state_updates"][0]["state_id"] for plan in plans if plan]
    assert states[0] == states[1]
    assert len(set(states)) == 3


def test_a_feeling_is_a_moment_only_where_somebody_estimates_it() -> None:
    text = "I'm so happy today!"
    assert extract(text) is None
    assert rules.extract(turn(text), affect=lambda said: None) is None
    plan = rules.extract(turn(text), affect=lambda said: CALM)
    assert plan is not None
    assert plan["event_affect"] == {
        "text": text,
        "labels": ["joy"],
        "vad": {"v": 0.1, "a": 0.2, "d": 0.3},
        "confidence": 0.5,
    }
    assert rules.extract(turn("The train leaves at six."), affect=lambda said: CALM) is None


def test_the_evidence_is_the_sentence_as_the_user_wrote_it() -> None:
    text = "Hi there! By the way, I’m allergic to Brazil Nuts. Thanks!"
    found = state(text)
    assert found["payload"]["evidence"] == "By the way, I’m allergic to Brazil Nuts."
    (one,) = extractions(extract(text))
    assert one.value == "Brazil Nuts"


LONG = "It was a long day, and nothing of it went as it should have gone. " * 4


@pytest.mark.parametrize(
    "text",
    [
        f'My colleague answered: "{LONG}I live in Paris. I am allergic to nuts."',
        f'My colleague answered: "{LONG}\nI live in Paris.\n\nI am allergic to nuts."',
        f'My colleague answered: "{LONG}I live in Paris.\nI am allergic to nuts.',
        f"My colleague answered: “{LONG}I live in Paris. I am allergic to nuts.”",
        f"My colleague answered: “{LONG}I live in Paris.\nI am allergic to nuts.",
        f"My colleague answered: '{LONG}I live in Paris. I'm allergic to nuts.'",
        f'He began: "{LONG}\n\nThen she said: "I live in Paris. I am allergic to nuts."',
        "同事回复：“" + "今天事情很多。" * 40 + "我住在上海。我对花生过敏。”",
        "同僚の返事：「" + "今日は忙しかった。" * 40 + "札幌に住んでいます。",
    ],
)
def test_a_quotation_is_not_evidence_however_long(text: str) -> None:
    assert extract(text) is None


def test_what_follows_a_quotation_is_the_users_own() -> None:
    assert extract('Anna says "no". I live in Porto.') is not None
    assert extract('He began: "and so\n\nI live in Porto.') is not None, "a paragraph of its own"


@pytest.mark.parametrize("mark", ['"', '" ', ' "a', "“", "「 ", "'a ", "`", '"\n\n', "“\n\n"])
def test_marks_that_close_nothing_cost_little(mark: str) -> None:
    text = "I live in Porto. " + mark * ((rules.MAX_TEXT - 20) // len(mark))
    began = time.process_time()
    extract(text)
    assert time.process_time() - began < 1
