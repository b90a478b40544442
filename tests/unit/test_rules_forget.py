"""What a user asks to forget ends, in their own words; other texts with such words end nothing."""

import pytest

from streams.extractors import rules
from tests.acceptance.utterances import turn
from tests.unit.test_rules_kept import current

ASKED = {
    "I live in Oslo.": (
        "Forget that I live in Oslo.",
        "forget I live in Oslo",
        "Please forget that I live in Oslo.",
        "Can you forget that I live in Oslo?",
        "Could you please forget where I live?",
        "Forget where I live.",
        "Forget my address.",
        "Delete the fact that I live in Oslo.",
        "Remove that I live in Oslo from your memory.",
        "Please remove my home from your memory.",
        "I want you to forget that I live in Oslo.",
        "I'd like you to forget that I live in Oslo.",
        "You can forget that I live in Oslo now.",
        "Erase the memory that I live in Oslo.",
        "Please stop remembering that I live in Oslo",
        "Hey, forget that I live in Oslo, ok?",
        "Forget that I live in Oslo please",
    ),
    "I'm allergic to peanuts.": (
        "Forget that I'm allergic to peanuts.",
        "Forget my peanut allergy.",
        "Please delete my peanut allergy.",
        "Forget about my allergy to peanuts.",
        "Forget I have a peanut allergy.",
        "Forget peanuts please",
    ),
    "I love jazz.": (
        "Forget that I like jazz.",
        "Forget that I love jazz",
        "forget jazz",
        "Please forget about jazz.",
        "Delete jazz from your memory.",
    ),
    "My name is Bob.": (
        "Forget my name.",
        "Please forget that my name is Bob.",
    ),
    "I have a dog called Rex.": (
        "Forget that I have a dog.",
        "Forget my dog.",
        "Forget that my dog is called Rex.",
    ),
    "My wife is called Ana.": (
        "Forget my wife's name.",
        "Forget that my wife is called Ana.",
    ),
    "I work at Acme.": (
        "Forget where I work.",
        "Forget that I work at Acme.",
        "Forget my job.",
        "Forget Acme.",
    ),
    "I'm vegan.": (
        "Forget that I'm vegan.",
        "Forget my diet.",
    ),
    "Always answer in French.": (),
    "我住在上海。": (
        "忘记我住在上海。",
        "请忘记我住在上海",
        "忘掉我住在上海这件事",
        "把我住在上海这件事忘了吧",
        "请忘记我住在上海的事",
        "你可以忘了我住在上海",
        "别记得我住在上海",
        "请删除我住在上海的记忆",
        "忘了我住哪里",
        "把我的住址忘掉",
        "麻烦忘记一下我住在上海。",
        "希望你忘记我住在上海。",
        "我希望你忘掉我住在上海",
        "忘记我说过我住在上海",
    ),
    "我对花生过敏。": (
        "忘记我对花生过敏。",
        "忘了我花生过敏的事",
    ),
    "我喜欢爵士乐。": (
        "忘记我喜欢爵士乐。",
        "把我喜欢爵士乐这件事忘掉。",
        "忘掉爵士乐",
        "请忘记爵士乐。",
        "把爵士乐忘了吧",
    ),
    "我叫李明。": (
        "忘记我的名字。",
        "忘记我叫李明。",
    ),
    "我家狗叫旺财。": ("忘记我家狗叫旺财。",),
    "大阪に住んでいます。": (
        "大阪に住んでいることは忘れて。",
        "私が大阪に住んでいることは忘れて。",
        "大阪に住んでいることを忘れてください。",
        "大阪に住んでいるのは忘れて",
        "大阪に住んでいるってことは忘れてください",
        "住んでいる場所は忘れて。",
        "大阪在住だということは忘れて",
        "大阪に住んでいるという話は忘れてもらえますか。",
        "大阪に住んでいることを記憶から消してください",
        "大阪に住んでるって忘れて",
    ),
    "コーヒーが好きです。": (
        "私がコーヒーが好きなことは忘れて。",
        "コーヒーが好きなことを忘れてください。",
        "コーヒーは忘れて",
        "コーヒーのことは忘れてください。",
    ),
    "卵アレルギーがあります。": (
        "卵アレルギーがあることは忘れて。",
        "卵アレルギーのことは忘れてください",
    ),
    "私の名前は由紀です。": ("私の名前は忘れて。",),
    "Ich wohne in Berlin.": (
        "Vergiss, dass ich in Berlin wohne.",
        "Vergiss bitte, dass ich in Berlin wohne.",
        "Bitte vergiss, dass ich in Berlin wohne.",
        "Lösche, dass ich in Berlin wohne.",
        "Vergiss, wo ich wohne.",
        "Kannst du vergessen, dass ich in Berlin wohne?",
        "Vergessen Sie, dass ich in Berlin wohne.",
    ),
    "Ich bin allergisch gegen Nüsse.": (
        "Vergiss, dass ich gegen Nüsse allergisch bin.",
        "Vergiss, dass ich allergisch gegen Nüsse bin.",
    ),
    "Ich mag Jazz.": ("Vergiss, dass ich Jazz mag.", "Vergiss Jazz.", "Bitte vergiss Jazz"),
    "Ich bin Veganer.": ("Vergiss, dass ich Veganer bin.",),
    "J'habite à Lyon.": (
        "Oublie que j'habite à Lyon.",
        "S'il te plaît, oublie que j'habite à Lyon.",
        "Oublie que j'habite à Lyon, s'il te plaît.",
        "Oublie où j'habite.",
        "Efface que j'habite à Lyon.",
        "Peux-tu oublier que j'habite à Lyon ?",
        "Oubliez que j'habite à Lyon.",
        "Tu peux oublier que j'habite à Lyon.",
    ),
    "J'aime le jazz.": ("Oublie que j'aime le jazz.", "Oublie le jazz."),
    "Je suis allergique aux noix.": ("Oublie que je suis allergique aux noix.",),
    "Vivo en Madrid.": (
        "Olvida que vivo en Madrid.",
        "Por favor, olvida que vivo en Madrid.",
        "Olvida que vivo en Madrid, por favor.",
        "Olvida dónde vivo.",
        "Borra que vivo en Madrid.",
        "¿Puedes olvidar que vivo en Madrid?",
        "Olvídate de que vivo en Madrid.",
        "Olvide que vivo en Madrid.",
    ),
    "Me gusta el jazz.": ("Olvida que me gusta el jazz.", "Olvida el jazz, por favor."),
    "Soy alérgico a las nueces.": ("Olvida que soy alérgico a las nueces.",),
}
"""What was said -> ways to ask that it be forgotten."""
NOT_ASKED = {
    "I love jazz.": (
        "Forget jazz, what about the weather?",
        "Forget it.",
        "Forget the jazz club. Book the cinema.",
        "Don't forget jazz.",
        "I forget jazz",
    ),
    "我喜欢爵士乐。": ("别忘了爵士乐", "我忘了爵士乐", "忘了爵士乐的名字"),
    "コーヒーが好きです。": ("コーヒーを忘れた", "コーヒーは忘れてない"),
    "I live in Oslo.": (
        "Don't forget that I live in Oslo.",
        "Never forget that I live in Oslo.",
        "Did you forget that I live in Oslo?",
        "You forgot that I live in Oslo.",
        "Forget that I live in Rome.",
        "I often forget that I live in Oslo.",
        "Forget that I like jazz.",
        "I can't forget where I live.",
        "She told me to forget that I live in Oslo.",
        "I'll never forget my home.",
        "If I move, forget that I live in Oslo.",
        "Forget about it, I live in Oslo.",
        "Do not forget my address.",
        "Delete my last message, I live in Oslo.",
        "Remove my old photo, please. I live in Oslo.",
        "Forget my appointment.",
        "Forget where we parked.",
        "Delete my account.",
    ),
    "我住在上海。": (
        "别忘了我住在上海。",
        "不要忘记我住在上海。",
        "你忘记我住在上海了吗？",
        "忘记我住在北京。",
        "我总是忘记我住在上海",
        "请勿忘记我住在上海",
        "如果我搬家就忘记我住在上海",
        "删掉我昨天发的图片。",
    ),
    "大阪に住んでいます。": (
        "大阪に住んでいることを忘れないで。",
        "大阪に住んでいることは忘れてないよね？",
        "京都に住んでいることは忘れて。",
        "大阪に住んでいることを忘れてた。",
        "大阪に住んでいることを忘れていませんか",
        "その予定は忘れて。",
    ),
    "Ich wohne in Berlin.": (
        "Vergiss nicht, dass ich in Berlin wohne.",
        "Hast du vergessen, dass ich in Berlin wohne?",
        "Vergiss, dass ich in Bonn wohne.",
        "Vergiss, dass ich müde bin.",
        "Lösche meine letzte Nachricht.",
    ),
    "J'habite à Lyon.": (
        "N'oublie pas que j'habite à Lyon.",
        "As-tu oublié que j'habite à Lyon ?",
        "Oublie que j'habite à Nice.",
        "Tu oublies que j'habite à Lyon.",
        "Efface mon dernier message.",
    ),
    "Vivo en Madrid.": (
        "No olvides que vivo en Madrid.",
        "¿Olvidaste que vivo en Madrid?",
        "Olvida que vivo en Lugo.",
        "Nunca olvides que vivo en Madrid.",
        "Borra mi último mensaje, vivo en Madrid.",
        "Olvida el plan.",
    ),
}
"""What was said -> what must not end it."""


@pytest.mark.parametrize(("said", "asked"), [(one, way) for one in ASKED for way in ASKED[one]])
def test_what_a_user_asks_to_forget_ends_with_the_sentence_as_reason(said: str, asked: str) -> None:
    assert current(said) and current(said, asked) == []
    plan = rules.extract(turn(asked, "e"))
    assert plan is not None
    for end in plan["ends"]:
        sentence = end["reason"].removeprefix('said: "').removesuffix('"')
        assert len(sentence) > len(asked) / 2 and sentence in asked


@pytest.mark.parametrize(
    ("said", "other"), [(one, text) for one in NOT_ASKED for text in NOT_ASKED[one]]
)
def test_all_else_ends_nothing(said: str, other: str) -> None:
    assert current(said, other) == current(said)


@pytest.mark.parametrize("asked", [way for ways in ASKED.values() for way in ways])
def test_an_end_without_a_match_ends_nothing(asked: str) -> None:
    assert current("I own a kayak.", asked) == current("I own a kayak.")
