"""The texts of the tour: a part of the catalogue."""

from streams.serving.inspector.text import Text

TOUR: dict[str, Text] = {
    # --- the tour ---
    "tour.title": Text("Tour", "导览", "ツアー"),
    "tour.offer": Text(
        "Take the tour: from a question to its reason to its past, in five steps",
        "开始导览：五步，从问题到原因，再到过去",
        "ツアーを始める：質問から理由、過去まで五歩",
    ),
    "tour.step": Text("{n} of {of}", "{n} / {of}", "{n} / {of}"),
    "tour.next": Text("Next", "下一步", "次へ"),
    "tour.end": Text("End the tour", "结束导览", "ツアーを終える"),
    "tour.done": Text("Done", "完成", "完了"),
    "tour.question": Text(
        "Emma asks where she lives, and this is what her agent is handed: so many tokens at most, "
        "the answer among the facts. Each line leads to its reason.",
        "Emma 问自己住在哪里。这是交给智能体的内容：有词元上限，答案在“事实”中。每一行都通向它的原因。",
        "Emma が自分の住まいを尋ねます。これがエージェントに渡される内容です。トークン数に上限があり、"
        "答えは「事実」にあります。各行はその理由につながります。",
    ),
    "tour.reason": Text(
        "The reason: the life of this one fact. She lived in Leeds, then in Manchester; each revision "
        "says why, by whom, and quotes what she said.",
        "原因：这条事实的一生。她先住在 Leeds，后住在 Manchester；每次修订都说明原因、提取者并引用她的话。",
        "理由：この事実の一生。Leeds に住み、その後 Manchester に移りました。"
        "各改訂に理由、抽出者、彼女の言葉があります。",
    ),
    "tour.turn": Text(
        "The turn that it came from, and beside it all that this turn changed.",
        "它所来自的对话，旁边是这一轮改动的全部内容。",
        "元になった発話。横にはこの発話が変えたことのすべて。",
    ),
    "tour.past": Text(
        "The past: the same question as of 5 March, with what was known then. She had not moved. "
        "The two clocks at the top go anywhere in between.",
        "过去：3 月 5 日时的同一问题，只用当时已知的内容。她还没有搬家。顶部的两个时钟可以移到任意时刻。",
        "過去：3 月 5 日時点の同じ質問を、当時知られていたことだけで。まだ引っ越していません。"
        "上の二つの時計でどの時点にも移れます。",
    ),
    "tour.search": Text(
        "And the way in: search all that was said and is held. Your own agents' memory looks just "
        "like this.",
        "入口：搜索所有说过和记住的内容。您自己的智能体的记忆也是这样。",
        "入口：話されたことと記憶のすべてを検索できます。あなたのエージェントの記憶も同じように見えます。",
    ),
}
