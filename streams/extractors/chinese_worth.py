"""Chinese: what is worth keeping of what was said. It is read alone, months later.

Who somebody is, where they live and whom they live with says something however short it is. What
they did, do, plan, decide or must keep to says something only if it is of a kind that lasts
(`_LIFE`). In doubt it is left out; search finds the turn.
"""

# ruff: noqa: E501 - a pattern that stands alone is one line

import re
from collections.abc import Callable

from streams.extractors.chinese_words import fold

_LIFE = re.compile(
    # work and studies
    r"记账|早起|海边|发版|上线|改[去学考住]|工作室|换(?:了)?(?:份|个)?(?:新)?工作|份工作|新工作|跳槽|转行|辞职|离职|入职|升职|晋升|转岗|创业|开店|开(?:了)?[^，]{0,8}(?:店|公司|馆|厅)|书店|店|公司|退休|失业|被裁|实习|offer|产品经理|课长|团队|副业|自由职业|"
    r"大学|本科|专科|大专|硕士|博士|研究生|考研|考公|高考|留学|毕业|录取|考上|退学|休学|复读|雅思|托福|多益|toeic|gre|cpa|证|驾照|驾驶|科目[一二三四]|奖学金|学位|论文|专业|转学|夜校|"
    r"学(?!会|到|校|着|习(?!舞|琴|画|法|英|日|德|韩|西|编))[^习费生]|英语|日语|日文|德语|法语|韩语|韩文|西班牙语|编程|python|rust|java|"
    # arts, sport and what is made
    r"琴|吉他|鼓|乐队|合唱|唱歌|跳舞|舞|画|书法|摄影|拍照|相机|写作|小说|博客|手账|日记|拼豆|乐高|编织|钩针|陶艺|木工|烘焙|园艺|种菜|种花|菜园|番茄|收藏|集邮|桌游|剧本杀|象棋|围棋|电竞|"
    r"跑(?:步|完|了|五|十|\d)|公里|半马|全马|马拉松|游泳|健身|瑜伽|普拉提|拳|武术|跆拳道|爬山|登山|徒步|露营|攀岩|骑行|骑车|骑|滑雪|冲浪|潜水|钓鱼|篮球|足球|羽毛球|网球|乒乓|排球|高尔夫|冥想|打坐|晨跑|夜跑|环岛|训练|"
    r"比赛|冠军|亚军|第[一二三]名|获奖|得奖|入选|展|演唱会|音乐会|音乐节|话剧|博物馆|海洋馆|美术馆|动物园|看(?:半小时)?书|读书|"
    # the body
    r"手术|住院|出院|骨折|崴|扭伤|摔|确诊|诊断|治疗|化疗|怀孕|备孕|生(?:了|孩子|娃|女儿|儿子|宝宝)|体检|献血|减肥|减重|减脂|瘦|控糖|戒|吃素|低碳|断食|失眠药|吃药|针灸|康复|"
    # people, animals, homes, money, travel
    r"结婚|订婚|领证|婚礼|离婚|分手|脱单|求婚|恋爱|搬|租|买房|买车|房贷|首付|装修|移民|定居|落户|养(?!成)|领养|收养|猫|狗|柯基|金毛|仓鼠|鹦鹉|志愿|义工|支教|捐|"
    r"存(?:够|了|下|到|五|十)|攒|万|投资|理财|旅行|旅游|出国|环游|自驾|打工度假|去(?:了)?(?:趟|一趟)?(?:西藏|云南|新疆|北京|上海|广州|深圳|成都|重庆|厦门|三亚|大理|香港|台湾|日本|京都|大阪|东京|韩国|泰国|美国|加拿大|英国|法国|德国|意大利|"
    r"西班牙|冰岛|新西兰|澳洲|澳大利亚|欧洲|新加坡|马来西亚|越南|俄罗斯|国外|外地|大城市)|下厨|做饭"
)
_COUNSEL = re.compile(  # what anybody resolves after good advice
    r".*(?:感觉|这段时间|心情|心理|咨询|情绪|沟通|努力|坚持|调整|改变|尝试|勇气|面对|爱护|坚定|考虑一下|好好|继续|控制|自己的(?:需求|目标|选择)|孤立|迷茫|寻求|帮助|符合|建议|感情|打乱|陪同|机会|意见|失败|焦虑|不行|怎么).*"
)
_POINTING = re.compile(
    r".*(?:这[家个条款种里边口两些样]|那[家个条款种里边口些样]|一些方法).*|也?只能这样.*|(?:就)?(?:选|用|要|去)(?:这|那|它).*"
)
_ANYBODY = re.compile(  # of a like: a person, how one lives, what somebody does
    r".*(?:女生|男生|女孩|男孩|男人|女人|网友|追求者|妈妈|父母|爸妈|婆婆|公公|丈夫|老公|老婆|女朋友|男朋友|女友|男友|同事|领导|同学|舍友|室友|孩子|对方|别人|自己|家庭|成员|人类|情绪|心情|陌生人|感情|行为|嘴脸|唠叨|嫉妒|言行|显摆|监管|坏人|的人|脸上|心理|社交|选择|认为|正常|麻烦|他|她|我|它).*"
    r"|(?:尤其|特别)是.*|(?:我)?自己.{0,4}|活着.*|人生|生活|世界|所有人|一切|周围.*|上班|上学|起床|坐着|躺着|睡觉|美味|手机|被.*|一直.*|一个人.*|专业|学校|工作|学习|课|.*(?:去死|自杀|了结|和|也|另|，).*|.{13,}"
)
_OFFERED = re.compile(
    r"(?!逛|去|看|住|吃|泡)[^，。]{2,}?(?:酒店|宾馆|餐馆|餐厅|饭店|分店|店|景点|殿|寺|宫|博览馆|旅游村|度假村)|旅游村|有特色的.*|.*(?:的感觉|多一些|型|的地方|公园|牛排)|游玩|高空挑战|免费.*"
)
_PASSING = re.compile(
    r".*(?:玩|玩玩|转一?转|看看|逛逛|吃个?饭|来吃饭|走走|一个会|的群|功能)(?:了)?|(?:而|双方|我双方|最初|后来).*|.*后|.*地铁.*"
)
_LIMITS = re.compile(  # what one cannot do whatever the day, and how the agent is to answer
    r"(?!每次(?!回|发|改|提)|每个月|确实|基本上|.*(?:都得|琢磨|觉得|感到|自己|得到|情绪|相亲|孩子|感情|面对|他人|痛苦|只能这样|工作都)).*(?:吃|喝|碰|辣|酒|糖|肉|海鲜|虾|奶|咖啡|烟|开车|跑步|运动|爬|提重|熬夜|久站|久坐|电话|消息|短信|打扰|点(?:半|以后|之后|以前|之前|前|后)?|"
    r"周末|工作日|小时|分钟|\d|[两二三四五六七八九十百]+(?:个|字|句|行|条|点|元|块|天|次|人)|回答|回复|解释|答案|说话|称呼|叫我|用“|别用|中文|英文|英语|简体|繁体|表情|字|句|简短|简洁|短|长|结论|格式|表格|列表|标题|例子|代码|变量|注释|命名|函数|测试|提交|"
    r"分支|下划线|缩进|外网|联网|内网|软件|安装|docker|依赖|系统|公开|台币|人民币|报价|价格|推荐|菜谱|香菜|葱|蒜|单位|公里|摄氏|来源|链接|密码|隐私|术语|废话|客套|过敏|宠物|吸烟|电梯|楼梯|轮椅|现金|发票).*"
)
_TERM = re.compile(
    r"(?!.*(?:相当|一般|非常|有名))(?=[^，。]{1,5}$|.*[\da-z点号周])(?!.*(?:的(?!名)|是|为|自己|因为|意识|抱怨|冷淡|缩手|好感|热情|想要|逃避|发展|霸王|恶心|性格|感情|情绪|觉得|应该|这样|明白|你|我|他|她|人|做|不|没|了|玩|整天|变|就|也|可以)).*"
)
_ERRAND = re.compile(
    r".*(?:论文|初稿|报告|作业|违章|房租|电费|水费|费|快递|退货|简历|合同|材料|申请|表|手续|驾照|证|签证|护照|体检|检查|复查|镜|手术|疫苗|预约|挂号|税|账|脚本|方案|ppt|代码|项目|稿|邮件|发票|票|房贷|信用卡|报名|保险|行李|打扫|书|课|考试|测试|文档|发布|上线|请假|物业|车|机|房|衣|药|礼物|蛋糕|柜|床|灯|电脑|装修|数据|备份|ppt|版|会议|纪要|bug|合并).*"
)
_NO_TASK = re.compile(
    r"(?:[早晚][上点])?(?:起床|睡觉|加衣|添衣|[加添多]穿?衣服)|(?:之前|以前|后天|今天|晚上|早上|最后|明天).*(?:觉得|值得|睡得|起得|认为|发现|的时候|工作)[^，]*|.*(?:注意|需要.*是|最后时|起得|睡得|男朋友|女朋友|动作|吃|住)"
)
_SOON = re.compile(  # of a duty: over before anybody asks
    r".*(?:今[天晚早]|明[天早晚]|后天|早上|上午|中午|下午|晚上).*"
)
_TILL_TOMORROW = re.compile("(?:我|就|也)*(?:今[天早晚]|明[天早晚])")
_MUST = re.compile(  # of a task: what a day is like, and what one should feel
    r"(?:之前|以前|早上|晚上|每天|一点点|从小).*"  # "早上需要很早起来上班"
    r"|(?:记住|感恩|及时|放轻松|接受|勇敢|更加|不要过度|相信|给自己).*"  # "记住朋友的支持"
    r"|吃饭|大概.*|重申.*|.*对自己.*|.*(?:就要启程|就要开始上|就要开学|新的环境|准备好|没有做好准备)"
)
_OTHERS_DEEDS = re.compile(r".*(?:剪得|压得|相处|盯着|让人|汇报|觉得).*")
_TRADE = re.compile(
    r".*(?:岁|师|员|医生|教授|护士|司机|工|家|记者|经理|主管|程序|老师|学生|会计|公务|自由职业|码农|设计|产品|运营|销售|老板|店|厨|翻译|编辑|作者|演员|导演|教练|警察|军人|农民|志愿|主播|博主|女生|男生|女孩|男孩|女性|男性|女士|先生|男|女|博士|硕士|本科|大[一二三四]|研[一二三]|高[一二三]|初[一二三]|[一二三四五六]年级|分析|行政|人事|财务|客服|后端|前端|开发|测试|妈|爸|宝妈|抚养人|独生|者|生意|行业|业|工作|公司|教|上班|实习|馆|厂|院|校|团队|项目|部门|hr|运维|金融|互联网|年).*"
)
_NO_TRADE = re.compile(
    r"买.*|.*(?:自习|任务|旁边|隔壁|完成|等人)[^，]*|(?:女|男|好|坏|老|中国|大)人|(?:时|然|初|成|面|场|即|不|做不)[^，]*|.*(?:几年|努力|尝试|寻找|没有|看到|同学们|失败|废物|自卑|害怕|内向|总是|喜欢).*|.*(?:当成|不到|崩溃|生气|无话|比不上|强的人|懦弱的人|矛盾体|在家想工作|岁的人|感恩的人|规矩的人|懂得).*"
)
_PLACE_NO = re.compile(
    r"一个.*|.*(?:压力|父母|家长|原因).*|.{9,}|.*(?:[下里]|的|自己|讨厌|软弱|新|一个|个|单亲)"
)


