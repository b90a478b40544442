"""What the rules keep of a turn and what they leave: private turns, text of others, ends, changes."""

# ruff: noqa: E501 - a sentence is one line

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from schemas.base import JsonObject
from streams.extractors import rules
from streams.extractors.do_not_store import is_private
from tests.acceptance.utterances import turn
from tests.unit.memory_told import Memory

PRIVATE = (
    "Please don't store this, but I'm pregnant.",
    "Off the record: I'm leaving Acme.",
    "Between us, I hate my job.",
    "Don't remember that.",
    "Keep this to yourself.",
    "Do not save this message.",
    "This is just between you and me.",
    "Please forget what I just told you.",
    "Don't write this down, I have cancer.",
    "I'd rather you didn't keep this.",
    "Not for the record, I live in Oslo.",
    "Keep it private: my name is Anna.",
    "Don't tell anyone, but I'm gay.",
    "Don't keep a record of this.",
    "This stays between us.",
    "No need to remember this.",
    "You shouldn't store what I'm about to say.",
    "In confidence: I have HIV.",
    "Don't put this in your memory.",
    "Please keep that confidential.",
    "Leave this out of your memory.",
    "Don't log this please",
    "this should not be saved",
    "For your ears only: I got fired.",
    "don't add this to my profile",
    "Never save this.",
    "Don't make a note of this",
    "Let's keep this between us.",
    "don't memorize this",
    "Please don't keep track of this",
    "strictly confidential: I am ill",
    "Don't hold on to this",
    "I don't want this saved anywhere.",
    "I don't want you to remember this",
    "this isn't for your memory",
    "not to be remembered: I'm gay",
    "I'm telling you this in secret",
    "Don't commit this to memory",
    "Please treat this as confidential",
    "Nobody needs to know, but I drink.",
    "这个别记：我怀孕了。",
    "不要保存这条，我离婚了。",
    "别存这个。",
    "这是秘密，我有抑郁症。",
    "私下跟你说，我要辞职。",
    "请不要记住这件事。",
    "这话别往外说，我住在北京。",
    "只有你我知道。",
    "别告诉别人，我怀孕了。",
    "不用记下来，我对花生过敏。",
    "请保密。",
    "咱俩之间说说。",
    "别把这个写进记忆。",
    "这条消息不要记录。",
    "听过就忘了吧。",
    "不要留下记录",
    "不要存档",
    "悄悄告诉你，我怀孕了",
    "这个就不要记了",
    "不希望你记住这些",
    "你知我知",
    "请别记录我接下来说的",
    "这段话别保存",
    "不要把这件事记下来",
    "仅限我们之间",
    "これは覚えないでください。",
    "保存しないで。",
    "ここだけの話、妊娠しています。",
    "内緒だけど、転職します。",
    "オフレコで。",
    "記録しないでください、離婚しました。",
    "誰にも言わないで。",
    "これは記憶しなくていいです。",
    "秘密にしてね。",
    "メモしないで。",
    "他言無用でお願いします。",
    "残さないでください。",
    "二人だけの秘密だよ。",
    "このことは忘れてください。",
    "これは記録に残さないで",
    "覚えておかなくていいよ",
    "聞かなかったことにして",
    "今の話は保存しないでほしい",
    "ログに残さないで",
    "ここだけの秘密ね",
    "人には言わないで",
    "記憶に留めないで",
    "これは口外しないで",
    "保存はしないでください",
    "ないしょだよ",
    "Speichere das bitte nicht.",
    "Merk dir das nicht.",
    "Unter uns: ich kündige.",
    "Im Vertrauen, ich bin schwanger.",
    "Das bleibt unter uns.",
    "Behalte das für dich.",
    "Bitte nicht speichern.",
    "Erzähl das niemandem.",
    "Notier das nicht.",
    "Vertraulich: ich bin krank.",
    "Das ist nicht fürs Protokoll.",
    "Schreib das nicht auf.",
    "Ganz unter uns, ich trinke.",
    "Das musst du dir nicht merken.",
    "Inoffiziell gesagt, ich ziehe um.",
    "Sag es keinem weiter.",
    "Vergiss das gleich wieder.",
    "Das sollst du nicht speichern",
    "Heb das nicht auf",
    "Das bleibt bitte geheim",
    "Ne retiens pas ça.",
    "N'enregistre pas ça, s'il te plaît.",
    "Entre nous, je démissionne.",
    "Garde ça pour toi.",
    "Ne le note pas.",
    "C'est confidentiel.",
    "Ça reste entre nous.",
    "En toute confidence, je suis enceinte.",
    "Ne sauvegarde pas ce message.",
    "Hors micro : je pars.",
    "Ne dis ça à personne.",
    "Ne mémorise pas ça.",
    "Oublie ce que je viens de dire.",
    "Inutile de retenir ça.",
    "Que ça reste entre toi et moi.",
    "Ne garde pas ça en mémoire.",
    "C'est un secret.",
    "Ne conserve pas cette information",
    "Merci de ne pas enregistrer ceci",
    "À ne pas noter : je divorce",
    "N'en parle à personne",
    "No guardes esto.",
    "No lo recuerdes, por favor.",
    "Entre nosotros, odio mi trabajo.",
    "Que quede entre nosotros.",
    "No anotes esto.",
    "En confianza, estoy embarazada.",
    "Es un secreto.",
    "No le digas a nadie.",
    "Extraoficialmente, me voy.",
    "No registres esto.",
    "No memorices eso.",
    "Esto es confidencial.",
    "Guárdame el secreto.",
    "No hace falta que lo recuerdes.",
    "No apuntes esto.",
    "No se lo cuentes a nadie.",
    "Prefiero que no lo guardes.",
    "Olvida lo que te dije.",
    "Entre tú y yo, bebo mucho.",
    "No almacenes este mensaje.",
    "Esto queda entre tú y yo",
    "No quiero que guardes esto",
    "Mantén esto en secreto",
)
KEPT = (
    "Don't forget that I'm vegan.",
    "Remember this: I live in Oslo.",
    "Keep it short.",
    "I don't remember that song.",
    "I can't keep this up.",
    "I never said that.",
    "Don't write it like that.",
    "Don't tell me it is late.",
    "What is the difference between us and them?",
    "Save this for later.",
    "Please note that I'm allergic to nuts.",
    "Keep that in mind.",
    "don't keep it from me",
    "I don't remember it well",
    "Record this: I moved to Bonn.",
    "never mind",
    "I don't note anything",
    "Stop writing that way",
    "Don't save on quality",
    "I have no memory of it",
    "My secretary lives in Rome",
    "I love secrets",
    "Do not add it to the cart",
    "Don't put it in the oven",
    "别忘了我吃素。",
    "记住我住在上海。",
    "别担心。",
    "记得提醒我买牛奶。",
    "我不记得了。",
    "忘记我住在奥斯陆。",
    "覚えておいてください、卵アレルギーです。",
    "忘れないで。",
    "覚えていません。",
    "保存してください。",
    "Vergiss nicht, dass ich vegan bin.",
    "Merk dir das: ich bin Vegetarier.",
    "Ich kann mir Namen nicht merken.",
    "Unter uns wohnt eine Familie.",
    "N'oublie pas que je suis végétarien.",
    "Note que j'habite à Lyon.",
    "Entre nous il y a un mur.",
    "Il y a un mur entre nous et eux",
    "No olvides que soy vegano.",
    "Recuerda que vivo en Madrid.",
    "No recuerdo su nombre.",
    "Keep the change between us two classes separate",
    "I work in a bank between two parks",
    "There is a difference between us",
    "He shared a story",
    "Don't mention it",
    "It's a secret garden tour that I like",
    "I am a private tutor",
    "This is a private school I attend",
    "私は秘密を話しました",
    "会社には言わないつもりはない",
)
OTHERS = (
    "My boss just sent me this, how do I answer?\n\nI live in Madrid and I hate meetings.",
    "Can you summarise this?\n\nMy name is John. I work at Initech.",
    "> I live in Oslo\n> I'm vegan\nWhat do you think of his message?",
    'He wrote: "I\'m allergic to nuts and I live in Rome."',
    "From: bob@x.org\nTo: me\nSubject: hello\n\nI'm Bob and I live in Pisa.",
    "On Mon, 2 Mar 2025 at 10:00 Greta wrote:\nI live in Vienna.",
    "-----Original Message-----\nI moved to Bonn.",
    "Begin forwarded message:\n\nI'm vegan.",
    "My sister texted me: I quit my job.",
    "If I lived in Paris, I would be happy.",
    "Imagine I have two dogs.",
    "Let's say my name is Batman.",
    "I'm allergic to bad code, lol, just kidding.",
    "```\nname = 'I live in Oslo'\n# my name is Bob\n```",
    "Here's a cover letter draft, please fix the grammar:\nI am a nurse and I live in Leeds.",
    "Translate to German: I live in Berlin and I love beer.",
    "Write a poem that starts with I live in the sea.",
    "The character says: I have a cat called Tom.",
    "Rewrite this text: My name is Ann.",
    "Customer: I live in Lima.\nAgent: hello",
    "According to Tom, I'm a doctor.",
    "She said I'm a nurse.",
    "My friend Paul says he lives in Nice and is allergic to nuts.",
    "Lyrics: I love rock and roll.",
    "Suppose I work at Google. How much would I earn?",
    "What would happen if I quit my job?",
    "Review the following bio.\n\nI'm a chef in Lyon. I have three kids.",
    "This is an email from a customer. Reply to it.\nI'm a vegetarian and I live in Ghent.",
    "Context:\nI live in Quito.\n\nQuestion: where do I live?",
    "我朋友说他住在上海。",
    "帮我翻译一下这段话：我住在伦敦。",
    "客户来信：\n\n我叫王伟，我住在深圳。",
    "如果我住在巴黎就好了。",
    "他写道：“我对花生过敏。”",
    "友達が「東京に住んでいます」と言っていました。",
    "もし私が東京に住んでいたら。",
    "翻訳して：私は京都に住んでいます。",
    "お客様からのメッセージです。\n\n卵アレルギーがあります。",
    "Übersetze: Ich wohne in Bonn.",
    "Mein Chef schrieb: Ich wohne in Köln.",
    "Traduis : j'habite à Lyon.",
    "Voici le mail du client :\n\nJe m'appelle Luc et j'habite à Nice.",
    "Mi jefe me escribió esto:\n\nVivo en Madrid.",
    "Resume este texto: Me llamo Ana.",
    "my colleague sent this over, thoughts?\n\nI've been vegan for two years and I live in Malmo",
    "Can you check my friend's profile text?\nI'm Tom. I love jazz.",
    'What should I reply to this?\n"I live in Rome and I love you"',
    "A user on the forum posted: I'm diabetic and I live in Texas.",
    "I read a story where the hero says my name is Max.",
    "In the game I live in a castle and I have a dragon called Puff.",
    "Pretend you are me: my name is Zed.",
    "Grandpa always told me I'm a good cook.",
    "user: I live in Oslo\nassistant: nice",
    "My dad's email reads: I sold the house.",
    "Fix this sentence: I has two dogs.",
    "Review: I hate this restaurant. I live in Miami.",
)

