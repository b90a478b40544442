"""What a user says is not to be kept: "off the record", "don't store this", "这个别记", "内緒で".

Pure, and of one text: `is_private(text)` is True of a turn whose words ask that it be kept out of
memory. The rules store nothing of it; what lists, searches or packs turns leaves it out.
"""

# ruff: noqa: E501 - a pattern that stands alone is one line

import re

_THIS = r"(?:this|that|it|these|any of (?:this|that|it)|what i(?:'m| am) (?:about to say|saying|telling you)|what i (?:just |have |ever )*(?:said|told you|tell you|wrote)|(?:the |my )?(?:following|next|last|above)(?: \w+)?|anything(?: i \w+)?|(?:this|that|my) (?:message|conversation|chat|part|bit|one|fact|info\w*|detail|secret|turn|note|answer|line)s?)"
_KEEP = r"(?:stor(?:e|ing|ed)|sav(?:e|ing|ed)|keep(?:ing)?|kept|remember(?:ing|ed)?|record(?:ing|ed)?|log(?:ging|ged)?|not(?:e|ing)|memori[sz](?:e|ing|ed)|retain(?:ing|ed)?|archiv(?:e|ing|ed)|sav)"
_NOT = r"(?<!\bi )(?<!\bwe )(?<!\bthey )(?<!\bhe )(?:do not|don'?t|never|please not|no need to|without|refrain from|avoid|you (?:shouldn'?t|should not|must not|mustn'?t|needn'?t|need not|don'?t (?:have|need) to|do not (?:have|need) to|didn'?t|did not)|i (?:do not|don'?t) want you to|i(?:'d| would) (?:rather|prefer)(?: that| if)? (?:you )?(?:not|didn'?t|don'?t|did not)(?: to)?)"
_YOURS = r"(?:(?:your|the|my|long[- ]term|any|permanent|chat) )*(?:memory|memories|notes?|profile|records?|files?|history|logs?|database|storage)"
_HERE = r"(?! (?:like|in mind|short|brief|simple|up\b|going|from|for (?:me|later)|as an? |wrong|well|that way|too|in the (?:oven|fridge)))"
_EN = (
    rf"\b{_NOT} (?:ever |please |try to |also )*{_KEEP}(?: down)? {_THIS}\b{_HERE}",
    rf"\b{_NOT} (?:ever )?(?:write|writing|jot|jotting|put|putting|note|noting|take|taking) {_THIS} down\b",
    rf"\b{_NOT} (?:make|making|take|taking|keep|keeping|leave|leaving|hold|holding) (?:any |a |on )?(?:notes?|records?|logs?|memory|copy|copies|track|trace|to)\b(?: of| about| {_THIS}|[.,!]|$)",
    rf"\b{_NOT} (?:add|put|commit|save|keep|include|write|enter|file|store)(?:t?ing)? {_THIS} (?:to|in|into|on|under) {_YOURS}",
    rf"\b{_NOT} (?!mention it\b)(?:share|tell|repeat|mention|pass|leak|reveal|spread)(?:ing)? {_THIS}(?: on| along)?(?: (?:to|with) (?:anyone|anybody|others?|a soul|him|her|them|my \w+))?(?=[,.!;:]|$| to anyone| with anyone)",
    rf"\b{_NOT} tell (?:anyone|anybody|a soul|others)\b|\b(?:nobody|no ?one) (?:needs to|should|must|has to|else should) (?:know|hear|find out)\b",
    rf"\b(?:keep|treat|consider|hold)(?: all)? {_THIS} (?:to yourself|between (?:us|you and me)|as (?:private|confidential|secret|a secret)|private|confidential|secret|quiet|a secret|off the record|out of {_YOURS}|just between)",
    r"(?:^|[.,;:!?(–—-]\s*|\b(?:just|only|strictly|stays?|keep|kept|remains?|purely|entirely|but|and|so|this is|that is|it is|it's|let's keep (?:it|this)|keep (?:it|this|that)) (?:this |that |it )?(?:strictly |just |only )?)between (?:us|you and me|you and i|ourselves|the two of us)(?=\s*(?:$|[,.:;!)–—-]| i\b| but\b| only\b| please\b))",
    r"\b(?:off[- ]the[- ]record|strictly confidential|in (?:strict |total |full )?confidence(?=[\s,.:;!]*(?:$|[,.:;!–—-]))|in (?:secret|private)(?=[,.:;!]|$)|for your (?:ears|eyes) only|this stays (?:here|between us|private|with you|in this chat)|not for the record|mum'?s the word|incognito(?: mode)?[,.:;!]|this is (?:private|confidential|a secret|secret|sensitive and private)(?=[,.:;!]|$))",
    rf"\bleave {_THIS} out of {_YOURS}|\b{_THIS} (?:isn'?t|is not|shouldn'?t|should not|must not|mustn'?t|doesn'?t|does not|need not|needn'?t|can'?t|cannot|never) (?:be |go |to be |get |belong )*(?:for |to |in |into |on |stay (?:in|on) )*(?:stored|saved|kept|remembered|recorded|logged|noted|memori[sz]ed|repeated|{_YOURS})",
    rf"\bnot to be (?:stored|saved|remembered|recorded|kept|logged|noted|repeated|shared)\b|\bno (?:memory|notes?|record|records|logging|saving|storing)(?: (?:of|on|for) this| here)?(?=[,.!]|$)|\bi (?:do not|don'?t) want {_THIS} (?:to be )?(?:stored|saved|kept|remembered|recorded|logged|written down|in {_YOURS})|\bi(?:'d| would) (?:rather|prefer)(?: that| if)? {_THIS} (?:wasn'?t|weren'?t|isn'?t|not|was not|stayed?|stays|remain\w*)\b",
    r"\b(?:please )?(?:forget|erase|delete|disregard|unremember|wipe|scrub) (?:everything |all |that |about )?(?:what )?i(?:'ve)? (?:just |ever )?(?:said|told you|mentioned|wrote)(?: (?:that|this|it|so|anything))?\b",
)
_ZH = (
    r"(?:别|不要|不用|不必|不许|请勿|勿|甭|无需|不准|不希望你|不想(?:让)?你|千万别|可别)(?:把)?(?:这(?:个|件事|些|句话?|段话?|条|事儿?|话)?|它|刚才(?:说)?的(?:话)?|我(?:刚)?(?:才)?说的(?:话|这些)?|下面(?:的话|这些)?|以下(?:内容)?)?(?:给)?(?:记(?:住|下来?|录|进|到|着|在)?|存(?:下来?|储|档|起来|进|到|入)?|保存|留存|写(?:进|入|到|下)|储存|录入|收录|备份)(?![得不性忆叙])(?!.{0,2}(?:错|混|成))",
    r"(?:别|不要|不许|请勿|千万别|可别|不准)(?:把这(?:个|件事|事儿?|些|话)?)?(?:告诉|跟|和|对|向|说给|透露给?)(?:任何人|别人|其他人|谁|外人|人)?(?:说|讲|提|透露|知道)?(?:出去)?(?=[，,。：:！!；;\s]|$)",
    r"(?:保密|不(?:要)?外传|别外传|别往外说|别说出去|不要说出去|天知地知|只有(?:你我|咱俩|我们俩?)知道|你知我知|私下(?:跟你)?说|悄悄(?:告诉|跟)你|偷偷(?:告诉|跟)你|就(?:咱|我)们?俩知道|咱俩之间|我们之间的秘密|你我之间|仅限(?:你我|我们)之间|这是(?:个)?(?:秘密|隐私|私事)|不要?留下?(?:任何)?(?:记录|痕迹|底|存档)|不作记录|不做记录|不留记录|不要留底|别留底|非公开|不公开|听过就算|听听就好|听过就忘|听完就忘|说完就忘|烂在肚子里)",
    r"(?:忘了|忘掉|忘记|删掉|删除|抹掉)(?:我)?(?:刚才|刚刚|上面|前面|之前)(?:说|讲|告诉你|写|提到?)?的?(?:话|内容|一切|事)?",
)
_JA = (
    r"(?:これ|それ|このこと|この話|この件|今の(?:話|こと)?|今から(?:言う|話す)こと|次の(?:話|こと)|以下)?(?:は|を|について(?:は)?|も)?(?:、)?(?:絶対に?|どうか|一切|特に)?(?:覚え|記憶し|記録し|保存し|メモし|残さ|記録に残さ|ログに残さ|書き留め|控え|記憶に残さ|登録し|記憶に留め|保存は?し|記録は?し|記憶は?し|とどめ)(?:て(?:おか)?)?ない(?:で|よう)",
    r"(?:記憶|記録|保存|メモ|登録|ログ)(?:は|を|に)?(?:しなくて(?:いい|よい|大丈夫|結構)|不要|禁止|なしで|残さず|しないように|やめて|無用)|覚えなくて(?:いい|よい|大丈夫|結構)|覚えておかなくて|残さなくて(?:いい|よい|大丈夫)",
    r"(?:内緒|ないしょ|秘密ね|(?<!の)秘密(?:にして|にしとい|にしておい|です|だよ|だけど|ね|の話|厳守|で(?:す|お願い)|なんだ|なので|、|。|$)|オフレコ|ここだけの(?:話|こと|ひみつ)|口外(?:しないで|無用|禁止)|他言(?:しないで|無用|禁止)|非公開|(?:二人|ふたり|俺たち|私たち)だけの(?:話|秘密)|聞かなかったことに|聞き流して|胸にしまって|(?:誰|だれ|他の人|ほかの人|人|他人)に(?:は|も)?(?:言わ|話さ|教え|漏らさ|伝え|しゃべら)ない(?:で|よう)|黙ってて|黙っていて|部外秘|他の人には言わ|忘れて(?:ください|くれ|ほしい|ね)?[。！]*$(?<=今のは忘れて)|(?:今の|さっき(?:の|言った)|この(?:話|件|こと))(?:話|こと|発言)?(?:は|を)忘れて)",
)
_DE = (
    r"(?:^|[.!?;:,\n])(?![^.!?;:,\n]*\b(?:ich|wir|er|man) (?:kann|konnte|können|will|habe|hat|muss|soll)\b)[^.!?;:,\n]*?\b(?:bitte )?(?:nicht|nirgends|niemals|bloß nicht|ja nicht) (?:zu )?(?:ab)?(?:speichern|merken|behalten|notieren|aufschreiben|aufzeichnen|protokollieren|festhalten|sichern|erinnern|weitersagen|weitererzählen|weitergeben|verraten|ausplaudern|aufbewahren|hinterlegen|gespeichert|notiert|vermerken|mitschreiben|abspeichern|aufheben)\b",
    r"\b(?:heb|hebe|speichere?|speicher|merke?|notiere?|behalte?|schreibe?|halte?|zeichne|protokolliere|sichere|vermerke|erzähle?|sage?|verrate|gib|nimm)(?: dir| sie| es)? (?:das|dies|dieses|es|das folgende|folgendes|bitte|mir)? ?(?:das |dies |es )?(?:bitte |auf keinen fall |ja |bloß )*(?:nicht|niemandem|keinem|nirgends|niemals)\b(?! vergessen)",
    r"\b(?:unter uns(?: gesagt)?(?=[\s,.:;!–-]|$)(?! (?:ist|gibt|sind|wohnt|leben))|im vertrauen|vertraulich|unter vier augen|inoffiziell|off the record|nicht für(?:s| das| die| dein\w*) (?:protokoll|gedächtnis|akten|unterlagen|notizen|speicher)|(?:bleibt|bleib|bleiben) (?:bitte )?(?:unter uns|zwischen uns|geheim|privat|hier)|behalte? (?:das|es|dies) (?:bitte )?für dich|für dich behalten|geheim ?halten|ist geheim|ein geheimnis|kein wort (?:davon|zu|darüber)|keine (?:notiz|aufzeichnung|speicherung|notizen|aufzeichnungen)|nur zwischen uns|vergiss (?:das|es|was ich)(?: gleich| sofort| bitte| wieder)*(?: (?:gesagt|erzählt))?)",
)
_FR = (
    r"\bn[e']? ?(?:surtout )?(?:le |la |les |l'|en |me |rien )?(?:l')?(?:enregistre[zr]?|memorise[zr]?|sauvegarde[zr]?|stocke[zr]?|retien[ts]|retenez|retenir|garde[zr]?|note[zr]?|consigne[zr]?|archive[zr]?|conserve[zr]?|ecri[ts]|ecrivez|repete[zrs]?|dis|dites|raconte[zrs]?|partage[zrs]?|souvien[ts]|parle[zrs]?)(?:-le)?(?: (?:surtout|absolument|donc|ca|ceci|cela|tout ca))? (?:pas|rien|jamais|a personne|nulle part|aucune? (?:note|trace))",
    r"\bne (?:pas|rien|jamais) (?:le |la |les |l'|en |me )?(?:l')?(?:enregistrer|memoriser|sauvegarder|stocker|retenir|garder|noter|consigner|archiver|conserver|ecrire|repeter|dire|raconter|partager|se souvenir)",
    r"\bn'(?:enregistre[zr]?|archive[zr]?|ecri[ts]|ecrivez|en (?:parle|garde|prends|fais|tiens)\w*) (?:pas|rien|aucune?|a personne)\b",
    r"\b(?:(?:(?:^|[.,;:!?(–—-]\s*|que ca |reste |juste |strictement )entre (?:nous|toi et moi|vous et moi)(?=\s*(?:[,.:;!)–—-]|$))|(?:reste|restera|rester) entre (?:nous|toi et moi))|en(?: toute)? confidence|confidentiel\w*|hors (?:micro|enregistrement|antenne)|off the record|(?:garde|gardez)(?:[- ](?:le|la|ca|cela|ceci|tout ca))? (?:(?:ca|cela|ceci) )?(?:pour (?:toi|vous)|secret|entre nous|prive)|ca reste (?:entre nous|ici|prive|secret)|(?:reste|restera) entre nous|c'est (?:un )?secret|sous le sceau du secret|motus|pas un mot|inutile de (?:le |la |l')?(?:noter|retenir|enregistrer|memoriser)|pas besoin de (?:le |la |l')?(?:noter|retenir|enregistrer|memoriser)|a ne pas (?:enregistrer|noter|retenir|memoriser|garder|repeter|conserver)|sans (?:l'enregistrer|le noter|en garder|garder|laisser|le retenir|le memoriser)|oublie[zr]? ce que (?:je|j')|pas d'enregistrement)",
)
_ES = (
    r"\bno (?:(?:quiero|hace falta|es necesario|necesito|debes|tienes|hay) que |debes |tienes que |hay que )?(?:lo |la |los |me |te |se |le )*(?:guard(?:es|e|ar)|almacen(?:es|e|ar)|memoric(?:es|e)|memorizar|registr(?:es|e|ar)|anot(?:es|e|ar)|recuerd(?:es|e)|recordar|apunt(?:es|e|ar)|grab(?:es|e|ar)|conserv(?:es|e|ar)|escrib(?:as|a|ir)|archiv(?:es|e|ar)|retengas|cuent(?:es|e)|repit(?:as|a)|compart(?:as|a)|dig(?:as|a)|acuerdes|coment(?:es|e)|quede|tomes nota|hagas (?:constar|nota)|lleves registro|dejes (?:constancia|registro))(?: (?:esto|eso|nada|lo (?:que|siguiente)|nota|esta|a nadie|en|ningun|por favor)\b|[\s,.:;!)]|$)",
    r"\b(?:(?:^|[.,;:!?(–—-]\s*|queda |quede |solo |quedar )entre (?:nosotros|tu y yo|nos|usted y yo)(?=\s*(?:[,.:;!)–—-]|$))|en confianza|confidencial\w*|extraoficial\w*|off the record|que (?:quede|esto quede|no salga) (?:entre nosotros|de aqui)|(?:queda|quede|quedese) entre (?:nosotros|tu y yo)|guarda(?:me|lo|melo)? (?:el|un|este)? ?secreto|es (?:un )?secreto|guardatelo|para ti solo|solo para ti|ni una palabra|no hace falta que (?:lo )?(?:guardes|anotes|recuerdes|apuntes|registres)|sin (?:guardarlo|anotarlo|registrarlo|grabarlo|guardar|registrar|memorizarlo)|(?:mantenlo|manten|mantener|mantenga)(?: esto| lo)? (?:en secreto|en privado|privado)|fuera de (?:registro|micro|actas)|olvida lo que|prefiero que no (?:lo )?(?:guardes|anotes|recuerdes|registres|apuntes|quede))",
)
_BY_SIGN = {"ja": re.compile("|".join(_JA)), "zh": re.compile("|".join(_ZH))}
_LATIN = re.compile("|".join((*_EN, *_DE)))
_BARE = re.compile("|".join((*_FR, *_ES)))
_KANA, _HAN = re.compile("[ぁ-んァ-ヶ]"), re.compile("[一-鿿]")
_ACCENTS = str.maketrans("àâäáãçéèêëíîïìñóôöòúûüù", "aaaaaceeeeiiiinoooouuuu")


def is_private(text: str) -> bool:
    """Whether a turn's words ask that it be kept out of memory."""
    if not text.isascii():
        if _KANA.search(text):
            return _BY_SIGN["ja"].search(text) is not None
        if _HAN.search(text):
            return _BY_SIGN["zh"].search(text) is not None
    low = text.lower().replace("\u2019", "'")
    return _LATIN.search(low) is not None or _BARE.search(low.translate(_ACCENTS)) is not None