# --- what sounds like a fact of a kind, and is none ---------------------------------------------
_UNSETTLED = re.compile(  # of a like or dislike: how the talk goes, who it is about, how work is now
    r".*(?:目前|现在|当时|这份|大概|有妇之夫|炮友|前任|(?:任何|很多|所有|一些)(?:事|人|东西|方面)|有一件|一开始|来访者|想法|不能|更没有).*"  # "目前的工作"
    r"|(?:说话|父亲|母亲|像.*|发脾气|指责|网络(?:世界)?|讨好|炫耀|乱想.*|呆在.*|日常生活|学习、生活|不(?:回家|能|敢|想|愿|出门|说话).*|.*(?:还|基本|激情|调整方法)|主动.*|与人.*|在职场.*|以后.*|不打扮)"  # "与人倾诉"
)
_SCHOOLDAYS = re.compile(  # of a study: how school goes, not what is studied
    r"在学(?:校|业|习[上方中成]).*"  # "在学校没有朋友"
    r"|.*(?:怕|选错|学会|爱自己|独处|还是没有|但|保持|努力).*"  # "怕自己选错了专业"
)
_NO_TURN = re.compile(  # of a deed: what never was one
    r"(?:们|对|最担心|最终).*|.*(?:无法|觉得|压力|想死|要死|[男女]朋友是|困境|小学毕业|初中毕业).*"  # "考上对我是压力"
)
_TOLD_OF_THEM = re.compile(  # of people: how they treat one, or what went on after
    r".*(?:后|时|关心.*|有一个女|还是出去.*|以前.*)"  # "父母离婚后"
)
_NO_HOME = re.compile(  # "同一个房子里", "楼上"
    r".*(?:装修|施工|停电|停水|停车|打扫|漏水|家庭|环境|一个.*的|同一|餐厅|楼[上下]|寻找|拔尖|的地方|自己).*|和.+住"
)
_FELT_AT = re.compile(  # of a limit: what befalls somebody, or others must do
    r".*(?:变成|都不好|[今明]天|今晚|明早|[他她]|舍不得|比如|爷爷|奶奶|网课|学校是|文凭|做到|反抗|不允许我|小事|待.*天|境地|适应).*"  # "只能照顾爷爷奶奶"
)