FACTS = (  # what is told, what ends it
    (
        "I work at Acme.",
        (
            "I quit my job",
            "I was laid off",
            "I got fired",
            "I left Acme",
            "I resigned",
            "I handed in my notice",
        ),
    ),
    ("I live in Lisbon.", ("I moved out of Lisbon", "I left Lisbon for good")),
    ("I'm vegetarian.", ("I stopped being vegetarian", "I gave up being vegetarian")),
    ("I have a dog called Rex.", ("Rex died", "My dog Rex passed away", "We had to put Rex down")),
    ("I own a small boat.", ("I sold my boat", "We got rid of the boat")),
    ("Remind me to call the plumber.", ("I called the plumber",)),
    ("I'm engaged.", ("We broke off the engagement",)),
)
MOST_WRONG = [("seen", 175, 23), ("fresh", 60, 2), ("unseen", 20, 13)]
"""How many dialogues leave a wrong fact. The rules were changed for the first two groups; `fresh` was
written before, and left 28 then."""
WITHOUT_SUBJECT = [
    (told, end.removeprefix("I ").removeprefix("We ").capitalize())
    for told, ends in FACTS
    for end in ends
    if end.startswith(("I ", "We ")) and " had to " not in end
]
BEFORE = ("After the winter", "Since the break-up", "Because of the rent", "Thanks to her")
SINCE = (
    (("I live in Madrid.", "I've been living in Seville since September."), ["Lives in Seville."]),
    (("I live in Madrid.", "I live in Seville since 2012."), ["Lives in Seville."]),
    (("I live in Seville since 2012.", "We moved to Bonn."), ["Lives in Bonn."]),
    (("I'm studying law.", "I have been studying botany since 2023."), ["Studies botany."]),
)
WHEN = (
    "",
    " yesterday",
    " last week",
    " this morning",
    " on Friday",
    " two weeks ago",
    " in January",
    " last month",
    " just now",
    " today",
)
CASES_OF_DATE = [
    (told, f"{before}{end}{after}.")
    for told, ends in FACTS
    for end, (before, after) in product(
        ends,
        [("", when) for when in WHEN]
        + [("Yesterday ", ""), ("Last week, ", ""), ("So, ", ""), ("Unfortunately ", "")],
    )
]
GOES_ON = (  # a sentence whose second clause has the subject of the first
    ("I still live in Leeds and work at Aire Bank.", ["Lives in Leeds.", "Works at Aire Bank."]),
    ("I live in Leeds, work at Acme, and have two cats.", ["Has two cats.", "Works at Acme."]),
    ("I love music and live in Leeds so let's begin there.", ["Lives in Leeds."]),
    ("Ich wohne in Kassel und arbeite bei Bosch.", ["Arbeitet bei Bosch.", "Wohnt in Kassel."]),
    ("J'habite à Lyon et travaille chez Airbus.", ["Habite à Lyon.", "Travaille chez Airbus."]),
    ("Vivo en Madrid y trabajo en Iberia.", ["Trabaja en Iberia.", "Vive en Madrid."]),
    ("我在深圳工作，是程序员。", ["用户在深圳工作。", "用户的职业：程序员。"]),
    ("横浜に住んでいて、銀行で働いています。", ["ユーザーは銀行で働いている。"]),
)
OF_ANOTHER = (  # the second clause has another subject, or is no statement
    "We're planning to ski, try the food, and enjoy the views.",
    "I want to move out and live in Leeds.",
    "I met my sister, who moved to York and works at Acme.",
    "I know a girl, she left Rome and have I told you that she works at Acme?",
    "我妈住在上海，在银行上班。",
    "娘は横浜に住んでいて、銀行で働いています。",
)
NO_FACTS = (  # words of a change, in which no fact of the user changes
    "Who did I see? Three kids.",
    "I've been with Tom since 2019.",
    "I found a place in Rome for dinner.",
    "We're taking a place in Rome for the summer.",
    "French is nicer.",
    "I made the move to manual transmission.",
    "My new apartment building in Rome is huge.",
    "I'm thirty minutes late.",
    "The tenant left a note: I'm allergic to nuts.",
)
CHANGES: tuple[
    tuple[tuple[str, ...], list[str]], ...
] = (  # a dialogue, what is current afterwards, what is not
    (("I live in Boston.", "I moved to Austin last week."), ["Lives in Austin."]),
    (("I work at Acme.", "I joined Globex."), ["Works at Globex."]),
    (("I work at Acme.", "I just started a new job at Globex."), ["Works at Globex."]),
    (("I'm a nurse.", "I'm a teacher now."), ["Is a teacher."]),
    (("I'm 34 years old.", "I turned 35 yesterday."), ["Is 35 years old."]),
    (("I'm 53.", "I'm 35, not 53."), ["Is 35 years old."]),
    (("My budget is 500 euros.", "We raised our budget to 800 euros."), ["Budget: 800 euros."]),
    (
        ("My favourite drink is coffee.", "My favourite drink is tea now, not coffee."),
        ["Favourite drink is tea."],
    ),
    (
        ("Always answer in French.", "Answer in English from now on."),
        ["Asks: Answer in English from now on."],
    ),
    (("Always answer in French.", "Stop answering in French."), []),
    (
        ("Never use bullet points.", "Always use bullet points."),
        ["Asks: Always use bullet points."],
    ),
    (("Remind me to buy milk.", "I bought milk."), []),
    (("Remind me to call mum.", "Cancel the reminder to call mum."), []),
    (("I live in Oslo.", "Forget that I live in Oslo."), []),
    (("I love jazz.", "Forget that I like jazz."), []),
    (
        (
            "I have a dog.",
            "I have a dog called Rex.",
            "My dog Rex is a beagle.",
            "My dog's name is Rex.",
        ),
        ["Has a dog called Rex."],
    ),
    (("I'm allergic to peanuts.", "I have a peanut allergy."), ["Has a peanut allergy."]),
    (("I live in Rome.", "I don't live in Rome any more, I live in Pisa."), ["Lives in Pisa."]),
    (("I live in Rome.", "What if I lived in Pisa?"), ["Lives in Rome."]),
    (("I live in Rome.", "My friend says he lives in Pisa."), ["Lives in Rome."]),
    (("I work at Acme.", "I want to quit my job."), ["Works at Acme."]),
    (("I work at Acme.", "I almost quit my job yesterday."), ["Works at Acme."]),
    (("I'm single.", "I got married last month."), ["Is married."]),
    (("My name is Bob.", "Call me Rob from now on."), ["Wants to be called Rob."]),
    (("My sister is vegan.", "My sister is no longer vegan."), []),
    (("My boyfriend is vegan.", "I'm vegetarian.", "We split up."), ["Is vegetarian."]),
    (("My girlfriend Ana is diabetic.", "Ana and I are getting divorced."), []),
    (("I'm a barista at Blue Door.", "Yesterday was my last shift at Blue Door."), []),
    (("My brother works at Bosch.", "My brother left Bosch in May."), []),
    (("My rent is 900 euros.", "They raised my rent."), []),
    (("My rent is 900 euros.", "My rent went up, it's 980 euros now."), ["Rent: 980 euros."]),
    (("Keep your answers short.", "You can write as long as you like."), []),
    (("Never use emojis.", "Emojis are welcome from now on."), []),
    (("Always answer in French.", "You can stop using French."), []),
    (("I live in Ghent.", "Antwerp is home now."), ["Lives in Antwerp."]),
    (("I live in Ghent.", "Home is where the heart is."), ["Lives in Ghent."]),
    (("我的房租是三千。", "房租涨了。"), []),
    (("我在甲公司上班。", "工作也已经辞了。"), []),
    (("我住在杭州。", "上周我们全家搬回老家宁波了。"), ["用户住在宁波。"]),
    (("家賃は8万円です。", "家賃が上がりました。"), []),
    (("出版社で働いています。", "先月で出版社を辞めて、休んでいます。"), []),
    (("名古屋に住んでいます。", "実家の福岡に戻りました。"), ["ユーザーは福岡に住んでいる。"]),
    (("我住在南京。", "我上个月搬到苏州了。"), ["用户住在苏州。"]),
    (("我在甲公司上班。", "我跳槽到乙公司了。"), ["用户在乙公司工作。"]),
    (("我在甲公司上班。", "我昨天辞职了。"), []),
    (("以后都用英文回答我。", "以后都用中文回答我。"), ["用户的要求：都用中文回答用户。"]),
    (("我吃素。", "我不再吃素了。"), []),
    (("我家狗叫旺财。", "旺财上周去世了。"), []),
    (("我住在上海。", "忘记我住在上海。"), []),
    (("我对花生过敏。", "如果我对花生不过敏就好了。"), ["用户对花生过敏。"]),
    (("横浜に住んでいます。", "先月、神戸に引っ越しました。"), ["ユーザーは神戸に住んでいる。"]),
    (("トヨタで働いています。", "昨日会社を辞めました。"), []),
    (("A社で働いています。", "B社に転職しました。"), ["ユーザーはB社で働いている。"]),
    (("ベジタリアンです。", "もうベジタリアンじゃないです。"), []),
    (("ポチという犬を飼っています。", "ポチが昨日亡くなりました。"), []),
    (("これからは英語で答えてください。", "もう英語で答えなくていいです。"), []),
    (("コーヒーが好きです。", "私がコーヒーが好きなことは忘れて。"), []),
)
CLEANED = (
    ("I live in\u00a0Oslo.", "Lives in Oslo."),
    ("I live in\tOslo.", "Lives in Oslo."),
    ("As you know I live in\nOslo.", "Lives in Oslo."),
    ("I  live  in Oslo.\u200f", "Lives in Oslo."),
    ("@assistant I live in Oslo.", "Lives in Oslo."),
    ("@bot, I live in Oslo.", "Lives in Oslo."),
    ("<@U024BE7LH> I live in Oslo", "Lives in Oslo."),
    ("I live in Oslo @bot", "Lives in Oslo."),
    ("I live in Oslo #norway", "Lives in Oslo."),
    ("J\u2019habite \u00e0 Lyon\u202f!", "Habite \u00e0 Lyon."),
)


