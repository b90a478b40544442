"""Rules for French: names, homes, work, likes, diet, family, and what is over. One line each, tried in this order.

The text is matched without accents (`european.bare`), so the patterns have none.
"""

# ruff: noqa: E501 - a rule is one line, however long

import re
from functools import partial

from streams.extractors.clauses import Clauses
from streams.extractors.engine import Language
from streams.extractors.european import ANY, NAME, SENTENCE, bare, fold, task_key, told, without
from streams.extractors.guards import Guards
from streams.extractors.rule import Rule
from streams.extractors.values import Values

_DID = "habit|hobby|like|diet|goal|plan|study|health|task|decision|event"
_JOB = "work|job|employer"
_LIKES = "Aime {value}."
_DISLIKES = "N'aime pas {value}."

WORDS = {
    "value": rf"(?P<value>{ANY})",
    "any": ANY,
    "name": rf"(?P<value>(?!(?:ca|cela|ce|cet|cette|ces|comme|pas|encore|juste|plus|l'|le|la|les|un|une|des|du|au|a|en|pour|par|si|quand|demain|hier|aujourd'hui|maintenant|tout|toute|bientot|apres|avant|ce soir|vite|tot|tard|oui|non|bon|bien|pareil|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)\b){NAME})",
    "art": r"(?:le |la |les |l'|du |des |de la |de l'|de |d')?",
    "own": r"(?!(?:ca|cela|ceci|ce|cet|cette|ces|ton|ta|tes|votre|vos|son|sa|ses|leur|leurs|toi|vous|lui|quand|que|comment|tout ca|bien|beaucoup|mieux|pas|plus|jamais|rien|guere|point)\b)",
    "ly": r"(?:(?:vraiment|beaucoup|aussi|encore|toujours|actuellement|maintenant|surtout|tres|trop|plutot|juste|bien|aujourd'hui|du tout|plus que tout|severement|strictement|originellement) )*",
    "at": r"(?:a l'|a la|a|au|aux|en|dans|pres de|pres d'|chez)",
    "when": r"(?:(?:le|la|l') ?(?:mois|semaine|annee|an|ete|hiver|printemps|automne) derni(?:er|ere)|hier|recemment|il y a \w+ \w+|en \w+(?: \d{4})?|cette (?:annee|semaine)|ce mois-ci|enfin|tout juste)",
    "kin": r"(?:mari|femme|epoux|epouse|compagnon|compagne|copain|copine|fiancee?|fils|fille|mere|pere|maman|papa|frere|s(?:œ|oe)ur|grand-mere|grand-pere|oncle|tante|cousine?|neveu|niece|bebe|chienne|chien|chatte|chat|lapin|hamster|perroquet|cheval|colocataire|beau-frere|belle-s(?:œ|oe)ur|belle-mere|beau-pere|parents|enfants)",
    "my": r"(?:mon|ma|mes|notre|nos)",
    "diet": r"(?:vegetarien(?:ne)?|vegane?|vegetalien(?:ne)?|pescetarien(?:ne)?|diabetique|c(?:œ|oe)liaque|enceinte|asthmatique)",
    "ill": r"(?:(?:du |de l'|un |une |des |de la )?(?:diabete|asthme|arthrose|migraines?|hypertension|endometriose|epilepsie|tdah|acouphenes|rhume des foins|depression|allergie \w+ <any>|allergies?))",
    "post": r"(?:professeure?|prof|enseignante?|infirmi(?:er|ere)|medecin|avocate?|ingenieure?|developpeu(?:r|se)|programmeu(?:r|se)|menuisi(?:er|ere)|boulang(?:er|ere)|patissi(?:er|ere)|etudiante?|cuisini(?:er|ere)|architecte|journaliste|musicien(?:ne)?|artiste|comptable|graphiste|pharmacien(?:ne)?|dentiste|veterinaire|psychologue|traduct(?:eur|rice)|agricult(?:eur|rice)|mecanicien(?:ne)?|electricien(?:ne)?|plombier|polici(?:er|ere)|pompi(?:er|ere)|fact(?:eur|rice)|vendeu(?:r|se)|serveu(?:r|se)|coiffeu(?:r|se)|retraitee?|fonctionnaire|chercheu(?:r|se)|biologiste|physicien(?:ne)?|chimiste|secretaire|assistante?|consultante?|chef(?:fe)? de \w+|direct(?:eur|rice)|entrepreneu(?:r|se)|freelance|independante?|photographe|ecrivaine?|act(?:eur|rice)|chanteu(?:r|se)|danseu(?:r|se)|pilote|chauffeur|jardini(?:er|ere)|sage-femme|kine\w*|institut(?:eur|rice)|lyceen(?:ne)?|apprentie?|stagiaire|militaire|notaire|libraire|bibliothecaire|opticien(?:ne)?|femme au foyer|au chomage)",
    "named": r"(?: (?!dans\b|sous\b|vers\b|dehors\b|toujours\b|ailleurs\b|apres\b|alors\b|sans\b)(?:\w{4,}s|adulte|noire?|blanche?|rou[xs]\w*|grise?))?(?: (?:qui s'appellent?|appelee?s?|nommee?s?|et|de \w+ (?:ans|mois)|adoptee?s?)\b(?: <any>)?)?",
    "nowhere": r"(?:dans )?(?:mes|mon|ma|tes|ton|ta|ses|son|sa|leurs?|(?:une? |la |le |l'|les )?(?:\w+ |d')*(?:monde|reve|nuages|epoque|pensees|espoir|peur|paix|harmonie|futur|avenir|passe|present|bulle|cote|campagne de|crainte|attente|instant)\b)",
    "unreal": r"(?:\w+(?:tions?|ismes?|ites?)|lundis?|mardis?|betises?|reunions?|gens|questions?|mensonges?|excuses|bruit|stress|travail|critiques?|chefs?|cons?)\b",
    "mood": r"(?:fatiguee?|sure?|faim|soif|contente?|fachee?|triste|heureu\w+|la|ici|dedans|disponible|libre|d'accord|en|dans|au|a|interessee?|enervee?|inquiet\w*|seule?|prete?|certaine?|presse\w*|envie|le temps|peur|mal|froid|chaud|besoin|rien|d'idees?|de (?:temps|patience|force|place|batterie)\b)",
    "whence": r"(?!(?!alger|tanger|angleterre)\w+(?:er|ir|oir|dre|tre|ire)\b)(?!la part|la (?!(?:\w+ )?<lands>\b))(?:(?<=du )(?=<lands>\b)|(?<=des )(?=<lands>\b)|(?<=de )|(?<=d'))",
    "lands": r"(?:bresil|canada|chili|congo|cameroun|japon|liban|mali|mexique|maroc|niger|nigeria|pakistan|perou|portugal|quebec|senegal|soudan|tchad|togo|venezuela|vietnam|danemark|luxembourg|royaume-uni|benin|burkina|cambodge|costa rica|ghana|guatemala|honduras|kenya|kosovo|koweit|laos|pays|nord|sud|jura|var|gard|finistere|martinique|guadeloupe|guyane|region|campagne|cote|ville|banlieue|vendee|dordogne|drome|sarthe|moselle|marne|etats-unis|pays-bas|antilles|comores|seychelles|philippines|vosges|landes|alpes|pyrenees|cevennes)",
    "num": r"(?:une?|deux|trois|quatre|cinq|six|\d+)",
}

