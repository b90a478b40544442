"""What somebody tells and takes back in words: none of it is current afterwards, in any order."""

import random

import pytest

from schemas.base import JsonObject, format_time, parse_time
from schemas.time import HOUR
from streams.extractors import rules
from tests.acceptance.utterances import turn
from tests.unit.memory_told import Memory

START = parse_time("2026-03-01T09:00:00Z")
ENGLISH = (  # what is told, and what takes it back
    ("I live in Lisbon.", "I no longer live in Lisbon."),
    ("I work at Acme.", "I quit my job at Acme last week."),
    ("I'm a nurse.", "I'm not a nurse any more."),
    ("I'm studying marine biology.", "I dropped out of marine biology."),
    ("I have a red motorbike.", "I sold my motorbike."),
    ("I have a golden retriever named Hugo.", "My golden retriever passed away."),
    ("My girlfriend is called Anna.", "Anna and I broke up with each other, I mean we broke up."),
    ("I'm engaged.", "We called off the engagement."),
    ("I'm vegetarian.", "I'm no longer vegetarian."),
    ("I'm allergic to cats.", "Turns out I'm not allergic to cats any more."),
    ("I don't eat meat.", "I eat meat again."),
    ("I play tennis.", "I don't play tennis any more."),
    ("I swim twice a week.", "I stopped swimming."),
    ("I usually read novels before bed.", "I no longer read novels."),
    ("I love black coffee.", "I gave up coffee."),
    ("I'm into chess.", "I'm not into chess any more."),
    ("I really enjoy horror films.", "I no longer enjoy horror films."),
    ("I'm learning the cello.", "I gave up on the cello."),
    ("I've been volunteering at the animal shelter.", "I stopped volunteering at the shelter."),
    ("I'm planning to open a bakery.", "I changed my mind about the bakery."),
    ("We're going to Rome next month.", "We cancelled our trip to Rome."),
    ("I want to learn Portuguese.", "I gave up learning Portuguese."),
    ("My goal is to run a marathon.", "I gave up on the marathon."),
    ("I need to renew my passport by Friday.", "I no longer need to renew my passport."),
    ("I own a small boat.", "We got rid of the boat."),
    ("I have asthma.", "I no longer have asthma."),
    ("I'm taking a pottery class.", "I dropped out of the pottery class."),
    ("I go by Sammy.", "I don't go by Sammy any more."),
    ("My sister is vegan.", "My sister is no longer vegan."),
    ("I collect stamps.", "I stopped collecting stamps."),
    ("I hate cilantro.", "I no longer hate cilantro."),
    ("I have two cats.", "I don't have the cats any more."),
)
CHINESE = (
    ("我住在上海。", "我不住在上海了。"),
    ("我在腾讯工作。", "我辞职了。"),
    ("我是护士。", "我不做护士了。"),
    ("我在学西班牙语。", "我不学西班牙语了。"),
    ("我有一辆旧摩托车。", "我把摩托车卖了。"),
    ("我家狗叫旺财。", "我家狗上个月走了。"),
    ("我女朋友是东北人。", "我跟女朋友分手了。"),
    ("我们去年领证了。", "我们离婚了。"),
    ("我吃素三年了。", "我不吃素了。"),
    ("我对花生过敏。", "我对花生不再过敏了。"),
    ("我不吃牛肉。", "我又开始吃牛肉了。"),
    ("我每周打三次网球。", "我不打网球了。"),
    ("我特别喜欢喝咖啡。", "我不再喝咖啡了。"),
    ("我迷上了拼豆。", "我对拼豆没兴趣了。"),
    ("我弹吉他弹了十年。", "吉他我早就不弹了。"),
    ("我讨厌香菜。", "我不讨厌香菜了。"),
    ("我想开一家书店。", "我放弃了书店。"),
    ("我打算明年去西藏。", "我们去西藏的行程取消了。"),
    ("我想学潜水。", "我不打算学潜水了。"),
    ("我有耳鸣。", "我的耳鸣好了。"),
    ("我妹妹吃素。", "我妹妹不再吃素了。"),
    ("我爷爷是老师。", "我爷爷去世了。"),
    ("我养了一只猫。", "我的猫去世了。"),
    ("我在备考雅思。", "我放弃了雅思。"),
)
JAPANESE = (
    ("札幌に住んでいます。", "もう札幌には住んでいません。"),
    ("トヨタで働いています。", "会社を辞めました。"),
    ("私は看護師です。", "もう看護師じゃないです。"),
    ("簿記の勉強をしています。", "簿記はもう勉強していません。"),
    ("中古のバイクを買いました。", "バイクを手放しました。"),
    ("彼女とは付き合って3年になります。", "彼女と別れました。"),
    ("父は三年前に入院しました。", "父が亡くなりました。"),
    ("私はベジタリアンです。", "もうベジタリアンじゃないです。"),
    ("卵アレルギーがあります。", "卵のアレルギーは治りました。"),
    ("花粉症がつらいです。", "花粉症が治りました。"),
    ("妹はヴィーガンです。", "妹はもうヴィーガンじゃない。"),
    ("毎週日曜にフットサルをしています。", "フットサルはもうやってないです。"),
    ("コーヒーが大好きです。", "コーヒーをやめました。"),
    ("編み物にハマってます。", "もう編み物に飽きちゃった。"),
    ("パクチーが苦手です。", "もうパクチーは苦手じゃないです。"),
    ("ピアノを20年弾いてます。", "もうピアノは弾いてません。"),
    ("韓国語を習いたいと思ってる。", "韓国語は諦めました。"),
    ("来月ハワイに行く予定です。", "ハワイ旅行はキャンセルしました。"),
    ("いつか自分のカフェを開きたい。", "カフェの夢は諦めました。"),
    ("マイホームのために貯金中です。", "マイホームは諦めました。"),
    ("猫を飼っています。", "猫が亡くなりました。"),
    ("糖質を控えてます。", "糖質制限をやめました。"),
)