MOVES = {
    "I moved from Acme to Globex.": [],
    "I moved from Siemens to Bosch last year.": [],
    "I moved from Initech over to Hooli.": [],
    "I moved from sales to marketing.": [],
    "I moved to Google last year.": [],
    "I moved from Acme to Oslo.": ["Lives in Oslo."],
    "I moved from Leeds to Uddevalla.": ["Lives in Uddevalla."],
    "I moved from Kungälv to Lisbon.": ["Lives in Lisbon."],
    "We moved from Kungälv to Uddevalla.": ["Lives in Uddevalla."],
    "I moved from Bergen to a village near Voss.": ["Lives in a village near Voss."],
    "I moved to Uddevalla.": ["Lives in Uddevalla."],
}
"""What is said of a move -> the home that it tells of."""
SAME = (
    ("I'm allergic to peanuts, so I can't eat peanuts.", "Is allergic to peanuts."),
    ("I can't eat peanuts because I'm allergic to peanuts.", "Is allergic to peanuts."),
    ("I can't eat nuts. I'm allergic to nuts.", "Is allergic to nuts."),
)


@pytest.mark.parametrize("told", MOVES)
def test_a_move_makes_a_home_of_places_only(told: str) -> None:
    """Employers are left for others in the same words."""
    assert current(told) == MOVES[told]