RULES = (
    # --- homes, work and pets as people say them ---------------------------------------------------
    Rule("background", "on a|on vient|nous venons", r"(?:on a|nous avons|on vient|nous venons)(?: <when>)?(?: de| d'| de s'| de nous)? ?(?:(?:de)?menagee?s?|demenager|emmenager|installer|installee?s?)(?: <when>)? (?P<value><at>(?<!') ?<any>)(?: <when>)?", "On a déménagé l'an dernier à Lyon.", "à Lyon", "Habite {value}.", "home", family="home"),
    Rule("background", "on vit|on habite|on loue", r"on (?:vit|habite) (?:<ly>)(?P<value>(?:<at>|a l'exterieur de)(?:(?<=')|\s)(?:(?<=chez )|(?!<nowhere>))<any>)", "On vit à la montagne.", "à la montagne", "Habite {value}.", "home", family="home"),
    Rule("background", "je bosse", r"je bosse (?:<ly>)(?P<value>(?:comme|chez|pour|dans|en tant que|en|au|a l'|a la) ?(?!(?:toi|vous|moi|ca|mon|ma|mes|demain|equipe|silence|train|pyjama|deux|trois)\b)<any>)", "Je bosse dans un garage.", "dans un garage", "Travaille {value}.", "work", family="work"),
    Rule("background", "j'ai|nous avons|on a", r"(?:j'ai|nous avons|on a) (?:<ly>)(?:adopte |recueilli |pris )?(?P<value><num> (?:petite?s? |jeunes? )?(?:chiens?|chiennes?|chats?|chattes?|chatons?|chiots?|lapins?|perruches?|hamsters?|tortues?|cochons? d'inde|furets?))(?:[.!,]+ ?| et )?(?: ?qui )?(?:(?:il|elle|ils|elles) s'appellen?t?|qui s'appellen?t?|s'appellen?t?|on l'a appelee?|nommee?|appelee?) (?P<name>[\w-]+(?: et [\w-]+)?)", "On a un chat, il s'appelle Mochi.", "un chat qui s'appelle Mochi", "A {value}.", family="pet"),
    Rule("background", "adopte|recueilli", r"(?:j'ai|nous avons|on a) (?:<ly>)(?P<value>(?:adopte|recueilli) <num> (?:\w+ )?(?:chiens?|chiennes?|chats?|chattes?|chatons?|chiots?|lapins?|enfants?|bebes?|petite? \w+)(?: <any>)?)", "On a adopté un chien.", "adopté un chien", "A {value}.", family="event"),
    Rule("background", "mon|ma|mes|notre|nos", r"<my> (?P<value>(?P<whose><kin>|mec|nana|coloc) (?:est (?:<ly>)<post>(?: <any>)?|a peur (?:de la |de l'|des |du |de |d')<any>|est (?:enceinte|malade|sourde?|aveugle|a la retraite|au chomage)))", "Mon fils a peur des chiens.", "fils a peur des chiens", "{value}.", family="people"),
    Rule("preference", "j'aime pas|j'aime vraiment pas|je kiffe|je kiffe pas", r"j'aime (?:<ly>)pas (?:trop |du tout )?(?!trop\b)<own>(?!.*\b(?:te|vous|toi|lui)\b)<art><own><value>", "J'aime pas le fromage.", "fromage", _DISLIKES, polarity="dislike", family="dislike"),
    Rule("preference", "je kiffe", r"je kiffe (?:<ly>)(?:trop )?<own>(?!\w+(?:er|ir|re|oir)$)(?!.*\b(?:te|vous|toi|lui)\b)<art><own><value>", "Je kiffe le rap.", "rap", _LIKES, polarity="like", family="like"),
    Rule("background", "je suis en", r"je suis (?:<ly>)(?P<value>en (?:premiere|deuxieme|seconde|troisieme|quatrieme|derniere|terminale|licence|master|prepa|these|doctorat|stage|alternance|apprentissage|l[123]|m[12])(?: (?:annee )?(?:de |d'|en |chez |a |au )?<any>)?)", "Je suis en deuxième année de droit.", "en deuxième année de droit", "Est {value}.", family="study"),
    Rule("background", "j'apprends", r"j'apprends (?:<ly>)(?P<value>(?:le |l'|la |a (?:jouer|nager|coder|conduire|coudre|dessiner)\b)(?!(?:chose|nouvelle|verite|lecon|poeme|texte|vocabulaire)\b)<any>)", "J'apprends le japonais.", "le japonais", "Apprend {value}.", family="study"),
    Rule("constraint", "je ne mange plus|je mange plus", r"je (?:ne )?mange plus (?P<value>(?:de |d')(?P<old>(?!(?:ce|cet|cette|ces|ton|ta|tes)\b)<any>))", "Je ne mange plus de viande.", "de viande", "Ne mange plus {value}.", family="diet", ends=f"{_DID}|dislike"),
    # --- what is over ---------------------------------------------------------------------------
    Rule("end", "je n'habite|je ne vis|nous n'habitons", r"(?:je n'habite|je ne vis|nous n'habitons|nous ne vivons) plus <at> <value>", "Je n'habite plus à Bordeaux.", "Bordeaux", ends="home"),
    Rule("end", "je ne travaille", r"je ne travaille plus (?:chez|comme|pour|dans|a|au|en tant que) <value>", "Je ne travaille plus chez Airbus.", "Airbus", ends=_JOB),
    Rule("background", "j'ai demissionne|j'ai quitte|j'ai perdu|j'ai ete", r"j'(?P<value>(?P<old>)ai (?:demissionne|(?:quitte|perdu) (?:mon|le) (?:travail|emploi|poste|boulot|job)|ete (?:licenciee?|viree?)))(?: <when>)?", "J'ai démissionné.", "ai démissionné", "{value}.", family="event", ends=_JOB),
    Rule("end", "j'ai arrete|j'ai abandonne", r"j'ai (?:arrete|abandonne) (?!mon (?:travail|emploi))(?!(?:le|la|les|l'|mon|ma|mes) .*\b(?:devant|dans|sur|chez|en|au|a|pour)\b)(?!(?:la|ma) (?:voiture|machine|conversation|discussion)\b)<art><value>", "J'ai arrêté de fumer.", "fumer", ends=_DID),
    Rule("end", "je ne suis", r"je ne suis plus (?:une? )?(?!(?:<ly>)<mood>(?: .*)?$)<value>", "Je ne suis plus végétarien.", "végétarien", ends="diet|health|limit|work|job|study|partner|identity"),
    Rule("end", "je n'aime plus", r"je n'aime plus (?:<ly>)(?!(?:vivre|exister|rien|personne|la vie|etre|ma vie)\b)<art><value>", "Je n'aime plus le jazz.", "jazz", ends="like|favourite|hobby|habit"),
    Rule("end", "je ne|je n'", r"je (?:ne (?:mange|bois|joue|pratique|lis|prends|regarde|conduis|collectionne|fais)|n'(?:etudie|apprends|ecoute|utilise|ai)) plus (?:au |a la |aux )?(?!<mood>(?: .*)?$)<art><value>|je ne (?P<value2>fume|bois|conduis) plus", "Je ne bois plus de café.", "café", ends=f"{_DID}|pet|household|possession"),
    # --- likes ----------------------------------------------------------------------------------
    Rule("preference", "mon|ma|mes|notre", r"(?:mon|ma|mes|notre) (?P<topic>\w+) prefere(?:e|s|es)? (?:est|sont|c'est|reste) (?!(?:deja|encore|toujours|bientot|fini|complet|ferme|occupe|prise?|parti|epuise|casse|la|ici)\w{0,2}(?: \w+e?s?)?$)<art><value>", "Ma couleur préférée est le turquoise.", "turquoise", "Préférence ({topic}) : {value}.", "favourite {topic}", "like", family="favourite"),
    Rule("preference", "je n'aime|je deteste|je hais|je ne supporte|j'ai horreur|j'ai une sainte", r"(?:je n'aime pas (?:<ly>)(?:trop |vraiment |du tout )?|je (?:<ly>)(?:deteste|hais) (?:<ly>)|je ne supporte pas |j'ai horreur )<own>(?!.*\b(?:te|vous|toi|lui|le lui|la lui)\b)<art><own><value>", "Je n'aime pas la coriandre.", "coriandre", _DISLIKES, polarity="dislike", family="dislike"),
    Rule("preference", "j'adore|j'aime|je prefere|je raffole|je suis", r"(?:j'adore|j'aime|je prefere|je raffole|je suis (?:une? )?(?:<ly>)(?:grande? )?(?:fan|passionnee?)) (?:<ly>)<own>(?!\w+(?:er|ir|re|oir)$)(?!.*\b(?:te|vous|toi|lui)\b)<art><own><value>", "J'adore les vieux films en noir et blanc.", "vieux films en noir et blanc", _LIKES, polarity="like", family="like"),
    # --- diet, health ---------------------------------------------------------------------------
    Rule("constraint", "je suis|je mange", r"(?:je suis (?:<ly>)(?:une? )?(?P<value><diet>)|je mange (?:<ly>)(?P<value2>vegan|vegetarien|casher|halal|sans gluten))", "Je suis végétarienne.", "végétarienne", "Est {value}.", family="diet"),
    Rule("constraint", "je ne mange|je ne consomme", r"je ne (?:mange|consomme) (?:pas|jamais) (?P<value>(?:de |d')(?!(?:ce|cet|cette|ces|ton|ta|tes|votre|vos)\b)<any>)", "Je ne mange pas de viande.", "de viande", "Ne mange pas {value}.", family="diet"),
    Rule("constraint", "je ne bois", r"je ne bois (?:pas|jamais) (?P<value>(?:de |d')(?!(?:ce|cet|cette|ces|ton|ta|tes|votre|vos)\b)<any>)", "Je ne bois pas d'alcool.", "d'alcool", "Ne boit pas {value}.", family="diet"),
    Rule("constraint", "je suis", r"je suis (?:<ly>)(?P<value>(?:allergique|intolerante?) (?:aux|au|a la|a l'|a)(?:(?<=')|\s)(?!(?:\w+ ){0,2}<unreal>|(?:ton|ta|tes|votre|vos|ce|cette|ces)\b)<any>)", "Je suis allergique aux arachides.", "allergique aux arachides", "Est {value}.", family="health"),
    Rule("background", "j'ai|je souffre", r"(?:j'ai|je souffre) (?P<value><ill>)", "J'ai de l'asthme.", "de l'asthme", "Santé : {value}.", family="health"),
    # --- people ---------------------------------------------------------------------------------
    Rule("background", "mon|ma|mes|notre|nos", r"<my> (?P<value>(?P<whose><kin>) (?:est (?:<ly>)(?:(?:allergique|intolerante?) <any>|<diet>)|a (?:<ill>)))", "Ma fille est allergique aux noisettes.", "fille est allergique aux noisettes", "{value}.", family="health"),
    Rule("background", "mon|ma|mes|notre|nos", r"<my> (?P<topic>(?P<whose><kin>)) s'appellen?t? ?<value>", "Mon frère s'appelle Luc.", "Luc", "{topic} s'appelle {value}.", "{topic}'s name", family="people"),
    Rule("background", "mon|ma|mes|notre|nos", r"<my> (?P<value>(?P<whose><kin>) (?:(?:travaille|habite|vit|etudie|parle)(?: <any>)?|vient (?:de |d'|du |des )<whence><any>|a (?:\d+|\w+|\w+-\w+|\w+ et un) ans|est (?:<ly>)(?:<post>)(?: <any>)?))", "Ma femme travaille comme avocate.", "femme travaille comme avocate", "{value}.", family="people"),
    Rule("background", "j'ai|nous avons|on a", r"(?:j'ai|nous avons|on a) (?P<value><num> (?:petite?s? |jeunes? )?(?:enfants?|fils|filles?|chiens?|chats?|freres?|s(?:œ|oe)urs?|jumeaux|jumelles|lapins?|poissons?|chevaux|cheval|petits-enfants)<named>)", "J'ai deux enfants.", "deux enfants", "A {value}.", family="household"),
    Rule("background", "je suis", r"je suis (?:<ly>)(?P<value>mariee?|celibataire|divorcee?|veu(?:f|ve)|fiancee?|pacsee?|separee?)", "Je suis marié.", "marié", "Est {value}.", "relationship status", family="partner"),
    # --- who somebody is ------------------------------------------------------------------------
    Rule("background", "je m'appelle|mon nom|mon prenom|m'appeler|appelle-moi|appelez-moi|moi", r"(?:je m'appelle <name>|mon (?:pre)?nom (?:complet )?est <name>|(?:tu peux|vous pouvez) m'appeler <name>|appel(?:le|ez)-moi <name>|moi,? c'est <name>)", "Je m'appelle Camille.", "Camille", "S'appelle {value}.", "name", family="name"),
    Rule("background", "j'habite|je vis|nous habitons|nous vivons|on habite", r"(?:j'habite|je vis|nous habitons|nous vivons|on habite) (?:<ly>)(?P<value><at>(?:(?<=')|\s)(?:(?<=chez )|(?!<nowhere>))<any>)", "J'habite à Nantes.", "à Nantes", "Habite {value}.", "home", family="home"),
    Rule("background", "j'ai demenage|j'ai emmenage|nous avons demenage|nous avons emmenage|on a demenage|on a emmenage|j'ai recemment|je viens", r"(?:j'ai|nous avons|on a|je viens de|je viens d')(?: <when>)? ?(?:demenage|emmenage)r? (?P<value><at>(?<!') ?<any>)(?: <when>)?", "Nous avons déménagé à Lille le mois dernier.", "à Lille", "Habite {value}.", "home", family="home"),
    Rule("background", "je viens|je suis|j'ai grandi", r"(?:je viens (?P<value>(?:de |d'|du |des )<whence><any>)|je suis (?P<value2>(?:originaire (?:de |d'|du |des )|nee? (?:a|en|au|aux) )<any>)|j'(?P<value3>ai grandi (?:a|en|au|aux) <any>))", "Je viens de Marseille.", "de Marseille", "Origine : {value}.", "origin", family="origin"),
    Rule("background", "je travaille", r"je travaille (?:<ly>)(?P<value>(?:comme|chez|pour|dans|a|au|en tant que) (?!(?:toi|vous|moi|ca|mon|ma|mes|ton|ta|tes|votre|vos|cela|deux|trois|rien|ce|cette|demain|le jardin|la cuisine|le salon|le train|le calme|le bruit|l'urgence|l'ombre|mieux|plein|fond)\b)<any>)", "Je travaille comme infirmière dans une clinique.", "comme infirmière dans une clinique", "Travaille {value}.", "work", family="work"),
    Rule("background", "je suis", r"je suis (?:<ly>)(?:une? )?(?P<value><post>(?: <any>)?)", "Je suis professeur de musique.", "professeur de musique", "Est {value}.", "job", family="work"),
    Rule("background", "j'etudie", r"j'etudie (?:<ly>)<own>(?!(?:la |le |les |l'|un |une |des |de )(?:\w+ )?(?:questions?|propositions?|dossiers?|possibilites?|projets?|offres?|contrats?|cartes?|cas|textes?|rapports?|documents?|plans?|situations?|problemes?|sujets?|demandes?|menu|options?|marche|chose|piste)\b)<art><value>", "J'étudie la biologie à Rennes.", "biologie à Rennes", "Étudie {value}.", "study", family="study"),
    Rule("background", "j'ai", r"j'ai (?P<value>\d{1,3} ans)", "J'ai 34 ans.", "34 ans", "A {value}.", "age", family="age"),
)  # fmt: skip

