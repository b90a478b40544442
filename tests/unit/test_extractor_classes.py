"""The rules by classes of what people write: what each class gives, and what only looks like it.

A class of fault that was found in texts of others gets examples of our own here.
"""

# ruff: noqa: E501 - a text and what is kept of it are one line

import pytest

from streams.extractors import rules
from tests.acceptance.judged import kept, over
from tests.acceptance.utterances import turn


def found(text: str) -> list[str]:
    return kept(rules.extract(turn(text)) or {})


@pytest.mark.parametrize(
    ("text", "keep"),
    [
        ("I have a ferret. Her name is Nutmeg.", "Has a ferret called Nutmeg."),
        ("We adopted a greyhound! We named him Otis.", "Has a greyhound called Otis."),
        ("I've got two kittens, they're called Salt and Pepper", "Has two kittens called Salt and Pepper."),
        ("i got a puppy last week, his name is moss", "Has a puppy called moss."),
        ("Wir haben einen Kater. Er heißt Felix.", "Hat einen Kater namens Felix."),
        ("J'ai un lapin, il s'appelle Caramel", "A un lapin qui s'appelle Caramel."),
        ("Tenemos un gato, se llama Michi", "Tiene un gato que se llama Michi."),
        ("我养了只鹦鹉，叫小绿。", "用户养了只鹦鹉，名叫小绿。"),
        ("うさぎを飼っています。名前はミミです。", "ユーザーはうさぎを飼っている。名前はミミ。"),
    ],
)  # fmt: skip
def test_a_pet_has_the_name_that_the_next_sentence_gives(text: str, keep: str) -> None:
    assert found(text) == [keep]


@pytest.mark.parametrize(
    "text",
    [
        "I have a cat. What is its name in French?",
        "I have a van. Its name is on the list.",
        "I have two dogs in the drawing. They're called layers.",
    ],
)
def test_what_has_no_name_gets_none(text: str) -> None:
    assert not any(" called " in one for one in found(text))


@pytest.mark.parametrize(
    ("text", "keep", "gone"),
    [
        ("I switched my degree from law to history.", ["Studies history."], ["law"]),
        ("I changed jobs from sales to marketing", ["Works in marketing."], ["sales"]),
        ("I went from vegan to vegetarian", ["Is vegetarian."], ["vegan"]),
        ("We changed our supplier from Hart to Bauer.", ["Supplier is Bauer, no longer Hart."], []),
        ("I changed my mind from yes to no", [], []),
        ("I changed the font from Arial to Times", [], []),
        ("Ich wohne nicht mehr in Ulm, sondern in Passau.", ["Wohnt in Passau."], ["ulm"]),
        ("Ich arbeite nicht mehr bei Bosch, sondern bei Zeiss.", ["Arbeitet bei Zeiss."], ["bosch"]),
        ("我去年从阿里跳槽到美团了。", ["用户在美团工作。"], []),
    ],
)  # fmt: skip
def test_one_takes_the_place_of_another(text: str, keep: list[str], gone: list[str]) -> None:
    assert found(text) == keep
    assert over(rules.extract(turn(text)) or {}) == gone


@pytest.mark.parametrize(
    ("text", "keep"),
    [
        ("I'm 51 and work as a bus driver", ["Is 51 years old.", "Works as a bus driver."]),
        ("I moved to Bergen in May and work at a hospital now.", ["Lives in Bergen.", "Works at a hospital."]),
        ("I'm from Ohio originally but now I teach chemistry", ["Comes from Ohio.", "Teaches chemistry."]),
        ("I'm Rosa, a plumber from Cork.", ["Is a plumber from Cork."]),
        ("Ich heiße Jonas, bin 28 und arbeite als Koch in Mainz.", ["Heißt Jonas.", "Arbeitet als Koch in Mainz."]),
        ("Ich bin Lehrerin und wohne in Trier", ["Ist Lehrerin.", "Wohnt in Trier."]),
    ],
)  # fmt: skip
def test_the_second_half_of_a_sentence_has_its_subject(text: str, keep: list[str]) -> None:
    assert [one for one in found(text) if one in keep] == keep