@pytest.mark.parametrize("before", ["I work at Acme.", "I live in Acme."])
def test_what_somebody_moved_from_is_over_whatever_it_was(before: str) -> None:
    assert current(before) and current(before, "I moved from Acme to Globex.") == []


@pytest.mark.parametrize(("told", "fact"), SAME)
def test_a_turn_makes_one_fact_of_what_two_rules_find_by_the_same_words(
    told: str, fact: str
) -> None:
    assert current(told) == [fact]


REPLACED = (
    ("Antworte immer auf Deutsch.", "Antworte bitte auf Englisch."),
    ("Bitte keine Emojis.", "Benutze immer Emojis."),
    ("Bitte sieze mich.", "Duze mich."),
    ("Réponds toujours en français.", "Réponds-moi en anglais."),
    ("N'utilise jamais d'emojis.", "Utilise des emojis."),
    ("Vouvoyez-moi.", "Tutoie-moi."),
    ("Responde siempre en español.", "Responde siempre en inglés."),
    ("Nunca uses emojis.", "Usa siempre emojis."),
    ("Trátame de usted.", "Tutéame."),
)


@pytest.mark.parametrize(("before", "after"), REPLACED)
def test_the_last_instruction_of_a_kind_stands_in_all_languages(before: str, after: str) -> None:
    assert len(current(before)) == 1
    assert current(before, after) == current(after) != []


