"""The texts of a person, a session and a state: a part of the catalogue."""

from streams.serving.inspector.text import Text

MEMORY: dict[str, Text] = {
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
    "person.all_ended": Text("All {n}", "全部 {n} 条", "全 {n} 件"),
    # --- all facts of a person ---
    "facts.title": Text("All facts", "全部事实", "すべての事実"),
    "facts.about": Text(
        "Facts and preferences of a user, in force and ended, by kind and extractor.",
        "用户的全部事实与偏好，按类型和提取者筛选。",
        "ユーザーのすべての事実と好み。種類と抽出器で絞り込めます。",
    ),
    "facts.status": Text("Status", "状态", "状態"),
    "facts.kind": Text("Kind", "类型", "種類"),
    "facts.extractor": Text("Extractor", "提取者", "抽出器"),
    "facts.show": Text("Filter", "筛选", "絞り込む"),
    "facts.count": Text("{n} facts", "{n} 条事实", "{n} 件の事実"),
    "facts.since": Text("since", "自", "開始："),
    "facts.extracted_by": Text("extracted by {name}", "由 {name} 提取", "{name} が抽出"),
    "facts.none": Text("No fact matches.", "没有符合条件的事实。", "条件に合う事実はありません。"),
    "fact.in_force": Text("in force", "有效", "有効"),
    "fact.ended": Text("ended", "已结束", "終了"),
    "fact.fact": Text("fact", "事实", "事実"),
    "fact.relation": Text("relation", "关系", "関係"),
    "fact.task": Text("task", "任务", "タスク"),
    "fact.summary": Text("summary", "摘要", "要約"),
    "fact.preference": Text("preference", "偏好", "好み"),
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
    "kind.affect": Text("Mood", "心情", "気分"),
    "kind.link": Text("Link between turns", "对话间的联系", "発話のつながり"),
    "kind.thread": Text("Thread", "话题线", "スレッド"),
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
    # --- a plan ---
    "plan.title": Text("A write plan", "写入计划", "書き込み計画"),
    "plan.about": Text(
        "What an extractor proposed, out of which turn, and what that changed.",
        "提取者提出了什么、来自哪一轮、改动了什么。",
        "抽出器が何を提案したか、どの発話からか、何を変えたか。",
    ),
    "plan.extractor": Text("Extractor", "提取者", "抽出"),
    "plan.turn": Text("Turn", "对话", "発話"),
    "plan.place": Text("Place in the log", "日志中的位置", "ログでの位置"),
    "plan.changes": Text("What it changed: {n}", "改动：{n}", "変えたこと：{n}"),
    "plan.first_of": Text(
        "The first {n} of {of}", "前 {n} 条，共 {of} 条", "全 {of} 件の最初の {n} 件"
    ),
    "plan.changed_nothing": Text(
        "It changed nothing: all of it was known, or refused.",
        "没有改动：内容已知或被拒绝。",
        "何も変えませんでした。既知か、退けられました。",
    ),
    "plan.record": Text("The record", "记录", "記録"),
    "state.because": Text("Reason:", "原因：", "理由："),
    "state.not_yet": Text(
        "Nothing was known of it at this time. Move the clocks forward.",
        "此时对它一无所知。请将时钟向后调。",
        "この時点では何も知られていません。時計を進めてください。",
    ),
}