@pytest.mark.parametrize(
    "text",
    ["I'm here, a bit confused", "I'm sorry, a teacher told me that", "I'm in, a nurse called."],
)
def test_what_follows_a_comma_is_not_always_said_of_the_user(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "keep"),
    [
        ("um so i live in tampa", "Lives in tampa."),
        ("uh my name's Colin", "Is called Colin."),
        ("so basically we moved to Reading in may", "Lives in Reading."),
        ("okay so um my wife is pregnant", "Wife is pregnant."),
        ("yeah i work nights you know", "Works nights."),
        ("like i'm allergic to shellfish so yeah", "Is allergic to shellfish."),
    ],
)
def test_fillers_of_speech_are_passed_over(text: str, keep: str) -> None:
    assert found(text) == [keep]


@pytest.mark.parametrize("text", ["do you know i live in a shoe", "like i live under a rock lol"])
def test_a_filler_is_not_a_question_or_a_joke(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "keep"),
    [
        ("our backend is written in Kotlin", "Their backend is written in Kotlin."),
        ("we deploy to AWS with Terraform", "Uses AWS with Terraform."),
        ("I've been coding in Elixir for about three years", "Has been coding in Elixir for about three years."),
        ("I maintain a small plugin for Blender", "Maintains a small plugin for Blender."),
        ("don't touch the migrations", "Requires: don't touch the migrations."),
        ("I'm in year 9", "Is in year 9."),
        ("I struggle with fractions", "Struggles with fractions."),
        ("English isn't my first language", "Speaks English as a second language."),
        ("I get carsick", "Gets carsick."),
        ("my visa runs out in March", "Their visa runs out in March 2026."),
        ("I failed my driving test", "Failed their driving test."),
        ("I've got choir on Wednesdays", "Has choir on Wednesdays."),
        ("I go by she/they", "Pronouns: she/they."),
        ("I got into law school", "Got into law school."),
        ("my flatmate has a snake", "Flatmate has a snake."),
    ],
)  # fmt: skip
def test_what_people_tell_assistants_of_work_school_and_travel(text: str, keep: str) -> None:
    assert found(text) == [keep]


@pytest.mark.parametrize(
    "text",
    [
        "our server is on fire",
        "the database is in the cloud",
        "the docs say we use React",
        "can you write a game in Python",
        "I struggle with this question",
        "my session expires in 30 seconds",
        "I have a question about membership",
        "I failed to log in",
        "I'm taking a break",
        "no comments yet on my post",
        "no eggs left in the fridge",
        "I got into bed",
        "I use they/them in the sentence",
    ],
)
def test_what_happens_at_the_screen_is_no_fact(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "I hate my life.",
        "I hate myself for it",
        "I love my kids",
        "I hate being stuck in my head",
        "I hate everyone around me",
        "I love being drunk.",
        "Hate is still an emotion.",
        "I can't take this anymore",
        "I can't be happy when it rains",
        "I can't make myself study",
        "I can't do things alone",
        "I'm going to kill myself",
        "I decided to hurt myself",
        "I always compare myself to others",
        "I'm done with people",
        "I finished a bottle of wine",
        "I called in sick today",
        "she is done",
        "It's hard not to eat it all",
        "It's certainly not your day",
        "It's not the weather, it's how people look at you when you walk in.",
        "My rent isn't the problem. It's the noise.",
        "I've only been there twice in 10 years.",
        "I speak from the heart",
        "My birthday is today",
        "&gt; I love horses",
        "My income is still more than theirs",
    ],
)
def test_what_is_said_in_a_mood_is_no_taste_limit_or_plan(text: str) -> None:
    plan = rules.extract(turn(text)) or {}
    assert kept(plan) == []
    assert over(plan) == []


@pytest.mark.parametrize(
    ("text", "keep"),
    [
        ("I hate loud bars", "dislike: loud bars"),
        ("I love being outdoors", "like: being outdoors"),
        ("I can't be around cats", "Cannot be around cats."),
        ("I can't make Tuesdays", "Cannot make Tuesdays."),
        ("I only have 20 minutes in the morning", "Requires: 20 minutes in the morning."),
        ("It's Thursday not Friday", "It is Thursday, not Friday."),
        ("My birthday is 4 May", "Birthday is 4 May."),
        ("I speak three languages", "Speaks three languages."),
    ],
)
def test_what_looks_like_a_mood_and_lasts_is_kept(text: str, keep: str) -> None:
    assert found(text) == [keep]


@pytest.mark.parametrize(
    "text",
    [
        "I gave up the fight",
        "I no longer see a point in it all",
        "I used to tell myself that I was fine",
        "I used to do things",
        "I stopped caring about my problems",
    ],
)
def test_an_end_that_names_nothing_is_none(text: str) -> None:
    assert over(rules.extract(turn(text)) or {}) == []