def stored(plan: JsonObject | None) -> list[Any]:
    return [
        one
        for name in ("state_updates", "preference_updates", "ends")
        for one in (plan or {}).get(name, [])
    ]


def current(*said: str) -> list[str]:
    """What stands after a dialogue, a day a turn."""
    memory = Memory("u1")
    for number, text in enumerate(said):
        record = turn(text, f"e{number}")
        record.occurred_at += number * 86_400_000_000
        plan = rules.extract(record)
        if plan is not None:
            memory.give(plan)
    facts = [one["body_text"] for one in memory.states().values() if one["status"] != "closed"]
    likes = memory.preferences().items()
    return facts + [f"{of}: {what}" for (of, what), status in likes if status == "confirmed"]


@pytest.mark.parametrize("text", PRIVATE)
def test_nothing_is_stored_of_a_private_turn(text: str) -> None:
    assert is_private(text)
    for fact in (
        "I live in Oslo and I'm allergic to nuts. ",
        "我住在北京。",
        "横浜に住んでいます。",
    ):
        assert rules.extract(turn(f"{text}\n{fact}")) is None or not is_private(f"{text}\n{fact}")
    assert rules.extract(turn(text)) is None


@pytest.mark.parametrize("text", KEPT)
def test_a_turn_that_only_sounds_private_is_none(text: str) -> None:
    assert not is_private(text)