def _deed(value: str) -> bool:
    return bool(_LIFE.search(value)) and not (
        _PASSING.fullmatch(value)
        or _POINTING.fullmatch(value)
        or _COUNSEL.fullmatch(value)
        or _NO_TURN.fullmatch(value)
    )


def _liked(value: str) -> bool:
    return not (
        _ANYBODY.fullmatch(value)
        or _POINTING.fullmatch(value)
        or _OFFERED.fullmatch(value)
        or _UNSETTLED.fullmatch(value)
    )


def _task(value: str) -> bool:
    if _NO_TASK.fullmatch(value) or _COUNSEL.fullmatch(value) or _OTHERS_DEEDS.fullmatch(value):
        return False
    return bool(_ERRAND.fullmatch(value)) or not _MUST.fullmatch(value)


_CHECKS: dict[str, Callable[[str], bool]] = {
    "event": _deed,
    "habit": lambda value: (
        _deed(value)
        or bool(re.search(r"[\d一二两三四五六七八九十半]+(?:点|次|公里|杯|分钟|小时)", value))
    ),
    "plan": lambda value: _deed(value) and not _TILL_TOMORROW.match(value),
    "goal": _deed,
    "decision": lambda value: (
        (not re.search("之前$|是因为|觉得|谈恋爱", value) and _deed(value))
        or bool(
            re.search("[a-z]{2,}|[a-z]$|重写|采用|国庆|租", value)
            and not _COUNSEL.fullmatch(value)
            and not _POINTING.fullmatch(value)
        )
    ),
    "like": _liked,
    "dislike": _liked,
    "favourite": lambda value: not re.search("嘴脸|的人|自己|他|她|我", value),
    "limit": lambda value: bool(_LIMITS.fullmatch(value)) and not _FELT_AT.fullmatch(value),
    "task": _task,
    "task_done": lambda value: (
        bool(_ERRAND.fullmatch(value))
        and not _NO_TASK.fullmatch(value)
        and not re.search("(?:回来|过来|出来|回去)$", value)
    ),
    "work": lambda value: (
        bool(len(value) <= 4 or _TRADE.fullmatch(value)) and not _NO_TRADE.fullmatch(value)
    ),
    "home": lambda value: not _NO_HOME.fullmatch(value),
    "name": lambda value: (
        len(value) <= 8
        and not re.search("好|干|别|不要|去|做|的|起床|帮|了|他们|[咋怎啥哪何谁]|什么", value)
    ),
    "origin": lambda value: (
        not _PLACE_NO.fullmatch(value)
        and not re.search(
            r"伤害|中$|原生|负责|[年月日]$|[一两二三四五六七八九十几\d][个类种班]", value
        )
    ),
    "partner": lambda value: not re.search("(?<!十)几年", value),
    "language": lambda value: (
        bool(re.search("[语话文腔琴鼓笛箫胡筝]|吉他", value)) and "错" not in value
    ),
    "study": lambda value: (
        not _SCHOOLDAYS.fullmatch(value)
        and not re.search("看到|同学们|上也|无法|感到|焦虑|痛苦|听课|压力", value)
    ),
    "people": lambda value: (
        not re.search("当时|这|那|挑剔|怕疼|吃货|(?<![男女])朋友.*(?:爱|喜欢)", value)
        and not _TOLD_OF_THEM.fullmatch(value)
    ),
    "possession": lambda value: (
        not re.search(
            "错|时$|次$|的非?[常很太]|[得的](?:很|非常|挺)|^(?:建设|工商|农业|招商|中国|交通|民生|中信|光大|浦发|移动|联通|电信|邮政|储蓄)$|^(?:电脑|手机|短信|电话|流量)$",
            value,
        )
    ),
    "ended": lambda value: (
        not re.match("可以|能|会|要|想|扔了|卖了|送人", value)
        and not re.search(
            "不[用要能会得肯想让]|没有?(?![了家命])|别(?!墅)|还[没是]|差点|(?<!搬)(?:[进出]去|[出下起]来)",
            value,
        )
    ),
    "": lambda value: bool(_TERM.fullmatch(value)),
}
"""By family ("" is a correction's): whether a value says something by itself."""


def worth(family: str, value: str, fold: str) -> bool:
    """Whether it says something by itself."""
    check = _CHECKS.get(family)
    return check is None or check(fold)


def fits(takes: str, value: str, clause: str) -> bool:
    """Whether a value is of the kind that a rule takes: a duty is a thing to be seen to, and not by
    tomorrow; of other kinds nothing is known."""
    said = fold(value)
    return takes != "duty" or bool(_ERRAND.fullmatch(said) and not _SOON.fullmatch(said))
