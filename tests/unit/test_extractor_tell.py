"""What Chinese and Japanese rules say of a user: in the third person, and plainly."""

import pytest

from streams.extractors import chinese_words, japanese_tell


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        ("京都に行きました", "京都に行った"),
        ("本を書きました", "本を書いた"),
        ("海で泳ぎました", "海で泳いだ"),
        ("友達を待ちました", "友達を待った"),
        ("山に登りました", "山に登った"),
        ("母に会いました", "母に会った"),
        ("本を読みました", "本を読んだ"),
        ("犬と遊びました", "犬と遊んだ"),
        ("猫が死にました", "猫が死んだ"),
        ("完走しました", "完走した"),
        ("母と話しました", "母と話した"),
        ("子が生まれました", "子が生まれた"),
        ("映画を見ました", "映画を見た"),
        ("六時に起きました", "六時に起きた"),
        ("本を借りました", "本を借りた"),
        ("自転車を捨てました", "自転車を捨てた"),
        ("海に行ってきました", "海に行ってきた"),
        ("猫を飼っています", "猫を飼っている"),
        ("猫を飼ってます", "猫を飼っている"),
        ("猫を飼ってる", "猫を飼っている"),
        ("札幌に住んでます", "札幌に住んでいる"),
        ("毎朝走ります", "毎朝走る"),
        ("毎晩本を読みます", "毎晩本を読む"),
        ("毎週電話します", "毎週電話する"),
        ("毎週母と話します", "毎週母と話す"),
        ("野菜を育てます", "野菜を育てる"),
        ("車を手放しちゃった", "車を手放してしまった"),
        ("犬が死んじゃった", "犬が死んでしまった"),
        ("肉が食べられません", "肉が食べられない"),
        ("旅が好き", "旅が好き"),
        ("", ""),
    ],
)
def test_a_polite_or_spoken_ending_becomes_plain(said: str, plain: str) -> None:
    assert japanese_tell.plain(said) == plain
    assert japanese_tell.plain(plain) == plain, "what is plain stays"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("私の店に行った", "自分の店に行った"),
        ("僕がやった", "自分がやった"),
        ("私立の学校", "私立の学校"),
    ],
)
def test_japanese_speaks_of_the_user_as_another_would(said: str, told: str) -> None:
    assert japanese_tell.third_person(said) == told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("带我女儿去了海边", "带女儿去了海边"),
        ("在我的店里上班", "在自己的店里上班"),
        ("和我们老师吃饭", "和他们老师吃饭"),
        ("去了海边", "去了海边"),
    ],
)
def test_chinese_speaks_of_the_user_as_another_would(said: str, told: str) -> None:
    assert chinese_words.third_person(said) == told


def test_a_sentence_has_one_particle_of_what_is_done() -> None:
    says = "用户{value}了。"
    assert chinese_words.tell(says, {"value": "辞职"}) == "用户辞职了。"
    assert chinese_words.tell(says, {"value": "去了趟海边"}) == "用户去了趟海边。"