@pytest.mark.parametrize("text", OTHERS)
def test_nothing_is_stored_of_what_others_wrote_or_what_is_only_supposed(text: str) -> None:
    assert stored(rules.extract(turn(text))) == []


@pytest.mark.parametrize(("told", "end"), CASES_OF_DATE)
def test_an_end_stands_with_any_date_beside_it(told: str, end: str) -> None:
    assert current(told)
    assert current(told, end) == []


@pytest.mark.parametrize(("said", "facts"), GOES_ON)
def test_a_clause_after_and_has_the_subject_of_the_clause_before(
    said: str, facts: list[str]
) -> None:
    assert set(facts) <= set(current(said))


@pytest.mark.parametrize("said", OF_ANOTHER + NO_FACTS)
def test_a_clause_of_another_subject_is_none_of_the_user(said: str) -> None:
    assert current(said) == []


@pytest.mark.parametrize(("said", "afterwards"), CHANGES)
def test_a_dialogue_leaves_what_is_true(said: tuple[str, ...], afterwards: list[str]) -> None:
    assert current(*said) == afterwards


@pytest.mark.parametrize(("half", "count", "most"), MOST_WRONG)
def test_of_dialogues_that_change_something_few_leave_what_is_wrong(
    half: str, count: int, most: int
) -> None:
    """`unseen` was written before the rules were changed, and not looked at during it."""
    file = Path(__file__).parents[1] / "acceptance" / "judged" / "changes.ndjson"
    dialogues = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    own = [dialogue for dialogue in dialogues if dialogue["half"] == half]
    wrong = [
        dialogue["turns"]
        for dialogue in own
        if any(
            word in f" {fact}" for fact in current(*dialogue["turns"]) for word in dialogue["wrong"]
        )
    ]
    assert len(own) == count and len(wrong) <= most, wrong