def plans(pairs: tuple[tuple[str, str], ...]) -> list[JsonObject]:
    """The plans of a conversation: first all is told, then all is taken back, hour by hour."""
    said = [told for told, _ in pairs] + [back for _, back in pairs]
    made = []
    for number, text in enumerate(said):
        at = format_time(START + number * HOUR)
        one = turn(text, f"e{number}").model_copy(update={"occurred_at": parse_time(at)})
        plan = rules.extract(one)
        assert plan is not None, text
        made.append(plan)
    return made


def current(memory: Memory) -> list[str]:
    """What stands, but for what happened: that stays true."""
    facts = [
        state["body_text"]
        for state in memory.states().values()
        if state["status"] != "closed" and state["payload"].get("family") != "event"
    ]
    likes = memory.preferences().items()
    return facts + [f"{of}: {what}" for (of, what), status in likes if status == "confirmed"]


def remembered(made: list[JsonObject]) -> Memory:
    memory = Memory()
    for plan in made:
        memory.give(plan)
    return memory


@pytest.mark.parametrize("pairs", [ENGLISH, CHINESE, JAPANESE], ids=["en", "zh", "ja"])
def test_nothing_that_was_taken_back_is_current(pairs: tuple[tuple[str, str], ...]) -> None:
    made = plans(pairs)
    told = current(remembered(made[: len(pairs)]))
    assert len(told) >= len(pairs)
    assert current(remembered(made)) == []


def test_thirty_facts_are_told() -> None:
    assert len(ENGLISH) >= 30


def test_the_order_in_which_they_arrive_makes_no_difference() -> None:
    made = plans(ENGLISH)
    for seed in range(5):
        random.Random(seed).shuffle(made)
        assert current(remembered(made)) == []


@pytest.mark.parametrize("number", range(len(ENGLISH)), ids=[back for _, back in ENGLISH])
def test_one_retraction_leaves_the_rest_as_it_was(number: int) -> None:
    """A retraction ends at most a like, a favourite and a fact of the same thing."""
    made = plans(ENGLISH)
    told = made[: len(ENGLISH)]
    before = set(current(remembered(told)))
    after = set(current(remembered([*told, made[len(ENGLISH) + number]])))
    assert 1 <= len(before - after) <= 2, before - after
