"""Rules for German: names, homes, work, likes, diet, family, and what is over. One line each, tried in this order."""

# ruff: noqa: E501 - a rule is one line, however long

import re
from functools import partial

from streams.extractors.clauses import Clauses
from streams.extractors.engine import Language
from streams.extractors.european import ANY, NAME, SENTENCE, fold, task_key, told, without
from streams.extractors.guards import Guards
from streams.extractors.rule import Rule
from streams.extractors.values import Values

_DID = "habit|hobby|like|diet|goal|plan|study|health|task|decision|event"
_JOB = "work|job|employer"
_LIKES = "Mag {value}."
_DISLIKES = "Mag nicht: {value}."

WORDS = {
    "value": rf"(?P<value>{ANY})",
    "any": ANY,
    "old": rf"(?P<old>{ANY})",
    "name": rf"(?P<value>(?!(?:das|es|sie|dich|euch|alle|dies\w*|ihn|so|nicht|herzlich)\b){NAME})",
    "i": r"(?:ich|wir)",
    "since": r"(?:seit (?:(?:etwa|rund|über|fast|gut|mehr als) )?(?:[\w½]+ ){0,2}?(?:jahr\w*|monat\w*|wochen?|tagen?|\d{4}|kurzem|langem|jeher|immer|geburt) )",
    "when": r"(?:letzte\w* \w+|vorige\w* \w+|dies\w+ \w+|vor (?:kurzem|\w+ \w+)|im \w+(?: \d{4})?|\d{4}|gestern|heute|kürzlich|neulich|gerade(?: erst)?|jetzt|endlich|am \w+)",
    "ly": r"(?:(?:<since>)|(?:sehr|wirklich|auch|schon|noch|immer|gerade|derzeit|momentan|aktuell|zurzeit|jetzt|inzwischen|mittlerweile|eigentlich|ursprünglich|ganz|total|echt|einfach|besonders|überhaupt|absolut|strikt|streng|stark|leider|übrigens|hauptberuflich|selbst|wieder|zusammen|allein) )*",
    "kin": r"(?:ehemann|ehefrau|mann|frau|partnerin|partner|freundin|freund|verlobte[r]?|sohn|tochter|mutter|vater|mama|papa|bruder|schwester|großmutter|großvater|oma|opa|onkel|tante|cousine|cousin|neffe|nichte|enkelin|enkel|baby|schwager|schwägerin|mitbewohnerin|mitbewohner|hündin|hund|katze|kater|hamster|papagei|kaninchen|pferd|kinder|eltern)",
    "my": r"(?:mein|meine|unser|unsere)",
    "diet": r"(?:vegetarier(?:in)?|veganer(?:in)?|vegan|vegetarisch|pescetarier(?:in)?|diabetiker(?:in)?|schwanger|trockener alkoholiker|glutenfrei|koscher|halal|laktoseintolerant)",
    "ill": r"(?:diabetes(?: typ [12])?|asthma|zöliakie|migräne|bluthochdruck|epilepsie|adhs|depressionen|arthrose|heuschnupfen|eine \w*(?:allergie|intoleranz|unverträglichkeit)|rheuma|tinnitus|neurodermitis)",
    "post": r"\w*(?:lehrer|pfleger|arzt|ärzt|entwickler|ingenieur|fahrer|bäcker|koch|köch|schreiner|tischler|maler|anwalt|anwält|richter|student|schüler|verkäufer|berater|techniker|mechaniker|mechatroniker|elektriker|klempner|gärtner|landwirt|beamter|beamt|polizist|feuerwehrmann|soldat|journalist|redakteur|autor|schriftsteller|übersetzer|dolmetscher|musiker|künstler|schauspieler|sänger|designer|grafiker|programmierer|informatiker|physiker|chemiker|biologe|biolog|architekt|apotheker|psychologe|psycholog|therapeut|hebamme|erzieher|sozialarbeiter|sekretär|buchhalter|kaufmann|kauffrau|manager|leiter|unternehmer|freiberufler|rentner|hausfrau|hausmann|professor|dozent|forscher|wissenschaftler|pilot|kellner|friseur|makler|winzer|imker|metzger|optiker|azubi|lehrling|selbstständig|arbeitslos|krankenschwester)(?:in)?",
    "trait": r"(?!(?:bei|beim|mit|zu|zum|zur|von|vom|im|in|ins|am|an|auf|vor|nach|für|ohne|wegen|kein\w*|nicht|nie|dein\w*|euer|eure?\w*|sein\w*|ihr\w*|der|die|das|dem|den|des)\b)\w+",
    "pet": r"(?:hunde?|katzen?|kater|kaninchen|pferde?|hamster|vögel|wellensittiche)",
    "named": r"(?: (?:namens|und|im alter|die|der|das|aus|vom|von|zu hause|daheim)\b(?!.* (?:ge\w+t|\w*ge\w+en|sehen|hören|treffen)$)(?: <any>)?)?",
    "country": r"(?:schweiz|türkei|ukraine|slowakei|usa|niederlanden|iran|irak|libanon|kosovo|saarland|ruhrgebiet|schwarzwald|allgäu|rheinland)",
    "whence": r"(?!(?:de[mn]|der|eine[mr]|meine\w*|urlaub|\w+ zurück)\b(?! <country>))",
    "nowhere": r"(?:(?:\w+ )*(?:welt|traum|träumen|wolken|gedanken|hoffnung|angst|sorgen?|furcht|frieden|zukunft|vergangenheit|gegenwart|erinnerung|zeit|zeiten|blase|beziehung|nähe|saus|würde|armut)\b|(?:dein|euer|eur|sein|ihr|dies|jed)\w*\b)",
    "unreal": r"(?:\w+(?:tage?|tagen|heit|heiten|keit|keiten|ismus)|\w*(?:fragen?|sitzung(?:en)?|besprechung(?:en)?|meetings?|leute|menschen|idioten|chefs?|kollegen|lügen|ausreden|arbeit|stress|lärm|kritik|wörter|worte))\b",
    "mood": r"(?:müde|hungrig|durstig|satt|wütend|sauer|böse|traurig|glücklich|nervös|sicher|da|hier|dabei|dran|interessiert|bereit|wach|allein|überzeugt|fit|so|ganz \w+|auf\b.*|in\b.*)",
    "passing": r"(?:gerade|jetzt|heute|eben|heute \w+|im moment|noch)\b",
    "adjective": r"(?:\w{3,}(?:isch|lich|haft|los|voll|bar)|\w+(?<!w)ig|verrückt|naiv|dumm|blöd|stur|faul|spießig|an|zurück|später|morgen|heute|gleich|mal|wie|wenn|wann)\b",
    "gladly": r"(?:sehr |wirklich |total |besonders |so |immer )*gerne?",
    "verb": r"(?:spiele|höre|lese|esse|trinke|koche|schaue|gucke|fahre|besuche|sammle|backe|male|tanze|spielen|hören|kochen|essen|trinken)",
    "abode": r"(?:wg|wohnung|haus|reihenhaus|altbau|altbauwohnung|dorf|kleinstadt|siedlung|vorort|hochhaus|bauernhaus|studio|zimmer|mietwohnung|eigentumswohnung)",
    "num": r"(?:einen?|eine|zwei|drei|vier|fünf|sechs|\d+)",
}