@pytest.mark.parametrize(("told", "end"), WITHOUT_SUBJECT)
def test_a_sentence_without_its_subject_is_of_the_user(told: str, end: str) -> None:
    assert current(told) and current(told, f"{end}.") == []


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize(
    ("told", "end"), [(told, ends[0]) for told, ends in FACTS if ends[0].startswith(("I ", "We "))]
)
def test_what_stands_before_the_subject_is_no_part_of_a_statement(
    before: str, told: str, end: str
) -> None:
    assert current(told, f"{before} {end}.") == []


@pytest.mark.parametrize(("said", "afterwards"), SINCE)
def test_what_is_so_since_a_time_is_so_whatever_was_told_before(
    said: tuple[str, ...], afterwards: list[str]
) -> None:
    assert current(*said) == afterwards


@pytest.mark.parametrize("end", sorted({end for _, ends in FACTS for end in ends}))
def test_an_end_of_what_was_never_told_ends_nothing(end: str) -> None:
    assert current("I live in Rome.", "I love jazz.", end) == ["Lives in Rome.", "like: jazz"]


@pytest.mark.parametrize(("said", "told"), CLEANED)
def test_spaces_unseen_characters_and_mentions_make_no_difference(said: str, told: str) -> None:
    (fact,) = stored(rules.extract(turn(said)))
    assert fact["body_text"] == told


def test_an_instruction_keeps_its_condition() -> None:
    for said, slot in (
        (
            "Never use emojis when you write to my boss.",
            "answer format emoji when you write to my boss",
        ),
        (
            "When you write to my boss, never use emojis.",
            "answer format emoji when you write to my boss",
        ),
        (
            "If I ask for code, always answer in Python and English.",
            "answer language if i ask for code",
        ),
    ):
        (fact,) = stored(rules.extract(turn(said)))
        assert fact["payload"]["slot"] == slot
        assert fact["payload"]["condition"].split()[-1] in fact["body_text"]
    both = current("Never use emojis.", "Never use emojis when you write to my boss.")
    assert len(both) == 2
