"""The texts of acts that change data, and of generations: a part of the catalogue."""

from streams.serving.inspector.text import Text

ACTS: dict[str, Text] = {
    # --- what changes something ---
    "act.will": Text("What will happen", "将会发生什么", "これから起きること"),
    "act.look": Text("See what will happen", "查看将会发生什么", "何が起きるかを見る"),
    "act.leave": Text("Leave it as it is", "保持原样", "このままにする"),
    "act.otherwise": Text(
        "Nothing was done: something has changed since this page was made. Read it again.",
        "未执行任何操作：此页面生成后情况有变。请重新阅读。",
        "何も実行していません。このページを開いた後に変化がありました。もう一度お読みください。",
    ),
    "act.type": Text("To confirm, type", "请输入以确认：", "確認のため入力："),
    "act.mistyped": Text(
        "Not done: the text does not match.",
        "未执行：输入的内容不一致。",
        "実行していません：入力が一致しません。",
    ),
    "change.link": Text("Correct or end", "更正或结束", "訂正または終了"),
    "change.title": Text("Correct or end", "更正或结束", "訂正または終了"),
    "change.about": Text(
        "Correct or end a state or a preference, with a reason that stays with it.",
        "更正或结束一个状态或偏好，并留下原因。",
        "状態や好みを訂正または終了します。理由は記録に残ります。",
    ),
    "change.since": Text("true since", "自此为真", "真である期間の始め"),
    "change.correct": Text("Correct it", "更正", "訂正する"),
    "change.end": Text("End it", "结束", "終了する"),
    "change.text": Text("What is true", "真实情况", "正しい内容"),
    "change.from": Text(
        "True since (if it became true later)",
        "自何时为真（若较晚才成立）",
        "いつから真か（後から真になった場合）",
    ),
    "change.at": Text("True until", "为真至", "いつまで真か"),
    "change.reason": Text("Reason", "原因", "理由"),
    "change.will_correct": Text(
        "The state will say this, for the same time as before.",
        "该状态将改为如上内容，时间范围不变。",
        "状態の内容がこのように変わります。期間は変わりません。",
    ),
    "change.will_prefer": Text(
        "What it says now ends, and this holds in its place.",
        "当前内容将结束，改为以上内容成立。",
        "今の内容は終了し、代わりにこれが成り立ちます。",
    ),
    "change.will_version": Text(
        "A new version begins at this time; what was true before stays true until then.",
        "新版本自此时开始；此前的内容在此之前仍为真。",
        "この時点から新しい版が始まります。それまでは以前の内容が真のままです。",
    ),
    "change.will_end": Text(
        "It will have been true until", "它为真至", "次の時点まで真だったことになります："
    ),
    "change.will_end_now": Text(
        "It will have been true until now.", "它为真至现在。", "今まで真だったことになります。"
    ),
    "change.stays": Text(
        "What it said before stays in its life, and the clocks still show it.",
        "原内容保留在它的一生中，时钟仍可显示。",
        "以前の内容は一生の記録に残り、時計を戻せば表示されます。",
    ),
    "change.do_correct": Text("Correct it", "更正", "訂正する"),
    "change.do_end": Text("End it", "结束", "終了する"),
    "change.nothing": Text(
        "This would change nothing.", "这不会改变任何内容。", "これでは何も変わりません。"
    ),
    "forget.link": Text("Forget", "遗忘", "忘れる"),
    "forget.title": Text("Forget a person", "遗忘此人", "この人を忘れる"),
    "forget.about": Text(
        "Erase all that is held of a person, for good.",
        "永久删除关于此人的一切。",
        "この人について記憶しているすべてを完全に消去します。",
    ),
    "forget.will": Text(
        "All that was said by this person and all that is remembered of them is erased: from all "
        "tables and files, from every generation, and from the search index.",
        "此人说过的一切以及关于此人的一切记忆都将被删除：包括所有表、文件、所有世代和搜索索引。",
        "この人が話したことと記憶のすべてを、全テーブルとファイル、全世代、検索索引から消去します。",
    ),
    "forget.for_good": Text(
        "This cannot be undone. A receipt stays, which does not name the person.",
        "此操作无法撤销。会留下一份不含姓名的回执。",
        "取り消せません。名前を含まない受領記録だけが残ります。",
    ),
    "forget.do": Text("Forget this person for good", "永久遗忘此人", "この人を完全に忘れる"),
    "erasure.title": Text("Receipt of an erasure", "删除回执", "消去の受領記録"),
    "erasure.about": Text(
        "What was erased, and when.", "删除了什么、何时删除。", "何をいつ消去したか。"
    ),
    "erasure.waiting": Text(
        "Not done yet. It goes on, even if this page is closed.",
        "尚未完成。即使关闭此页面也会继续。",
        "まだ終わっていません。このページを閉じても続きます。",
    ),
    "erasure.done": Text("Done.", "已完成。", "完了しました。"),
    "erasure.id": Text("Number", "编号", "番号"),
    "erasure.requested": Text("Asked for", "请求于", "依頼"),
    "erasure.finished": Text("Done at", "完成于", "完了"),
    "erasure.rows": Text("Rows erased, by table", "各表删除的行数", "表ごとの消去行数"),
    "erasure.from": Text(
        "Rows erased from generation {name}", "从世代 {name} 删除的行数", "世代 {name} の消去行数"
    ),
    "erasure.no_rows": Text("None.", "无。", "ありません。"),
    "erasure.again": Text("Look again", "再次查看", "もう一度見る"),
    "erasure.names_nobody": Text(
        "Keep this address: the receipt stays here, and names nobody.",
        "请保存此地址：回执保留在这里，不含任何姓名。",
        "このアドレスを控えてください。記録はここに残り、名前は含みません。",
    ),
    # --- generations ---
    "generations.title": Text("Generations", "世代", "世代"),
    "generations.about": Text(
        "Memory made again beside the live one, with another extractor or other constants.",
        "在当前记忆旁用其他提取器或常量重新生成的记忆。",
        "別の抽出器や定数で、現在の記憶の横に作り直した記憶。",
    ),
    "generations.live": Text("live", "当前", "現行"),
    "generations.previous": Text("live before", "上一个", "一つ前"),
    "generations.unfinished": Text("not finished", "未完成", "未完了"),
    "generations.extractor": Text("extractor", "提取器", "抽出器"),
    "generations.size": Text(
        "{own} of its own, {shared} shared",
        "独占 {own}，共享 {shared}",
        "専有 {own}、共有 {shared}",
    ),
    "generations.days": Text(
        "days {first} to {last}", "日期 {first} 至 {last}", "{first} から {last} まで"
    ),
    "generations.compare": Text("Compare with the live one", "与当前世代比较", "現行と比べる"),
    "generations.none": Text(
        "There is no other generation. Make one, then compare it here:",
        "没有其他世代。先生成一个，再在此比较：",
        "ほかの世代はありません。作ってから、ここで比べてください：",
    ),
    "difference.title": Text("How generations differ", "世代差异", "世代の違い"),
    "difference.about": Text(
        "What each kind of memory gains, loses and says otherwise, with samples.",
        "每类记忆增加、减少和改变了什么，附样例。",
        "記憶の種類ごとに、増えたもの、減ったもの、変わったものと、その例。",
    ),
    "difference.kinds": Text("Changes by kind", "按类型的变化", "種類別の変化"),
    "difference.all": Text("All kinds", "所有类型", "すべての種類"),
    "difference.alike": Text(
        "{n} kinds are the same in both", "{n} 类相同", "{n} 種類は両方で同じ"
    ),
    "difference.added": Text("added", "新增", "追加"),
    "difference.gone": Text("gone", "消失", "消失"),
    "difference.changed": Text("changed", "改变", "変更"),
    "difference.same": Text("same", "相同", "同じ"),
    "difference.fields": Text("Fields: {n}", "字段：{n}", "項目：{n}"),
    "difference.none": Text("They remember the same.", "两者记忆相同。", "両者の記憶は同じです。"),
    "promote.title": Text("Promote a generation", "启用世代", "世代を現行にする"),
    "promote.about": Text(
        "Which generation is live: said first, then done.",
        "切换当前世代：先说明，再执行。",
        "どの世代を現行にするか。先に説明し、その後に実行します。",
    ),
    "promote.title_to": Text("Promote {name}", "启用 {name}", "{name} を現行にする"),
    "promote.title_back": Text("Roll back to {name}", "回滚到 {name}", "{name} に戻す"),
    "promote.link": Text("Promote", "启用", "現行にする"),
    "promote.back": Text("Roll back", "回滚", "戻す"),
    "promote.will_live": Text(
        "{name} goes live in place of {live}: every reader and every command gets its memory.",
        "{name} 将取代 {live}：所有读者和命令都将使用它的记忆。",
        "{live} に代わって {name} が現行になります。すべての読み手とコマンドがその記憶を使います。",
    ),
    "promote.will_read": Text(
        "First it reads what was added since it last did, so nothing is lost. Until that ends, "
        "readers wait, and what is sent is stored.",
        "首先读取其后新增的内容，因此不会丢失。完成之前读者等待，发送的内容会被保存。",
        "まず前回以降に加わったものを読むので、何も失われません。終わるまで読み手は待ち、"
        "送られたものは保存されます。",
    ),
    "promote.will_extract": Text(
        "From then on memory is found in turns by its extractor: {extractor}.",
        "此后由它的提取器从对话中提取记忆：{extractor}。",
        "以後はその抽出器が発話から記憶を取り出します：{extractor}。",
    ),
    "promote.will_return": Text(
        "{live} stays: rolling back makes it live again.",
        "{live} 会保留：回滚即可恢复。",
        "{live} は残り、戻せば再び現行になります。",
    ),
    "promote.all_tenants": Text(
        "This concerns all tenants.", "这影响所有租户。", "すべてのテナントに関わります。"
    ),
    "promote.do": Text("Promote it", "启用", "現行にする"),
    "promote.do_back": Text("Roll back", "回滚", "戻す"),
    "promote.is_live": Text("{name} is live.", "{name} 是当前世代。", "{name} は現行です。"),
}