RULES = (
    # --- homes without the name of a place, and with more beside it -------------------------------
    Rule("background", "wohne|lebe|wohnen|leben", r"<i> (?:wohne|lebe|wohnen|leben) (?:<ly>)(?:zu (?:zweit|dritt|viert|fünft) )?in (?:eine[rm]|unsere[rm]|meine[rm]|der|dem) (?:[\wäöüß-]+ ){0,2}?<abode> in <value>", "Wir wohnen zu dritt in einer Wohnung in Kassel.", "Kassel", "Wohnt in {value}.", "home", family="home", takes="place"),
    Rule("background", "wohne|lebe|wohnen|leben", r"<i> (?:wohne|lebe|wohnen|leben) (?:<ly>)(?P<value>auf dem (?:land|dorf|bauernhof)|(?:am (?:stadt)?rand|in der nähe|außerhalb|nahe|unweit) von <any>|bei (?!(?:freunden|bekannten|verwandten|leuten|eine[rmn]?|meine[rnm]?|mir|uns|den|der|seine[rnm]?|ihre[rnm]?)\b)<any>|an der <any>(?:see|küste|grenze)(?: <any>)?|am (?:\w+see|meer|bodensee)(?: <any>)?)", "Wir wohnen auf dem Land.", "auf dem Land", "Wohnt {value}.", "home", family="home"),
    Rule("background", "gezogen", r"(?:ich bin|wir sind) (?:<when> )?(?:<ly>)(?:aufs (?:land|dorf)|in (?:die (?:stadt|nähe|berge)|eine? \w+|ein \w+)|zusammen|um)(?: gezogen|gezogen), (?:und zwar )?nach <value>", "Wir sind letztes Jahr aufs Land gezogen, nach Hessen.", "Hessen", "Wohnt in {value}.", "home", family="home", takes="place"),
    Rule("background", "gezogen", r"(?:ich bin|wir sind) (?:<when> )?(?:<ly>)(?P<value>aufs (?:land|dorf)|in die (?:stadt|berge)|zurück in die heimat) gezogen", "Wir sind aufs Dorf gezogen.", "aufs Dorf", "Ist {value} gezogen.", family="home"),
    Rule("background", "wohne|arbeite", r"ich wohne (?:<ly>)nicht mehr in <old>, sondern (?:jetzt )?in <value>", "Ich wohne nicht mehr in Ulm, sondern in Augsburg.", "Augsburg", "Wohnt in {value}.", "home", family="home", ends="home", takes="place"),
    Rule("background", "arbeite", r"ich arbeite (?:<ly>)nicht mehr (?:bei|für) <old>, sondern (?:jetzt )?(?:bei|für) <value>", "Ich arbeite nicht mehr bei Bosch, sondern bei Siemens.", "Siemens", "Arbeitet bei {value}.", "employer", family="work", ends=_JOB),
    Rule("background", "mach|lerne", r"ich (?:mache?|absolviere) (?:<ly>)(?:grad )?eine (?:ausbildung|lehre|umschulung|weiterbildung) (?:zur|zum|als|in) (?P<value><any>)", "Ich mache eine Ausbildung zur Pflegerin.", "Pflegerin", "Macht eine Ausbildung: {value}.", family="study"),
    Rule("background", "hab|besitz", r"<i> habe?n? (?:<ly>)(?P<value><num> (?:\w+ ){0,2}?<pet>)(?:[.!,]+ ?|,? und )(?:(?:er|sie|es) hei(?:ß|ss)t|(?:sein|ihr)e? name ist|(?:sie|die) hei(?:ß|ss)en) (?P<name>[\w-]+(?: und [\w-]+)?)", "Wir haben einen Hund. Er heißt Bruno.", "einen Hund namens Bruno", "Hat {value}.", family="pet"),
    Rule("background", "mein|meine|unser|unsere", r"<my> (?P<value>(?P<whose><kin>) (?:isst (?:<ly>)keine?n? <any>|hat (?:<ly>)angst vor <any>|ist (?:<ly>)(?:vegetarier(?:in)?|veganer(?:in)?|schwanger|krank|taub|blind|im ruhestand|in rente)))", "Mein Sohn hat Angst vor Hunden.", "Sohn hat Angst vor Hunden", "{value}.", family="people"),
    Rule("background", "aufgehört", r"ich habe? (?:<when> )?(?P<value>aufgehört zu (?P<old>\w+(?: \w+)?))", "Ich habe aufgehört zu rauchen.", "aufgehört zu rauchen", "Hat {value}.", family="event", ends=_DID),
    Rule("preference", "steh|fahr", r"ich (?:stehe?|fahre?) (?:<ly>)(?:voll )?(?:auf|voll auf ab) (?!(?:dem|der|den|die|das|dich|mich|meine\w*|eine\w*)\b)<value>", "Ich stehe auf Techno.", "Techno", _LIKES, polarity="like", family="like"),
    Rule("background", "ich bin", r"(?:(?:hallo|hi|hey|moin|servus|guten tag),? )?ich bin (?:der|die) (?P<value>[\w-]+)", "Ich bin die Katrin.", "Katrin", "Heißt {value}.", "name", family="name", takes="called"),
    # --- what is over ---------------------------------------------------------------------------
    Rule("end", "wohne|lebe|leben", r"<i> (?:wohne|wohnen|lebe|leben) (?:<ly>)nicht mehr (?:in|bei|auf|mit) <value>", "Ich wohne nicht mehr in Bremen.", "Bremen", ends="home"),
    Rule("end", "arbeite", r"ich arbeite (?:<ly>)nicht mehr (?:bei|für|als|in|im|beim) <value>", "Ich arbeite nicht mehr bei Siemens.", "Siemens", ends=_JOB),
    Rule("background", "hab|wurde|bin", r"ich (?P<value>(?P<old>)(?:habe? (?:<when> )?(?:meine[nr]? (?:job|stelle|arbeit) )?(?:gekündigt|verloren)|wurde (?:<when> )?(?:entlassen|gekündigt)|bin (?:<when> )?in rente gegangen))", "Ich habe gekündigt.", "habe gekündigt", "{value}.", family="event", ends=_JOB),
    Rule("end", "hab|höre", r"ich (?:habe? (?:<when> )?(?:<ly>)mit (?:dem |der |den )?<value> aufgehört|habe? (?:<when> )?(?:das |die |den )?(?P<value2><any>) aufgegeben)", "Ich habe mit dem Rauchen aufgehört.", "Rauchen", ends=_DID),
    Rule("end", "bin", r"ich bin (?:<ly>)(?:keine?|nicht mehr(?: als)?) (?!<mood>)(?P<value><any>) mehr|ich bin (?:<ly>)nicht mehr (?!<mood>$)(?P<value2><any>)", "Ich bin kein Vegetarier mehr.", "Vegetarier", ends="diet|health|limit|work|job|study|partner|identity"),
    Rule("end", "esse|trinke|spiele|rauche|fahre|lerne|hab|mache|treibe|lese|sammle|nehme", r"<i> (?:(?:esse|trinke|spiele|rauche|fahre|lerne|habe?|mache|treibe|lese|sammle|nehme) (?:<ly>)(?:keine?[nr]?|nicht mehr) <value> mehr|(?:spiele|lerne|fahre|lese|sammle) (?:<ly>)nicht mehr (?!(?:mit|weiter|vor|nach|ab|zurück|hin|so)\b)(?P<value2><any>)|(?P<value3>rauche|trinke) nicht mehr)", "Ich trinke keinen Kaffee mehr.", "Kaffee", ends=f"{_DID}|pet|household|possession"),
    Rule("end", "mag|liebe", r"ich (?:mag|liebe) <value> (?:<ly>)nicht mehr(?: so)?(?: gerne?)?", "Ich mag Jazz nicht mehr.", "Jazz", ends="like|favourite|hobby|habit"),
    # --- likes ----------------------------------------------------------------------------------
    Rule("preference", "lieblings", r"mein(?:e|er)? lieblings(?P<topic>\w+) (?:ist|sind|heißt|bleibt) (?!(?:schon|bereits|leider|gerade|wieder|noch|heute|jetzt|besetzt|weg|leer|kaputt|ausverkauft|geschlossen)\b)(?:<ly>)(?:der |die |das )?<value>", "Meine Lieblingsfarbe ist Türkis.", "Türkis", "Lieblings{topic}: {value}.", "favourite {topic}", "like", family="favourite"),
    Rule("preference", "mag|kann|hasse|verabscheue|liebe|esse|trinke", r"(?:ich (?:mag|liebe) (?:<ly>)keine?[nr]? <value>|ich mag (?!<passing>|(?:es|das|dies\w*|ihn|sie|dich|euch)\b)(?P<value2><any>) (?:<ly>)(?:nicht|nie)(?: so)?(?: gerne?)?|ich kann (?P<value3><any>) (?:<ly>)nicht (?:ausstehen|leiden)|(?P<value4><any>) (?:kann|mag) ich (?:<ly>)nicht(?: (?:ausstehen|leiden|gerne?))?|ich (?:<ly>)(?:hasse|verabscheue) (?P<value5><any>)|ich (?:<verb>) (?:<ly>)(?:nicht|ungern) gerne? (?P<value6><any>))", "Ich mag keinen Koriander.", "Koriander", _DISLIKES, polarity="dislike", family="dislike"),
    Rule("preference", "gern|liebsten", r"(?:ich (?:<verb>) (?:<ly>)(?:<gladly>|am liebsten) (?!(?:noch|später|morgen|heute|jetzt|gleich|erst|mal|wieder|mit dir|bei dir)\b)<value>|(?:am liebsten|gerne?) (?:<verb>) (?:ich|wir) (?P<value2><any>))", "Ich spiele gern Schach.", "Schach", _LIKES, polarity="like", family="like"),
    Rule("preference", "liebe|mag|genieße|bevorzuge|fan", r"ich (?:(?:<ly>)(?:liebe|mag|genieße|bevorzuge) (?!<passing>)(?:<ly>)(?!(?:nicht|nie|niemals|kein\w*|es|das|dies\w*)\b)(?!.*\b(?:nicht|nie)\b)<value>|bin (?:<ly>)(?:ein )?(?:großer |riesiger )?fan von (?P<value2><any>))", "Ich liebe lange Wanderungen im Regen.", "lange Wanderungen im Regen", _LIKES, polarity="like", family="like"),
    # --- diet, health ---------------------------------------------------------------------------
    Rule("constraint", "bin|ernähre|esse", r"(?:ich bin (?:<ly>)(?:eine? )?(?P<value><diet>)|ich (?:ernähre mich|esse|lebe) (?:<ly>)(?P<value2>vegan|vegetarisch|koscher|halal|glutenfrei))", "Ich bin Vegetarierin.", "Vegetarierin", "Ist {value}.", family="diet"),
    Rule("constraint", "esse", r"<i> (?:esse|essen) (?!<passing>)(?:<ly>)(?P<value>kein(?:e|en)? <any>)", "Ich esse kein Fleisch.", "kein Fleisch", "Isst {value}.", family="diet"),
    Rule("constraint", "trinke", r"<i> (?:trinke|trinken) (?!<passing>)(?:<ly>)(?P<value>kein(?:e|en)? <any>)", "Ich trinke keinen Alkohol.", "keinen Alkohol", "Trinkt {value}.", family="diet"),
    Rule("constraint", "bin|reagiere", r"ich (?:bin|reagiere) (?:<ly>)(?:allergisch (?:gegen|auf) (?!(?:\w+ ){0,2}<unreal>|de[nm]\b|dein|eue?r)<value>|(?:gegen|auf) (?!(?:\w+ ){0,2}<unreal>|de[nm]\b|dein|eue?r)(?P<value2><any>) (?:<ly>)allergisch)", "Ich bin allergisch gegen Erdnüsse.", "Erdnüsse", "Ist allergisch gegen {value}.", family="health"),
    Rule("constraint", "vertrage", r"ich vertrage (?:<ly>)(?:keine?[nr]? <value>|(?P<value2><any>) (?:<ly>)nicht)", "Ich vertrage keine Laktose.", "Laktose", "Verträgt nicht: {value}.", family="health"),
    Rule("background", "hab|leide", r"ich (?:habe?|leide (?:an|unter)) (?:<ly>)(?P<value><ill>)", "Ich habe Asthma.", "Asthma", "Hat {value}.", family="health"),
    # --- people ---------------------------------------------------------------------------------
    Rule("background", "mein|meine|unser|unsere", r"<my> (?P<value>(?P<whose><kin>) (?:ist (?:<ly>)(?:allergisch (?:gegen|auf) <any>|gegen <any> allergisch|<diet>)|hat (?:<ly>)<ill>|verträgt (?:<ly>)keine?n? <any>))", "Meine Tochter ist gegen Haselnüsse allergisch.", "Tochter ist gegen Haselnüsse allergisch", "{value}.", family="health"),
    Rule("background", "mein|meine|unser|unsere", r"<my> (?P<topic>(?P<whose><kin>)) hei(?:ß|ss)t <value>", "Mein Bruder heißt Emil.", "Emil", "{topic} heißt {value}.", "{topic}'s name", family="people"),
    Rule("background", "mein|meine|unser|unsere", r"<my> (?P<value>(?P<whose><kin>) (?:(?:arbeitet|wohnt|lebt|studiert|spricht)(?! <passing>)(?: <any>)?|kommt aus <whence><any>|ist (?:<ly>)(?:(?:eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf)(?: jahre alt)?|\d+(?: jahre?\b.*)?|eine? (?!(?:halbe|viertel|ganze|gute|stunde|minute|bisschen|wenig|schatz|engel|schlimm\w*|gro(?:ß|ss)\w*|echte\w*|typisch\w*|held\w*)\b)\w+(?: (?:aus|bei|an|in|im) <any>)?|<post>(?: <any>)?)|wird \d+(?: <any>)?))", "Meine Frau arbeitet als Ärztin.", "Frau arbeitet als Ärztin", "{value}.", family="people"),
    Rule("background", "hab|haben", r"<i> haben? (?:<ly>)(?P<value><num> (?:\w+ )??(?:kind(?:er)?|söhne|sohn|töchter|tochter|<pet>|brüder|bruder|schwestern?|geschwister|enkel|zwillinge)<named>)", "Ich habe zwei Kinder.", "zwei Kinder", "Hat {value}.", family="household"),
    Rule("background", "bin", r"ich bin (?:<ly>)(?P<value>verheiratet|ledig|single|geschieden|verwitwet|verlobt|getrennt)", "Ich bin verheiratet.", "verheiratet", "Ist {value}.", "relationship status", family="partner"),
    # --- who somebody is ------------------------------------------------------------------------
    Rule("background", "ich heiße|ich heisse|mein name|mein voller|nenn|nennt|nennen|du kannst|ihr könnt|sie können", r"(?:ich hei(?:ß|ss)e (?:<ly>)<name>|mein (?:voller )?name (?:ist|lautet) <name>|nenn(?:t|en sie)? mich (?:bitte |einfach |ruhig )*(?!<adjective>)<name>|(?:du kannst|ihr könnt|sie können) mich (?:gerne? |ruhig |einfach |auch )*<name> nennen)", "Ich heiße Annika.", "Annika", "Heißt {value}.", "name", family="name"),
    Rule("background", "wohne|lebe|wohnen|leben", r"<i> (?:wohne|lebe|wohnen|leben) (?:<ly>)in (?!<nowhere>)<value>", "Ich wohne seit zwei Jahren in Leipzig.", "Leipzig", "Wohnt in {value}.", "home", family="home"),
    Rule("background", "gezogen|umgezogen", r"(?:ich bin|wir sind|<when> bin ich|<when> sind wir) (?:<when> )?(?:<ly>)nach <value> (?:um)?gezogen", "Wir sind letzten Monat nach Graz gezogen.", "Graz", "Wohnt in {value}.", "home", family="home"),
    Rule("background", "komme|stamme|bin|geboren|aufgewachsen", r"(?:ich (?:komme|stamme) (?:<ly>)aus <whence><value>|ich bin (?:<ly>)in (?P<value2><any>) (?:geboren|aufgewachsen)(?: und aufgewachsen)?|(?:geboren|aufgewachsen) (?:und aufgewachsen )?bin ich in (?P<value3><any>))", "Ich komme ursprünglich aus Kiel.", "Kiel", "Kommt aus {value}.", "origin", family="origin"),
    Rule("background", "arbeite", r"ich arbeite (?!<passing>.* (?:im|in|an)\b)(?:<ly>)(?P<value>(?:als (?!(?:erst|letzt|nächst|einzig)\w*\b|wär|ob\b)|(?:bei|beim) |(?:im|in) (?!(?:\w+ )*(?:garten|keller|hof|wald|freien|haus|bett|zug|moment|stillen|stehen|sitzen|liegen|dunkeln|hintergrund|urlaub|team|gedanken|zimmer|wohnzimmer|ruhe|eile)\b)|für (?!(?:zwei|drei|vier|nichts|umsonst|morgen|heute|\w+ (?:prüfung|klausur|test|projekt))\b)|an (?=(?:der|einer|einem|dem) (?:\w+ )*\w*(?:schule|universität|uni|klinik|institut|theater|gymnasium|akademie|oper|fakultät|kasse|rezeption|tankstelle|berufsschule)\b))(?!(?:ihm|ihr|dir|mir|mich|dich|das|dem projekt|dein\w*|eue?r\w*)\b)<any>)", "Ich arbeite als Krankenpflegerin in einer Klinik.", "als Krankenpflegerin in einer Klinik", "Arbeitet {value}.", "work", family="work"),
    Rule("background", "bin|beruf", r"(?:ich bin (?!heute\b|gerade\b)(?:<ly>)(?:von beruf )?(?:eine? )?(?P<value>(?:<trait> ){0,2}?<post>(?: <any>)?)|mein beruf ist (?P<value2><any>)|von beruf bin ich (?P<value3><any>))", "Ich bin Lehrer an einer Grundschule.", "Lehrer an einer Grundschule", "Ist {value}.", "job", family="work"),
    Rule("background", "lerne ", r"ich lerne (?:<ly>)(?:seit [\w ]{2,20}? |jetzt |gerade )?(?P<value>(?:spanisch|französisch|italienisch|englisch|japanisch|chinesisch|koreanisch|portugiesisch|russisch|türkisch|arabisch|polnisch|niederländisch|schwedisch|norwegisch|dänisch|latein|gitarre|klavier|geige|cello|schlagzeug|saxophon|gebärdensprache|programmieren|schwimmen|nähen)(?! mehr))(?: .+)?", "Ich lerne Spanisch für eine Reise.", "Spanisch", "Lernt {value}.", family="study"),
    Rule("background", "studiere", r"ich studiere (?!(?:(?!an |in |auf )\w+ ){0,2}(?:der|die|das|den|deine?n?|eure?n?)\b)(?:<ly>)(?!(?:der|die|das|den|dem|dein\w*|eue?r\w*|ihre?n?|dies\w*|mein\w*|eine?n?)\b)<value>", "Ich studiere Biologie in Tübingen.", "Biologie in Tübingen", "Studiert {value}.", "study", family="study"),
    Rule("background", "bin", r"ich bin (?P<value>\d{1,3}) jahre alt", "Ich bin 34 Jahre alt.", "34", "Ist {value} Jahre alt.", "age", family="age"),
)  # fmt: skip