_ARTICLES = re.compile(r"^(?:le|la|les|l'|du|des|de la|de l'|de|d'|une?|mon|ma|mes)(?:(?<=')|\s+)")


FRENCH = Language(
    RULES,
    words=WORDS,
    border=r"\b",
    lead=r"[\s\W_]*(?:(?:bonjour|bonsoir|salut|coucou|alors|oui|non|et|mais|au fait|ok|merci|en fait|pour info|note que|sache que|malheureusement|heureusement|car|personnellement|moi,|la semaine derniere|le mois dernier|l'annee derniere|hier|aujourd'hui|franchement|honnetement)(?![\w'])[\s,:;.!…-]*)",
    tail=r"(?:,? (?:depuis [\w' ]{2,30}|le mois dernier|la semaine derniere|l'annee derniere|cette annee|maintenant|aussi|en ce moment|actuellement|il y a [\w' ]{2,30}|s'il (?:te|vous) plait|merci|par-dessus tout|plus que tout|d'ailleurs))*",
    clauses=Clauses(
        sentence=SENTENCE,
        clause=r"[;:()]\s*(?!\d)|\s[-–—]+\s|,(?!\d)\s*| mais | parce que | car | et (?=(?:je|j'|nous|mon|ma|mes|notre|on|elle|il|ils|elles)\b)",
    ),
    guards=Guards(
        foreign=r"\b(?:dans (?:ce|cette|le|un|une) (?:jeu|histoire|scene|film|piece|roman|reve|role)\b|dans ma tete|pour (?:un jour|la journee)\b|si (?:j'|je|nous|tu|on)|peut-etre|je crois|je pense|je suppose|(?:me|te) dit|dit qu|disent|pense qu|pensent|on dit|trouve qu|pretend|imagin\w+|supposons|j'aimerais|je voudrais|avant,? j|autrefois|quand j'etais|enfant, j|selon|parait|je ne sais pas|a l'epoque|j'ai reve|il semble|apparemment|d'apres)",
        doubt=r"\?",
        asks=r"(?!)",
        request=r"\b(?:tradui[st]\w*|corrige\w*|reformul\w*|jeu de role|que (?:veut dire|signifie)|comment dit-on|grammaire|resum\w+|fais comme si|tu es (?:une? |maintenant)|(?:ecris|ecrivez|redige|redigez|raconte|invente|compose)\w*(?:-moi)? (?:une?|le|la|des) (?:\w+ ){0,3}?(?:lettre|histoire|texte|poeme|mail|e-mail|courriel|discours|message|scene|dialogue|chanson|roman|conte|tweet))",
    ),
    values=Values(
        empty=r"(?:ca|cela|ceci|lui|elle|il|eux|toi|vous|moi|nous|tout|rien|ici|la|oui|non|bien|mal|plus|pas|tot|tard|.|.* (?:ca|et|ou|de|du|des|le|la|les|un|une|a|pour|avec|en))",
    ),
    called="{value} qui s'appelle {name}",
    key=task_key,
    fold=bare,
    label=fold,
    tell=told,
    head=partial(without, _ARTICLES),
)
