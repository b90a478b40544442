"""The texts of the pipeline and of dead letters: a part of the catalogue."""

from streams.serving.inspector.text import Text

PIPELINE: dict[str, Text] = {
    "pipeline.title": Text("The pipeline", "流水线", "パイプライン"),
    "pipeline.about": Text(
        "What flows where, how fast, how far behind; and what was refused.",
        "数据流向、速率、积压，以及被拒绝的记录。",
        "何がどこへ、どの速さで流れ、どれだけ遅れているか。拒否された記録も。",
    ),
    "pipeline.drawing": Text(
        "The pipeline as a drawing; the tables below say the same",
        "流水线图；下方表格内容相同",
        "パイプラインの図。下の表も同じ内容です",
    ),
    "pipeline.live": Text(
        "Live: looked at once a second; rates are means of some seconds.",
        "实时：每秒查看一次，速率为数秒的均值。",
        "ライブ：毎秒確認。速度は数秒間の平均です。",
    ),
    "pipeline.still": Text(
        "As of when this page was made. Load it again for newer numbers.",
        "这是页面生成时的数值，重新加载可更新。",
        "ページ作成時点の数値です。再読み込みで更新されます。",
    ),
    "pipeline.paused": Text("Paused.", "已暂停。", "停止中。"),
    "pipeline.lost": Text(
        "The server does not answer. This page tries again by itself.",
        "服务器没有响应，本页会自动重试。",
        "サーバーが応答しません。自動的に再試行します。",
    ),
    "pipeline.pause": Text("Pause", "暂停", "一時停止"),
    "pipeline.resume": Text("Resume", "继续", "再開"),
    "pipeline.away": Text(
        "No broker answers. This page goes on by itself when one does.",
        "Kafka broker 没有响应；恢复后本页会自动继续。",
        "ブローカーが応答しません。復帰すると自動的に続きます。",
    ),
    "pipeline.not_ready": Text(
        "This server does not answer everything yet:",
        "此服务器尚未完全就绪：",
        "このサーバーはまだ準備中です：",
    ),
    "pipeline.now_only": Text(
        "This view is always of now: the clocks do not move it.",
        "此视图始终显示现在，不受时钟影响。",
        "この画面は常に現在です。時計では動きません。",
    ),
    "pipeline.of_all": Text(
        "Rates, lag and latency are of all tenants together: a key of all tenants shows them.",
        "速率、积压和延迟是所有租户合计，需全租户密钥查看。",
        "速度・遅れ・所要時間は全テナントの合計です。全テナント用のキーで表示されます。",
    ),
    "pipeline.of_files": Text(
        "Over files one fold does all the work. It has no lanes that stall, no tables to restore "
        "and no transactions: how many records wait and how long a batch takes to be written stand "
        "for these. Counts begin with this server.",
        "文件模式下由单一折叠完成全部工作：没有会停滞的通道、没有需恢复的表、也没有事务；"
        "以等待的记录数和每批写入时间代替。计数从服务器启动开始。",
        "ファイル上では一つの畳み込みがすべてを行います。停滞するレーン、復元するテーブル、"
        "トランザクションはなく、待ちの件数と一括書き込みの時間を示します。件数はこのサーバーの起動からです。",
    ),
    "pipeline.of_history": Text(
        "Sinks write this history, and this server only reads it, so it knows no rates and no lag. "
        "Start it with --bootstrap, too.",
        "该历史由 sink 写入，本服务器只读，因此不知道速率和积压。请同时指定 --bootstrap。",
        "この履歴は sink が書き、サーバーは読むだけなので、速度も遅れも分かりません。"
        "--bootstrap も指定して起動してください。",
    ),
    "pipeline.no_ports": Text(
        "Latency, stalls and the workers' restores are known to workers alone: start this server "
        "with --metrics-from HOST:PORT.",
        "延迟、停滞和 worker 的恢复进度只有 worker 知道："
        "请用 --metrics-from HOST:PORT 启动服务器。",
        "所要時間・停滞・復元の進み具合はワーカーだけが知っています。"
        "--metrics-from HOST:PORT を付けて起動してください。",
    ),
    "pipeline.ports_away": Text(
        "Not every worker or sink answers at its metrics port; what only they know is missing.",
        "部分 worker 或 sink 的指标端口无响应，相应数值缺失。",
        "メトリクスのポートに応答しないワーカーまたは sink があり、その数値はありません。",
    ),
    "pipeline.unknown": Text("not known", "未知", "不明"),
    "pipeline.who": Text("Workers", "处理者", "処理"),
    "pipeline.rate": Text("Rate", "速率", "速度"),
    "pipeline.read": Text("Read", "已读", "読込"),
    "pipeline.signals": Text("User signals", "用户信号", "ユーザー信号"),
    "pipeline.applied": Text("Applied", "已应用", "適用"),
    "pipeline.duplicate": Text("Duplicate", "重复", "重複"),
    "pipeline.dead": Text("Dead", "死信", "不達"),
    "pipeline.withheld": Text("Withheld", "未保留", "非保存"),
    "pipeline.latency": Text("Transaction, 99 %", "事务，99 %", "トランザクション 99 %"),
    "pipeline.restored": Text("Restored", "已恢复", "復元"),
    "pipeline.commit": Text("Write time", "写入耗时", "書き込み時間"),
    "pipeline.behind": Text("Backlog", "积压", "遅れ"),
    "pipeline.waits": Text("Backlog", "等待处理", "待ち"),
    "pipeline.wait": Text("wait", "等待", "待ち"),
    "pipeline.waiting": Text("in the log, not folded", "日志中未折叠", "ログにあり、未処理"),
    "pipeline.unwritten": Text(
        "folded, not in the tables", "已折叠，未入表", "処理済み、表に未書込"
    ),
    "pipeline.stalled": Text("lanes that stall now", "当前停滞的通道", "停滞中のレーン"),
    "pipeline.stalls": Text("stalls so far", "累计停滞", "これまでの停滞"),
    "pipeline.lanes": Text("lanes", "通道", "レーン"),
    "pipeline.sink_lag": Text("not read by sinks", "sink 未读", "sink の未読"),
    "pipeline.sink_oldest": Text(
        "age of what a sink has not written", "sink 未写入的最长时间", "sink 未書込の最長時間"
    ),
    "pipeline.sink_commit": Text("a sink's write, 99 %", "sink 写入，99 %", "sink の書込 99 %"),
    "pipeline.sink_rate": Text("rows that sinks write", "sink 写入行", "sink が書く行"),
    "pipeline.topic": Text("Topic", "主题", "トピック"),
    # --- dead letters ---
    "letters.title": Text("Dead letters", "死信", "不達の記録"),
    "letters.all": Text("all {n}", "全部 {n}", "すべて {n}"),
    "letters.none": Text(
        "None: every record could be applied. One that cannot is kept here, with the reason.",
        "没有：所有记录都已应用。无法应用的记录会连同原因保存在这里。",
        "ありません。適用できない記録は、理由とともにここに残ります。",
    ),
    "letters.bytes": Text("{n} bytes", "{n} 字节", "{n} バイト"),
    "letter.title": Text("A dead letter", "死信", "不達の記録"),
    "letter.about": Text(
        "A record that could not be applied: its bytes, and why.",
        "无法应用的记录：内容与原因。",
        "適用できなかった記録の内容と理由。",
    ),
    "letter.why": Text("Why it was refused", "拒绝原因", "拒否された理由"),
    "letter.key": Text("Key", "键", "キー"),
    "letter.headers": Text("Headers", "标头", "ヘッダー"),
    "letter.said": Text("Content", "内容", "内容"),
    "letter.no_text": Text(
        "These bytes are no text.", "这些字节不是文本。", "テキストではありません。"
    ),
    "letter.cut": Text(
        "It goes on; the JSON has all of it.",
        "未完，JSON 中有全部内容。",
        "続きは JSON にあります。",
    ),
    "letter.replay": Text("Replay", "重放", "再送"),
    "letter.ask": Text("Replay it …", "重放……", "再送する…"),
    "letter.will": Text(
        "Its bytes, key and headers are sent to its topic again. If a worker applies it now, it "
        "takes effect as if it had just come; if not, it becomes a dead letter once more. Remove "
        "the cause first. Only one replay of a letter is needed.",
        "其字节、键和标头将再次发送到原主题。若被应用，效果如同刚刚到达；否则会再次成为死信。"
        "请先消除原因；每条死信只需重放一次。",
        "内容・キー・ヘッダーを元のトピックへ再送します。適用されれば今届いたのと同じ効果があり、"
        "されなければ再び不達となります。先に原因を取り除いてください。再送は一度で十分です。",
    ),
    "letter.sure": Text("Yes, send it again", "是，重新发送", "はい、再送します"),
    "letter.again": Text(
        "also if a worker has refused it again before",
        "即使此前重放后又被拒绝",
        "以前の再送が再び拒否されていても",
    ),
    "letter.cancel": Text("No, leave it", "否，保持原样", "いいえ、そのままにする"),
    "letter.by_hand": Text(
        "A replay needs Kafka. Over files: correct the record and send it once more, to "
        "/v1/records or with turnfold run.",
        "重放需要 Kafka。文件模式下：修正记录后再次发送到 /v1/records，或使用 turnfold run。",
        "再送には Kafka が必要です。ファイルの場合は、記録を直して "
        "/v1/records か turnfold run で送ってください。",
    ),
    "ended.sent": Text(
        "Sent. If it is refused again, a new dead letter says why.",
        "已发送。若再次被拒绝，会有新的死信说明原因。",
        "送信しました。再び拒否された場合は、新しい不達の記録が理由を示します。",
    ),
    "ended.settled": Text(
        "Not sent: it was sent before, or marked as done.",
        "未发送：此前已发送，或已标记为完成。",
        "送信しません：すでに送信したか、完了の印があります。",
    ),
    "ended.of_a_generation": Text(
        "Not sent: it comes from a generation's own topic.",
        "未发送：它来自某个世代自己的主题。",
        "送信しません：世代に固有のトピックのものです。",
    ),
    "ended.other_reason": Text(
        "Not sent: a sink found it in history, where no input belongs.",
        "未发送：它是 sink 在 history 中发现的，不是输入。",
        "送信しません：sink が history で見つけたもので、入力ではありません。",
    ),
    "ended.refused_again": Text(
        "Not sent: a worker has refused it again before.",
        "未发送：此前重放后又被拒绝。",
        "送信しません：以前の再送が再び拒否されています。",
    ),
    "ended.needs_mapping": Text(
        "Not sent: it comes from a topic of the platform's own. "
        "`turnfold admin dlq replay --mapping FILE` maps it again.",
        "未发送：它来自平台自己的主题。`turnfold admin dlq replay --mapping FILE` 会重新映射它。",
        "送っていません。プラットフォーム自身のトピックの記録です。"
        "`turnfold admin dlq replay --mapping FILE` でもう一度変換できます。",
    ),
    "ended.bytes_not_kept": Text(
        "Not sent: its own bytes were not kept.",
        "未发送：原始字节没有保留。",
        "送信しません：元の内容は保存されていません。",
    ),
    "ended.too_large": Text(
        "Not sent: it is too large for a message.",
        "未发送：超出消息大小。",
        "送信しません：大きすぎます。",
    ),
    "ended.withheld": Text(
        "Not sent: it asks to be withheld.",
        "未发送：它要求不予保留。",
        "送信しません：保存しない指定です。",
    ),
}