@pytest.mark.parametrize(
    ("text", "keep"),
    [
        ("Wir leben in Zürich.", "Wohnt in Zürich."),
        ("Wir wohnen zu dritt in einer Wohnung in Kassel.", "Wohnt in Kassel."),
        ("Wir wohnen auf dem Land.", "Wohnt auf dem Land."),
        ("Wir sind aufs Dorf gezogen.", "Ist aufs Dorf gezogen."),
        ("Ich hab Migräne", "Hat Migräne."),
        ("Ich bin die Annika", "Heißt Annika."),
        ("Meine Tochter hat Angst vor Hunden", "Tochter hat Angst vor Hunden."),
        ("On a déménagé à Rouen.", "Habite à Rouen."),
        ("On vit à la campagne depuis deux ans.", "Habite à la campagne."),
        ("Je bosse dans un garage", "Travaille dans un garage."),
        ("J'aime pas le fromage", "dislike: fromage"),
        ("Je suis en troisième année de droit", "Est en troisième année de droit."),
        ("Estoy haciendo un doctorado en química", "Está haciendo un doctorado en química."),
        ("Me han despedido", "Ha perdido el trabajo."),
    ],
)
def test_german_french_and_spanish_as_people_speak_them(text: str, keep: str) -> None:
    assert found(text) == [keep]


@pytest.mark.parametrize(
    "text",
    [
        "Ich bin der Meinung, das geht nicht.",
        "Ich bin die Neue hier",
        "Wir leben von der Hand in den Mund",
        "Wir wohnen bei Freunden diese Woche",
        "Ich steh auf dem Schlauch",
        "On vient de manger",
        "On vit une époque formidable",
        "Je bosse demain",
        "Je suis en ligne depuis une heure",
        "Estoy haciendo la compra",
    ],
)
def test_what_only_sounds_like_a_home_or_a_job_in_them_is_none(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("大阪不去了。", ["大阪"]),
        ("雅思不考了", ["雅思"]),
        ("健身房不去了", ["健身房"]),
        ("今天不去了", []),
        ("我不去了", []),
        ("晚上聚餐不去了", []),
        ("お酒は2年前にやめました", ["お酒"]),
    ],
)
def test_what_is_off_in_chinese_and_japanese_is_over(text: str, gone: list[str]) -> None:
    assert over(rules.extract(turn(text)) or {}) == gone


@pytest.mark.parametrize(
    "text",
    [
        "我想去评分四分以上的景点玩，帮我查一下电话",
        "那就选这家餐馆吧",
        "周末要带孩子去游玩，门票多少钱",
        "我受够了人生",
    ],
)
def test_what_a_booking_wants_in_chinese_is_no_plan(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "いつも早く起きて散歩しています",
        "無理しないでくださいね",
        "どうぞ遠慮しないでください",
        "もう笑わないでください",
        "では歩くしかありませんね",
        "今度の休みは用事があって行けません",
        "猫が好きなのですね",
        "思い出しました",
        "これはコートではなくジャケットというものです",
        "りんごだけではなく、みかんもあります",
        "初めて聞きました",
        "7歳の時です",
        "賞味期限が今日までです",
        "今夜は鍋にしようと思っています",
        "普通に焼いたつもりです",
        "昔から大好きです",
        "英国に住んでいる姉に送りました",
        "3月9日生まれです",
    ],
)
def test_japanese_courtesies_and_talk_of_the_moment_are_no_facts(text: str) -> None:
    assert [one for one in found(text) if "習慣" not in one and "毎" not in one] == []


@pytest.mark.parametrize(
    ("text", "keep"),
    [
        ("大根おろしが大好きです", "like: 大根おろし"),
        ("実際に体を動かすことが好きです", "like: 実際に体を動かすこと"),
        ("書店で働いています", "ユーザーは書店で働いている。"),
        ("水泳教室に通っています", "ユーザーは水泳教室に通っている。"),
        ("金曜までに家賃を払わなければなりません", "ユーザーは2026年3月6日までに家賃を払わなければならない。"),
        ("妻は卵がだめです", "ユーザーの妻は卵がだめ。"),
        ("先月、札幌に転勤になりました", "ユーザーは先月札幌に転勤した。"),
    ],
)  # fmt: skip
def test_japanese_values_are_whole(text: str, keep: str) -> None:
    assert found(text) == [keep]
