"""The texts of the inspector in its three languages, by key.

A text may hold `{name}`, which a page fills in. `tests/serving/test_inspector_pages.py` finds a key
that lacks a language, that no page uses, or that a page uses and nobody has written.
"""

from typing import Any

from streams.folds.summary import Language
from streams.serving.inspector.catalogue_pipeline import PIPELINE
from streams.serving.inspector.text import Text

TEXTS: dict[str, Text] = {
    # --- every page ---
    "page.skip": Text("Skip to the content", "跳到正文", "本文へ移動"),
    "page.views": Text("Views", "视图", "画面"),
    "page.utc": Text("All times are UTC", "所有时间均为 UTC", "時刻はすべて UTC です"),
    "page.tenant": Text("Tenant", "租户", "テナント"),
    "page.sign_out": Text("Sign out", "退出", "サインアウト"),
    "page.more": Text("More", "更多", "さらに表示"),
    "page.missing": Text("Not shown:", "未显示：", "表示できません："),
    "problem.home": Text("Back to people and sessions", "返回人员与会话", "人とセッションに戻る"),
    "problem.400": Text(
        "This address is not understood", "无法理解该地址", "このアドレスは解釈できません"
    ),
    "problem.403": Text(
        "Your key may not see this", "您的密钥无权查看", "このキーでは表示できません"
    ),
    "problem.404": Text("There is nothing here", "这里什么也没有", "ここには何もありません"),
    "problem.409": Text("This cannot be done now", "现在无法执行", "今は実行できません"),
    "problem.422": Text(
        "This address asks for something invalid",
        "该地址的请求无效",
        "このアドレスの内容は無効です",
    ),
    "problem.429": Text("Too many requests", "请求过多", "リクエストが多すぎます"),
    "problem.500": Text(
        "The server has made a mistake", "服务器出错", "サーバーでエラーが起きました"
    ),
    "problem.501": Text(
        "This server has no history", "该服务器没有历史", "このサーバーには履歴がありません"
    ),
    "problem.503": Text("Not ready yet", "尚未就绪", "まだ準備ができていません"),
    # --- signing in ---
    "sign_in.title": Text("Sign in", "登录", "サインイン"),
    "sign_in.about": Text(
        "This server needs a key. This browser stays signed in for 12 hours.",
        "此服务器需要密钥。本浏览器将保持登录 12 小时。",
        "このサーバーにはキーが必要です。このブラウザーでは 12 時間サインインしたままになります。",
    ),
    "sign_in.key": Text("Key", "密钥", "キー"),
    "sign_in.tenant": Text(
        "Tenant (for a key of all tenants)",
        "租户（仅限全租户密钥）",
        "テナント（全テナント用のキーの場合）",
    ),
    "sign_in.do": Text("Sign in", "登录", "サインイン"),
    "sign_in.unknown": Text(
        "This key is unknown, revoked or expired.",
        "该密钥未知、已吊销或已过期。",
        "このキーは不明か、取り消されたか、期限切れです。",
    ),
    "sign_in.which_tenant": Text(
        "This key is for all tenants: name the one to look at.",
        "该密钥适用于所有租户：请指明要查看的租户。",
        "このキーは全テナント用です。表示するテナントを指定してください。",
    ),
    "sign_in.how": Text(
        "Whoever runs the server makes a key with:",
        "服务器的管理者可用以下命令创建密钥：",
        "サーバーの管理者は次のコマンドでキーを作れます：",
    ),
    # --- people and sessions ---
    "start.title": Text("People and sessions", "人员与会话", "人とセッション"),
    "start.about": Text(
        "People and sessions, and a search over what was said and what is remembered.",
        "有哪些人和会话；搜索所有说过和记住的内容。",
        "誰がいて何があるか。話されたこと、記憶していることすべてを検索できます。",
    ),
    "start.search": Text(
        "Search what was said and what is remembered",
        "搜索说过的话和记住的内容",
        "話されたことと記憶を検索",
    ),
    "start.filters": Text("Narrow the search", "筛选", "絞り込み"),
    "start.kind": Text("Kind", "类型", "種類"),
    "start.any": Text("any", "全部", "すべて"),
    "start.status": Text("Status", "状态", "状態"),
    "start.status_all": Text("any", "全部", "すべて"),
    "start.status_now": Text("still holds", "仍然有效", "今も有効"),
    "start.from": Text("From", "从", "開始"),
    "start.to": Text("to", "到", "終了"),
    "start.do": Text("Search", "搜索", "検索"),
    "start.people": Text("People", "人员", "人"),
    "start.sessions": Text("Sessions", "会话", "セッション"),
    "start.nobody": Text(
        "Nobody is known yet. Send a first message:",
        "还没有任何人。发送第一条消息：",
        "まだ誰も知りません。最初のメッセージを送ってください：",
    ),
    "start.not_yet": Text(
        "Nothing was there at this time. Move the clocks forward.",
        "此时什么也没有。请将时钟向后调。",
        "この時点では何もありません。時計を進めてください。",
    ),
    "start.no_sessions": Text(
        "No session yet: it appears with its first turn.",
        "还没有会话：第一轮对话后出现。",
        "セッションはまだありません。最初の発話で現れます。",
    ),
    "start.nothing_found": Text(
        "Nothing found. Try other words, or fewer filters.",
        "没有相关内容。换个词，或减少筛选。",
        "該当するものがありません。別の言葉にするか、絞り込みを減らしてください。",
    ),
    "count.states": Text("states {n}", "状态 {n}", "状態 {n}"),
    "count.preferences": Text("preferences {n}", "偏好 {n}", "好み {n}"),
    "count.sessions": Text("sessions {n}", "会话 {n}", "セッション {n}"),
    "count.turns": Text("turns {n}", "对话 {n}", "発話 {n}"),
    "count.memory": Text("memory {n}", "记忆 {n}", "記憶 {n}"),
    "kind.event": Text("Turn", "对话", "発話"),
    "kind.state": Text("State", "状态", "状態"),
    "kind.preference": Text("Preference", "偏好", "好み"),
    "kind.session_memory": Text("Session memory", "会话记忆", "セッションの記憶"),
    "state.until": Text("until", "直到", "まで"),
    "clock.about": Text("The time shown", "查看的时间", "見ている時点"),
    "clock.as_of": Text("True at", "为真于", "真の時点"),
    "clock.known_at": Text("Known at", "得知于", "知った時点"),
    "clock.now": Text("now", "现在", "現在"),
    "page.time": Text("Time", "时间", "時刻"),
    "op.insert": Text("learnt", "得知", "記憶"),
    "op.add": Text("learnt", "得知", "記憶"),
    "op.update": Text("changed", "更改", "変更"),
    "op.supersede": Text("new version", "新版本", "新しい版"),
    "op.close": Text("ended", "结束", "終了"),
    "op.done": Text("done", "完成", "完了"),
    "op.expire": Text("expired", "过期", "期限切れ"),
    "op.reopen": Text("opened again", "重新开启", "再開"),
    "op.put": Text("put", "加入", "追加"),
    "op.revoke": Text("revoked", "撤销", "取消"),
    "op.remove": Text("removed", "移除", "削除"),
    "status.active": Text("active", "进行中", "進行中"),
    "status.waiting_input": Text("waits for the user", "等待用户", "入力待ち"),
    "status.closed": Text("closed", "已关闭", "終了"),
    "status.pending": Text("pending", "待处理", "未着手"),
    "status.running": Text("running", "运行中", "実行中"),
    "status.done": Text("done", "完成", "完了"),
    "status.error": Text("failed", "失败", "失敗"),
    "status.completed": Text("completed", "已完成", "完了"),
    "status.failed": Text("failed", "失败", "失敗"),
    "status.candidate": Text("seen once", "候选", "候補"),
    "status.confirmed": Text("confirmed", "已确认", "確認済み"),
    "status.revoked": Text("revoked", "已撤销", "取消済み"),
    "polarity.like": Text("likes", "喜欢", "好き"),
    "polarity.dislike": Text("dislikes", "不喜欢", "嫌い"),
    "section.identity": Text("How to address them", "如何称呼", "呼び方"),
    "section.constraints": Text("Constraints and health", "限制与健康", "制約と健康"),
    "section.preferences": Text("Preferences", "偏好", "好み"),
    "section.facts": Text("Facts", "事实", "事実"),
    "section.tasks": Text("Open tasks and plans", "待办与计划", "予定とタスク"),
    "section.mood": Text("Mood", "心情", "気分"),
    "section.session": Text("This session", "本次会话", "このセッション"),
    "section.turns": Text("Turns about the question", "与问题相关的对话", "質問に関する発話"),
    # --- a person ---
    "person.title": Text("A person", "人员", "人"),
    "person.about": Text(
        "What is remembered of a person, as an agent gets it; what has ended, and when.",
        "关于此人记住了什么（与交给智能体的一致）；什么已结束、何时结束。",
        "この人について何を記憶しているか（エージェントに渡す形で）。何がいつ終わったか。",
    ),
    "person.held": Text("Handed to an agent", "交给智能体的内容", "エージェントに渡す内容"),
    "person.question": Text(
        "What would the user ask now?", "用户现在会问什么？", "利用者は今、何を尋ねますか？"
    ),
    "person.budget": Text("Budget", "预算", "予算"),
    "person.ask": Text("Show", "显示", "表示"),
    "person.tokens": Text("{n} of {of} tokens", "{n} / {of} 词元", "{n} / {of} トークン"),
    "person.left_out": Text(
        "{n} left out: the budget is full", "省略 {n} 条：预算已满", "{n} 件は予算に入りません"
    ),
    "person.why": Text("Why is this held?", "为什么记住？", "なぜ記憶しているか"),
    "person.by_agent": Text("the agent's words", "智能体的话", "エージェントの言葉"),
    "person.text": Text("As text for a prompt", "作为提示词文本", "プロンプト用のテキスト"),
    "person.nothing": Text(
        "Nothing was held at this time that an agent would need.",
        "此时没有智能体需要的内容。",
        "この時点でエージェントに必要な記憶はありません。",
    ),
    "person.unknown": Text(
        "Nothing was known of this person at this time. They appear with their first turn.",
        "此时对此人一无所知。第一轮对话后出现。",
        "この時点では、この人について何も知りません。最初の発話で現れます。",
    ),
    "person.mood": Text("Mood", "心情", "気分"),
    "person.moments": Text("{n} moments", "{n} 个时刻", "{n} 件"),
    "person.words": Text("In words", "描述", "言葉"),
    "person.no_mood": Text(
        "No moment of affect yet. They come from turns, write plans or rules.",
        "还没有情绪时刻：由对话、计划或规则带来。",
        "感情の記録はまだありません。発話や計画、ルールから生まれます。",
    ),
    "person.mastery": Text("Mastery", "掌握程度", "習熟度"),
    "person.lessons": Text("{n} lessons", "{n} 次学习", "{n} 回"),
    "person.preferences": Text("Preferences", "偏好", "好み"),
    "person.no_preferences": Text("No preference yet.", "还没有偏好。", "好みはまだありません。"),
    "person.ended": Text("Ended", "已结束", "終わったこと"),
    "person.followed": Text("another version followed", "被新版本取代", "新しい版に変わった"),
    "person.nothing_ended": Text(
        "Nothing has ended.", "没有结束的内容。", "終わったことはありません。"
    ),
    "mood.v": Text("Valence", "效价", "快"),
    "mood.a": Text("Arousal", "唤醒", "覚醒"),
    "mood.d": Text("Dominance", "支配", "支配"),
    # --- a session ---
    "session.title": Text("A session", "会话", "セッション"),
    "session.about": Text(
        "A session as a chat, and beside each turn what it changed.",
        "以聊天形式阅读会话，每轮旁边是它的改动。",
        "チャットとして読むセッション。各発話の横に、それが変えたこと。",
    ),
    "session.memory": Text("Session memory: {n}", "会话记忆：{n}", "セッションの記憶：{n}"),
    "session.agent": Text("Agent:", "智能体：", "エージェント："),
    "session.changed": Text("What this turn changed", "本轮的改动", "この発話が変えたこと"),
    "session.changed_nothing": Text("changed nothing", "没有改动", "変更なし"),
    "session.before": Text("What was known before it", "此前已知的内容", "この前に知っていたこと"),
    "pause.days": Text("{n} days later", "{n} 天后", "{n} 日後"),
    "pause.hours": Text("{n} hours later", "{n} 小时后", "{n} 時間後"),
    "kind.session": Text("Session", "会话", "セッション"),
    "session.earlier": Text("Earlier turns", "更早的对话", "前の発話"),
    "session.live": Text(
        "New turns appear here as they come.",
        "新的对话会自动出现。",
        "新しい発話は自動的に現れます。",
    ),
    "session.later": Text("Later turns", "更晚的对话", "次の発話"),
    "task.task": Text("Task", "任务", "タスク"),
    "task.steps": Text("{n} of at most {of} steps", "{n} / 最多 {of} 步", "{n} / 最大 {of} 歩"),
    "task.forced": Text("stopped at the limit", "达到上限被停止", "上限で停止"),
    "task.stalled": Text("stalled: {n} alike", "停滞：{n} 次相同", "停滞：同じ動作 {n} 回"),
    "task.worked": Text("worked", "成功", "成功"),
    "task.failed": Text("failed", "失败", "失敗"),
    # --- a state's life ---
    "state.title": Text("The life of a state", "状态的一生", "状態の一生"),
    "state.about": Text(
        "Versions on two clocks, revisions as diffs, and which turn each word comes from.",
        "两个时钟上的版本、修订差异，以及每个词来自哪一轮。",
        "二つの時計で見る版、差分で見る改訂、各語がどの発話から来たか。",
    ),
    "state.from": Text("From the turn {turn}", "来自 {turn}", "発話 {turn} から"),
    "state.blame": Text(
        "Each part leads to the turn that it comes from.",
        "每一部分都指向其来源的对话。",
        "各部分は、元になった発話につながっています。",
    ),
    "state.plane": Text(
        "When it was true, and since when that was known",
        "何时为真，何时得知",
        "いつ真で、いつ知られたか",
    ),
    "state.true": Text("true", "为真", "真である時"),
    "state.revisions": Text("Revisions: {n}", "修订：{n}", "改訂：{n}"),
    "state.learnt": Text("learnt", "得知于", "知った時"),
    "state.plan": Text("plan", "计划", "計画"),
    "state.by": Text("by", "提取者", "抽出"),
    # --- what changes something ---
    "act.will": Text("What will happen", "将会发生什么", "これから起きること"),
    "act.look": Text("See what will happen", "查看将会发生什么", "何が起きるかを見る"),
    "act.leave": Text("Leave it as it is", "保持原样", "このままにする"),
    "act.otherwise": Text(
        "Nothing was done: something has changed since this page was made. Read it again.",
        "未执行任何操作：此页面生成后情况有变。请重新阅读。",
        "何も実行していません。このページを開いた後に変化がありました。もう一度お読みください。",
    ),
    "change.link": Text("Correct or end", "更正或结束", "訂正または終了"),
    "change.title": Text("Correct or end", "更正或结束", "訂正または終了"),
    "change.about": Text(
        "Correct or end a state, with a reason that stays with it.",
        "更正或结束一个状态，并留下原因。",
        "状態を訂正または終了します。理由は記録に残ります。",
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
        "The reason: the life of this one fact. She lived in Leeds, then in Ancoats; each revision "
        "says why, by whom, and quotes what she said.",
        "原因：这条事实的一生。她先住在 Leeds，后住在 Ancoats；每次修订都说明原因、提取者并引用她的话。",
        "理由：この事実の一生。Leeds に住み、その後 Ancoats に移りました。"
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
    "state.because": Text("Reason:", "原因：", "理由："),
    "state.not_yet": Text(
        "Nothing was known of it at this time. Move the clocks forward.",
        "此时对它一无所知。请将时钟向后调。",
        "この時点では何も知られていません。時計を進めてください。",
    ),
    **PIPELINE,
}


class Texts:
    """The texts in one language; templates call it `t`."""

    def __init__(self, language: Language) -> None:
        self._language = language

    def __call__(self, key: str, **values: Any) -> str:
        """A text with its values put in. Raises KeyError where nobody has written it."""
        text: str = getattr(TEXTS[key], self._language)
        return text.format(**values) if values else text

    def or_else(self, key: str, text: str) -> str:
        """A text, or another where nobody has written it."""
        return self(key) if key in TEXTS else text