_ARTICLES = re.compile(r"^(?:der|die|das|den|dem|ein|eine|einen|kein|keine|keinen|mein|meine)\s+")


_NO_NAME = re.compile(
    r"(?:chef|chefin|mutter|vater|mama|papa|oma|opa|tochter|sohn|beste|neue|einzige|erste|letzte|kunde|kundin|freund|freundin|frau|mann|besitzer|"
    r"besitzerin|inhaber|inhaberin|dumme|gelackmeierte|verantwortliche|nächste|älteste|jüngste|schuldige|leiter|leiterin|sprecher|lehrer|lehrerin|schwester|bruder|"
    r"nachbar|nachbarin|typ|meinung|ansicht|auffassung|ruhe|person|zweite|dritte|mitte|welt)\w{0,2}",
    re.IGNORECASE,
)


def fits(takes: str, value: str, said: str) -> bool:
    """Whether a value is of the kind that a rule takes; any is where nothing is known of the kind."""
    if takes == "called":
        return value[:1].isupper() and not value.isupper() and not _NO_NAME.fullmatch(value)
    return takes != "place" or value[:1].isupper() or value.split()[0] in ("der", "den", "die")


GERMAN = Language(
    RULES,
    words=WORDS,
    border=r"\b",
    lead=r"[\s\W_]*(?:(?:hallo|hi|hey|guten (?:tag|morgen|abend)|servus|moin|also|ja|nein|übrigens|und|aber|ok|okay|danke|ehrlich gesagt|zur info|nur zur info|ach|leider|außerdem|bitte|merk dir|wichtig|hinweis)(?![\w'])[\s,:;.!…-]*)",
    tail=r"(?:,? (?:übrigens|zurzeit|derzeit|momentan|aktuell|bitte|danke|halt|eben|sehr gerne?|am meisten|über alles|auch|jetzt|seit [\w ]{2,30}))*",
    clauses=Clauses(
        sentence=SENTENCE,
        clause=r"[;:()]\s*(?!\d)|\s[-–—]+\s|,(?!\d)\s*| aber | weil | obwohl | denn | und (?=(?:ich|wir|mein|meine|unser|unsere|bin|habe|arbeite|wohne|lebe|suche|brauche|möchte|mag|komme|er|sie|es|wir|hat|ist|seine?|ihre?|heute|jetzt)\b)",
    ),
    guards=Guards(
        foreign=r"\b(?:in (?:dies\w+|der|einem?r?) (?:szene|spiel|rolle|geschichte|stück|film|roman|traum)|im (?:spiel|film|stück|roman|traum)|für (?:einen|den) (?:tag|abend)|wenn|falls|ob|angenommen|vielleicht|eventuell|wahrscheinlich|möchte|möchten|würde|würden|hätte|wäre|könnte|sollte|sagt|sagte|sagen|meint|meinte|behauptet|findet|glaubt|glaube|denke|vermute|gehört|früher|damals|als kind|stell dir|laut|angeblich|geträumt|schrieb|scheint)\b",
        doubt=r"\?",
        asks=r"(?!)",
        request=r"\b(?:übersetz\w*|korrigier\w*|formulier\w*|umformulier\w*|rollenspiel|was (?:bedeutet|heißt)|wie sagt man|grammatik|zusammenfass\w*|tu so als|du bist (?:ein|jetzt)|(?:schreib|verfass|entwirf|erzähl|erfind)\w* (?:mir |uns |bitte )*(?:eine?\w*|den|die|das) (?:\w+ ){0,3}?(?:brief|geschichte|text|gedicht|e?-?mail|bewerbung|rede|nachricht|szene|dialog|lied|roman|märchen|post|tweet))",
        undone=r"wieder(?:gefunden|aufgetaucht|bekommen)|wieder (?:gefunden|da|zusammen|aufgetaucht|angefangen|zurück)\b|zurückgekommen|im (?:video)?spiel\b|für die fastenzeit",
    ),
    values=Values(
        empty=r"(?:.*\b(?:erste|zweite|dritte|vierte|fünfte|letzte|linke|rechte|obere|untere|andere)[nrsm]? (?:entwurf|version|variante|option|vorschlag|bild|farbe|design|logo|text|titel|satz|fassung|antwort|möglichkeit)\b.*|(?:option|variante|version|vorschlag|entwurf|antwort) (?:[a-h]|\d+|eins|zwei|drei)\b.*|es|das|dies\w*|ihn|sie|ihm|ihr|ihnen|dich|euch|uns|mich|dir|er|alles|nichts|etwas|so|nicht|hier|dort|da|jetzt|mehr|nicht mehr|gern|sehr|viel|wenig|zu viel|.|(?:dein|deine|deinen|euer|eure|ihre|ihren|diese|diesen|dieses|jene|solche)\b.*|.* (?:und|oder|der|die|das|den|dem|ein|eine|von|mit|für|zu))",
        fits=fits,
    ),
    key=task_key,
    fold=fold,
    tell=told,
    called="{value} namens {name}",
    joins=("und ", "aber "),
    subject="ich ",
    goes_on=r"(?:[\s\W_]*(?:hallo|hi|hey|also|ja|ach)[\s\W_]+)*(?:ich|mein name)\b(?!.*\b(?:dass|ob|wenn|würde|möchte|will|kann|soll|muss|du|er|sie|es)\b).*\bund\s+",
    head=partial(without, _ARTICLES),
)
