"""Chinese: folds traditional characters to simplified ones; findings as sentences about the user."""

# ruff: noqa: E501 - a list of words is one line, however long

import re

_FOLDED = (  # traditional and simplified: the characters of the rules below
    "歡欢 愛爱 討讨 厭厌 惡恶 對对 過过 還还 現现 從从 來来 說说 記记 錯错 實实 際际 應应 該该 於于 會会 "
    "議议 決决 擇择 選选 項项 採采 換换 機机 員员 師师 們们 個个 開开 關关 門门 時时 間间 學学 習习 語语 "
    "畢毕 業业 職职 務务 場场 華华 國国 歲岁 號号 戶户 點点 鐘钟 預预 絕绝 無无 論论 總总 這这 裡里 裏里 "
    "樣样 別别 種种 類类 動动 態态 聽听 讀读 寫写 單单 劃划 計计 畫画 買买 賣卖 車车 電电 話话 費费 賬账 "
    "帳账 訂订 報报 專专 題题 資资 庫库 變变 數数 為为 爲为 處处 當当 儘尽 盡尽 強强 請请 讓让 將将 後后 "
    "麼么 麽么 飯饭 湯汤 魚鱼 麵面 麥麦 兩两 條条 貓猫 養养 媽妈 爺爷 奶奶 親亲 孫孙 婆婆 紹绍 稱称 簡简 "
    "搞搞 辦办 結结 單单 離离 婚婚 齡龄 輩辈 級级 課课 試试 驗验 證证 據据 準准 確确 認认 則则 規规 "
    "終终 於于 剛刚 該该 務务 須须 須须 週周 禮礼 貝贝 負负 責责 雙双 熱热 鐵铁 癮瘾 戀恋 興兴 趣趣 "
    "較较 傾倾 鍾钟 討讨 腸肠 減减 糖糖 懷怀 葷荤 齋斋 乾干 標标 達达 續续 繳缴 檔档 遞递 擬拟 編编 "
    "幾几 長长 範范 圍围 嚴严 禁禁 許许 勿勿 傳传 發发 給给 與与 東东 廣广 灣湾 臺台 樂乐 紅红 黃黄 "
    "導导 視视 觀观 籃篮 覺觉 裝装 壞坏 買买 問问 經经 歷历 難难 過过 傷伤 氣气 憤愤 緊紧 張张 擔担 慮虑 "
    "兒儿 嗎吗 誰谁 妳你 姊姐 閨闺 侶侣 腦脑 鳥鸟 鸚鹦 鵡鹉 龜龟 倉仓 龍龙 馬马 駕驾 騎骑 鋼钢 辭辞 轉转 晉晋 遷迁 訓训 練练 "
    "賽赛 獎奖 獲获 書书 唸念 碩硕 嬰婴 姪侄 腳脚 頭头 齒齿 鳴鸣 壓压 腎肾 風风 濕湿 療疗 診诊 斷断 術术 癥症 鬱郁 暈晕 製制 蝦虾 "
    "豬猪 雞鸡 鴨鸭 蔥葱 鹽盐 菸烟 煙烟 網网 紙纸 筆笔 攝摄 繪绘 彈弹 釣钓 潛潜 巖岩 織织 團团 獨独 棟栋 層层 鄉乡 鎮镇 縣县 "
    "區区 萬万 億亿 塊块 積积 儲储 貸贷 債债 夢梦 願愿 備备 競竞 撿捡 隻只 窩窝 輛辆 輪轮 艘艘 飛飞 鏡镜 鋪铺 廠厂 險险 銷销 創创 "
    "啟启 啓启 僱雇 裁裁 簽签 約约 錄录 屆届 當当 贏赢 奪夺 冠冠 亞亚 軍军 輸输 針针 確确 徵征 錶表 顆颗 盃杯 櫃柜 烏乌 塗涂 戶户 "
    "臟脏 髒脏 廳厅 館馆 銀银 託托 產产 懶懒 墊垫 徹彻 適适 熬熬 癒愈 蹟迹 湊凑 攢攒 陽阳 週周 歸归 "
    "憂忧 慘惨 嘆叹 滿满 輕轻 鬆松 樓楼 鄰邻 屆届 領领 隊队 營营 園园 護护 醫医 藥药 導导 慣惯 遊游 戲戏 譯译"
)  # fmt: skip
_SIMPLIFIED = str.maketrans({pair[0]: pair[1] for pair in _FOLDED.split() if pair[0] != pair[1]})
_OURS = re.compile("(?:我们|咱们|我|咱)的")
_US = re.compile("我们俩?|咱们?")


def folded(text: str) -> str:
    """In lower case and simplified characters, of the same length."""
    low = text.lower().translate(_SIMPLIFIED)
    return low if len(low) == len(text) else text.translate(_SIMPLIFIED)


def tell(says: str, parts: dict[str, str]) -> str:
    """A rule's `says` with its parts; one 了 is enough."""
    if says.endswith("{value}了。") and parts["value"].endswith("了"):
        says = says.replace("了。", "。")
    sentence = says.format_map({name: third_person(text) for name, text in parts.items()})
    if parts["condition"]:
        sentence = f"{sentence.removesuffix('。')}（{third_person(parts['condition'])}）。"
    return sentence


def third_person(text: str) -> str:
    """ "我的车" -> "自己的车"; an instruction keeps the user as 用户."""
    if "我" not in text and "咱" not in text:
        return text
    return _US.sub("他们", _OURS.sub("自己的", text)).replace("我", "用户")
