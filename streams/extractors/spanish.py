"""Rules for Spanish: names, homes, work, likes, diet, family, and what is over. One line each, tried in this order.

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
_LIKES = "Le gusta: {value}."
_DISLIKES = "No le gusta: {value}."

WORDS = {
    "value": rf"(?P<value>{ANY})",
    "any": ANY,
    "name": rf"(?P<value>(?!(?:asi|ya|de|la|las|el|los|lo|un|una|mucho|ayer|hoy|mañana|luego|despues|antes|ahora|pronto|tarde|mas|cuando|si|por|para|en|a|al|con|que|no|esta|este|cualquier|siempre|otra|otro|lunes|martes|miercoles|jueves|viernes|sabado|domingo)\b){NAME})",
    "art": r"(?:el |la |los |las |un |una |al )?",
    "own": r"(?!(?:tu|tus|su|sus|este|esta|esto|estos|estas|ese|esa|eso|esos|esas|aquel\w*|que|cuando|como|lo que|mas|asi|ti|usted\w*|mucho eso)\b)",
    "ly": r"(?:(?:mucho|muchisimo|tambien|todavia|aun|siempre|actualmente|ahora|sobre todo|muy|bastante|realmente|solo|hoy|un poco|nada|tanto|especialmente|estrictamente|originalmente) )*",
    "kin": r"(?:marido|esposo|esposa|mujer|pareja|novi[oa]|prometid[oa]|hij[oa]|madre|padre|mama|papa|herman[oa]|abuel[oa]|ti[oa]|prim[oa]|sobrin[oa]|niet[oa]|bebe|perr[oa]|gat[oa]|conejo|caballo|loro|hamster|compañer[oa] de piso|suegr[oa]|cuñad[oa]|padres|hij[oa]s)",
    "my": r"(?:mi|mis|nuestr[oa]s?)",
    "diet": r"(?:vegetarian[oa]|vegan[oa]|celiac[oa]|diabetic[oa]|pescetarian[oa]|abstemi[oa]|asmatic[oa])",
    "ill": r"(?:diabetes(?: tipo [12])?|asma|artrosis|migrañas?|hipertension|endometriosis|epilepsia|tdah|acufenos|celiaquia|depresion|alergia <any>|una alergia <any>)",
    "post": r"(?:profesora?|maestr[oa]|enfermer[oa]|medic[oa]|abogad[oa]|ingenier[oa]|desarrollador[oa]?|programador[oa]?|carpinter[oa]|panader[oa]|estudiante|cociner[oa]|arquitect[oa]|periodista|music[oa]|artista|contable|contador[oa]?|diseñador[oa]?|farmaceutic[oa]|dentista|veterinari[oa]|psicolog[oa]|traductor[oa]?|agricultor[oa]?|mecanic[oa]|electricista|fontaner[oa]|policia|bomber[oa]|carter[oa]|vendedor[oa]?|camarer[oa]|peluquer[oa]|jubilad[oa]|funcionari[oa]|investigador[oa]?|biolog[oa]|fisic[oa]|quimic[oa]|secretari[oa]|consultor[oa]?|jef[ea] de \w+|director[oa]?|empresari[oa]|autonom[oa]|fotograf[oa]|escritor[oa]?|actor|actriz|cantante|bailarin[oa]?|piloto|conductor[oa]?|jardiner[oa]|matrona|fisioterapeuta|becari[oa]|militar|notari[oa]|librer[oa]|bibliotecari[oa]|optic[oa]|ama de casa|albañil|taxista)",
    "named": r"(?: (?!\w+ndo\b|encima\b|cerca\b|fuera\b|dentro\b|ahora\b)\w+(?:[oa]s?|es))?(?: (?:llamad[oa]s?|que se llaman?|y|de (?:raza|\w+ años)|adoptad[oa]s?)(?: <any>)?)?",
    "nowhere": r"(?:(?:un|una|el|la|los|las|otro|otra|este|esta) )?(?:\w+ )?(?:sueños?|nubes|mundo|planeta|pasado|futuro|presente|paz|pareja|burbuja|miedo|espera|esperanza|angustia|epoca|error|mentira|luna|limbo|tension|estres)\b",
    "unreal": r"(?:\w+(?:cion|ciones|idad|idades|ismo|ismos)|lunes|martes|miercoles|jueves|viernes|sabados?|domingos?|reuni[oó]n(?:es)?|gente|personas|preguntas?|mentiras?|excusas|ruido|estres|trabajo|criticas?|jefes?|tonterias?|estupidez)\b",
    "mood": r"(?:cansad[oa]|segur[oa]|enfadad[oa]|triste|content[oa]|feliz|disponible|libre|aqui|alli|ahi|list[oa]|de acuerdo|en|interesad[oa]|preocupad[oa]|nervios[oa]|sol[oa]|hambre|sed|sueño|frio|calor|miedo|ganas|tiempo|prisa|dudas?|fuerzas|paciencia|nada|que)\b",
    "places": r"(?:habana|paz|coruña|rioja|mancha|costa|sierra|capital|pampa|zona|provincia|ciudad|region|norte|sur|este|oeste|isla|islas|salvador|palmas|angeles|cairo|estados unidos|peru|pueblo|patagonia|campo|pais|republica|india|argentina|serena|plata|alpujarra|bierzo|barrio)",
    "age": r"(?:\d{1,3}|(?:un|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|trece|catorce|quince|dieci\w+|veint\w+|treinta|cuarenta|cincuenta|sesenta|setenta|ochenta|noventa)(?: y \w+)?)",
    "food": r"(?:lactosa|gluten|leche|lacteos|fructosa|azucar|trigo|huevos?|marisco|picante|alcohol|cafeina|soja|frutos secos|cacahuetes?|polen|penicilina|aspirina|ibuprofeno)",
    "num": r"(?:una?|dos|tres|cuatro|cinco|seis|\d+)",
    "part": r"(?:el mes pasado|la semana pasada|el año pasado|ayer|hace poco|hace \w+ \w+|recientemente|en \w+)",
}

RULES = (
    # --- pets by name, and what people are at --------------------------------------------------------
    Rule("background", "tengo|tenemos|adopte|adoptamos|hemos", r"(?:tengo|tenemos|adopte|adoptamos|he adoptado|hemos adoptado) (?P<value><num> (?:perr[oa]s?|gat[oa]s?|conejos?|caballos?|loros?|hamsters?|tortugas?|perrit[oa]s?|gatit[oa]s?|cachorr[oa]s?)(?: \w+)?)(?:[.!,]+ ?| y )?(?: ?que )?(?:se llaman?|su nombre es|l[oa] llamamos|llamad[oa]s?) (?P<name>[\w-]+(?: y [\w-]+)?)", "Tengo una perra, se llama Luna.", "una perra que se llama Luna", "Tiene {value}.", family="pet"),
    Rule("background", "estoy estudiando|estoy haciendo|estoy cursando|estoy aprendiendo", r"estoy (?P<value>(?:estudiando|cursando|aprendiendo) (?!(?:la|el|los|las) (?:propuesta|opcion|posibilidad|tema|caso|idea|situacion)\b)<any>|haciendo (?:un |una |el |la )(?:master|doctorado|carrera|grado|curso|posgrado|tesis|fp|practicas)(?: <any>)?)", "Estoy haciendo un doctorado en química.", "haciendo un doctorado en química", "Está {value}.", family="study"),
    Rule("background", "mi|mis|nuestro|nuestra", r"<my> (?P<value>(?P<whose><kin>) (?:le )?(?:tiene miedo (?:a|de) <any>|esta (?:embarazada|jubilad[oa]|enferm[oa]|en el paro)|es (?:celiac[oa]|sord[oa]|cieg[oa])))", "Mi hijo tiene miedo a los perros.", "hijo tiene miedo a los perros", "{value}.", family="people"),
    Rule("background", "me han|me despidieron", r"(?P<value>(?P<old>)me (?:han despedido|despidieron|han echado del trabajo))(?: <any>)?", "Me han despedido.", "Me han despedido", "Ha perdido el trabajo.", family="event", ends=_JOB),
    # --- what is over ---------------------------------------------------------------------------
    Rule("end", "ya no vivo|ya no vivimos|no vivo|ya no resido", r"(?:ya no (?:vivo|vivimos|resido) en <value>|no (?:vivo|vivimos) mas en (?P<value2><any>))", "Ya no vivo en Granada.", "Granada", ends="home"),
    Rule("end", "ya no trabajo", r"ya no trabajo (?:en|para|como|de|con) <value>", "Ya no trabajo en Telefónica.", "Telefónica", ends=_JOB),
    Rule("background", "he dimitido|dimiti|renuncie|he renunciado|he dejado|deje|me despidieron|me han despedido|he perdido|perdi", r"(?P<value>(?P<old>)(?:he dimitido|dimiti|renuncie|he renunciado|me (?:despidieron|han despedido)|(?:he (?:dejado|perdido)|deje|perdi) (?:mi|el) (?:trabajo|empleo|puesto))(?: <part>)?)", "He dimitido.", "He dimitido", "{value}.", family="event", ends=_JOB),
    Rule("end", "he dejado|deje|he abandonado", r"(?:he dejado|deje|he abandonado) (?!(?:mi|el) (?:trabajo|empleo|puesto))(?!(?:el|la|los|las|un|una|mi|mis) .*\b(?:en|sobre|encima|dentro|a|al|con|para|fuera)\b)(?!(?:las? llaves?|el (?:coche|movil|paraguas))\b)(?:de )?<art><value>", "He dejado de fumar.", "fumar", ends=_DID),
    Rule("end", "ya no soy|ya no estoy", r"ya no (?:soy|estoy) (?:una? )?(?!(?:<ly>)(?:tan )?<mood>)<value>", "Ya no soy vegetariano.", "vegetariano", ends="diet|health|limit|work|job|study|partner|identity"),
    Rule("end", "ya no me", r"ya no me (?:gustan?|encantan?|interesan?) <art><value>", "Ya no me gusta el jazz.", "jazz", ends="like|favourite|hobby|habit"),
    Rule("end", "ya no", r"ya no (?:(?:como|bebo|tomo|juego|toco|practico|estudio|leo|veo|tengo|colecciono|uso|hago) (?:a la |a los |a las |a )?(?!<mood>)<art><value>|(?P<value2>fumo|bebo|conduzco))", "Ya no bebo café.", "café", ends=f"{_DID}|pet|household|possession"),
    # --- likes ----------------------------------------------------------------------------------
    Rule("preference", "mi|mis", r"(?:mi|mis) (?P<topic>\w+) (?:favorit|preferid)[oa]s? (?:es|son|sigue siendo) <art><value>", "Mi color favorito es el turquesa.", "turquesa", "Preferencia ({topic}): {value}.", "favourite {topic}", "like", family="favourite"),
    Rule("preference", "no me|odio|detesto|aborrezco|no soporto|no aguanto|no tolero", r"(?:no me (?:gustan?|agradan?) (?:<ly>)|(?:odio|detesto|aborrezco) |no (?:soporto|aguanto|tolero(?! (?:bien )?<art><food>)) )<own>(?!(?:nada |tanto |mucho )?(?:esto|eso|aquello|est[ea]|es[ea]|nada|como|cuando|que)\b)(?!.*\b(?:\w+[aeiou]r(?:lo|la|los|las|te|telo|selo)|(?:que|cuando|como|si) te|te lo|lo que)\b)<art><own><value>", "No me gusta el cilantro.", "cilantro", _DISLIKES, polarity="dislike", family="dislike"),
    Rule("preference", "me gusta|me encanta|me fascina|me apasiona|me chifla|me flipa|me gustan|me encantan|me fascinan|me apasionan|prefiero|adoro|soy", r"(?:me (?:gustan?|encantan?|fascinan?|apasionan?|chiflan?|flipan?)|prefiero(?! (?:el|la|los|las|lo) (?:de|del|que|primer\w*|segund\w*|tercer\w*|ultim\w*|otr\w*)\b)|adoro|soy (?:muy |una? gran )?(?:fan|aficionad[oa]) (?:de|a)) (?:<ly>)<own>(?!(?:\w+[aei]r|\w+[aei]rse)$)(?!.*\b(?:\w+[aeiou]r(?:lo|la|los|las|te|telo|selo)|(?:que|cuando|como|si) te|te lo|lo que)\b)<art><own><value>", "Me encantan las películas antiguas.", "películas antiguas", _LIKES, polarity="like", family="like"),
    # --- diet, health ---------------------------------------------------------------------------
    Rule("constraint", "soy", r"soy (?:<ly>)(?P<value><diet>)", "Soy vegetariana.", "vegetariana", "Es {value}.", family="diet"),
    Rule("constraint", "no como|nunca como", r"(?:no|nunca) como (?P<value>(?!(?:nada|antes|despues|asi|mucho|tanto|en|hasta|con|hoy|ayer|ahora|todavia|aun|mañana|mas|de|desde|por|porque|esta|este|ese|esa|solo|sola)\b)<any>)", "No como carne.", "carne", "No come {value}.", family="diet"),
    Rule("constraint", "no bebo|nunca bebo|no tomo|nunca tomo", r"(?:no|nunca) (?:bebo|tomo) (?P<value>(?!(?:nada|mucho|tanto|en|hasta|decisiones|partido|parte|nota|notas|hoy|ayer|ahora|mas|de|del|el|la|los|las|un|una|esta|este|ese|esa|por|a)\b)<any>)", "No bebo alcohol.", "alcohol", "No bebe {value}.", family="diet"),
    Rule("constraint", "soy", r"soy (?:<ly>)(?P<value>(?:alergic[oa]|intolerante) (?:al|a) (?!(?:\w+ ){0,2}<unreal>|(?:tu|tus|su|sus|es[ae]s?|est[ae]s?)\b)<any>)", "Soy alérgico a los cacahuetes.", "alérgico a los cacahuetes", "Es {value}.", family="health"),
    Rule("constraint", "no tolero|no puedo tomar|no puedo comer|no puedo beber", r"no (?:tolero(?: bien)?|puedo (?:tomar|comer|beber)) (?P<value><art><food>(?: <any>)?)", "No tolero la lactosa.", "la lactosa", "No tolera {value}.", family="health"),
    Rule("background", "tengo|padezco|sufro", r"(?:tengo|padezco(?: de)?|sufro de) (?P<value><ill>)", "Tengo asma.", "asma", "Tiene {value}.", family="health"),
    # --- people ---------------------------------------------------------------------------------
    Rule("background", "mi|mis|nuestro|nuestra", r"<my> (?P<value>(?P<whose><kin>) (?:es (?:<ly>)(?:(?:alergic[oa]|intolerante) <any>|<diet>)|tiene (?:<ill>)))", "Mi hija es alérgica a las avellanas.", "hija es alérgica a las avellanas", "{value}.", family="health"),
    Rule("background", "mi|mis|nuestro|nuestra", r"<my> (?P<topic>(?P<whose><kin>)) se llaman? <value>", "Mi hermano se llama Lucas.", "Lucas", "{topic} se llama {value}.", "{topic}'s name", family="people"),
    Rule("background", "mi|mis|nuestro|nuestra", r"<my> (?P<value>(?P<whose><kin>) (?:trabaja|vive(?! en <nowhere>)|estudia|habla|tiene (?:ya |solo )?<age> (?:años|meses)|es (?:<ly>)(?:de (?!(?:la|el|los|las|pocas?|muchas?|un|una)\b(?! <places>\b))|<post>)) ?(?:<any>)?)", "Mi mujer trabaja como abogada.", "mujer trabaja como abogada", "{value}.", family="people"),
    Rule("background", "tengo|tenemos", r"(?:tengo|tenemos) (?P<value><num> (?:hij[oa]s?|perr[oa]s?|gat[oa]s?|herman[oa]s?|niñ[oa]s?|gemel[oa]s|melliz[oa]s|niet[oa]s?|conejos?|caballos?)<named>)", "Tengo dos hijos.", "dos hijos", "Tiene {value}.", family="household"),
    Rule("background", "estoy|soy", r"(?:estoy|soy) (?:<ly>)(?P<value>casad[oa]|solter[oa]|divorciad[oa]|viud[oa]|prometid[oa]|separad[oa])", "Estoy casado.", "casado", "Está {value}.", "relationship status", family="partner"),
    # --- who somebody is ------------------------------------------------------------------------
    Rule("background", "me llamo|mi nombre|llamarme|llamame|llamenme", r"(?:me llamo <name>|mi nombre (?:completo )?es <name>|(?:puedes|podeis|pueden|puede) llamarme <name>|llam[ae]n?me (?!(?:loc[oa]|tont[oa]|ingenu[oa]|antiguad[oa]|anticuad[oa]|rar[oa]|exagerad[oa]|pesad[oa]|como)\b)<name>)", "Me llamo Lucía.", "Lucía", "Se llama {value}.", "name", family="name"),
    Rule("background", "vivo|vivimos|resido|residimos", r"(?:vivo|vivimos|resido|residimos) (?:<ly>)en (?!<nowhere>|(?:mi|tu|su)\b)<value>", "Vivo en Valencia.", "Valencia", "Vive en {value}.", "home", family="home"),
    Rule("background", "mude|mudamos|mudado", r"(?:me mude|nos mudamos|(?:me he|nos hemos) mudado) (?:<part> )?a <value>", "Nos mudamos a Bilbao el mes pasado.", "Bilbao", "Vive en {value}.", "home", family="home"),
    Rule("background", "soy|vengo|provengo|naci|creci|me crie", r"(?:(?:soy|provengo|vengo(?! de (?:\w+[aei]r|casa|clase|compras|vacaciones|fiesta|viaje|trabajo|paseo|camino|lejos|fuera|cena|visita|noche|madrugada|parte|nuevo|donde|ver)\b)) (?:<ly>)(?:originari[oa] )?de (?!(?:la|el|los|las|un|una|pocas?|pocos?|much[oa]s?|mi|tu|su|es[oae]s?)\b(?! (?:\w+ )?<places>\b))(?!(?:letras|ciencias|aqui|fiar|acuerdo|\w+[aei]r|buen\w* (?!aires)|mal\w* |carne|palabra|costumbres)\b)<value>|(?:naci(?: y creci)?|creci|me crie) en (?P<value2><any>))", "Soy de Sevilla.", "Sevilla", "Es de {value}.", "origin", family="origin"),
    Rule("background", "trabajo", r"trabajo (?:<ly>)(?P<value>(?:como|de|en|para|con) (?!(?:ello|eso|esto|casa|ti|usted|tu|tus|este|esta|ese|esa|sol a sol|mas|menos|balde|pie|noche|equipo|silencio|el (?:jardin|salon|tren|coche)|la (?:cocina|cama|terraza)|(?:el|la|los|las|un|una) (?:\w+ )?(?:diapositivas?|paginas?|partes?|presentacion|informe|codigo|version|capitulos?|seccion|traduccion|propuesta|texto|correo|documento|tema|asunto|idea|tarea|borrador|respuesta|solucion|problema))\b)<any>)", "Trabajo como enfermera en una clínica.", "como enfermera en una clínica", "Trabaja {value}.", "work", family="work"),
    Rule("background", "soy", r"soy (?:<ly>)(?:una? )?(?P<value><post>(?: <any>)?)", "Soy profesor de música.", "profesor de música", "Es {value}.", "job", family="work"),
    Rule("background", "estudio", r"estudio (?:<ly>)(?!(?:mañana|hoy|mucho|en casa|para|(?:el|la|los|las|un|una|tu|tus|su|este|esta|mi)\b(?! (?:carrera|grado|licenciatura|master|ultimo|primer|segundo|tercer|bachillerato|secundaria|oposicion)))\b)<value>", "Estudio biología en Salamanca.", "biología en Salamanca", "Estudia {value}.", "study", family="study"),
    Rule("background", "tengo", r"tengo (?:ya )?(?P<value><age> años)", "Tengo 34 años.", "34 años", "Tiene {value}.", "age", family="age"),
)  # fmt: skip

_ARTICLES = re.compile(r"^(?:el|la|los|las|una?|al|de|mi|mis)\s+")


SPANISH = Language(
    RULES,
    words=WORDS,
    border=r"\b",
    lead=r"[\s\W_]*(?:(?:hola|buenas|buenos dias|buenas tardes|bueno|si|no,|y|pero|por cierto|vale|ok|gracias|en realidad|para que sepas|ten en cuenta que|recuerda que|desgraciadamente|por suerte|porque|personalmente|la semana pasada|el mes pasado|el año pasado|ayer|la verdad|sinceramente|yo|ahora(?: mismo)?|actualmente|hoy en dia|hoy por hoy|hoy|de momento|en este momento|desde hace (?:\w+ )?(?:años?|meses|semanas)|desde (?:enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|\d{4})|el pasado \w+)(?!\w)[\s,:;.!…-]*)",
    tail=r"(?:,? (?:desde [\w ]{2,30}|el mes pasado|la semana pasada|el año pasado|este año|ahora|tambien|de momento|actualmente|hace [\w ]{2,30}|por favor|gracias|sobre todo|por cierto))*",
    clauses=Clauses(
        sentence=SENTENCE + r"|[¡¿]+",
        clause=r"[;:()]\s*(?!\d)|\s[-–—]+\s|,(?!\d)\s*| pero | porque | ya que | aunque | y (?=(?:yo|soy|vivo|trabajo|tengo|me|mi|mis|nos|no|necesito|busco|quiero|estoy)\b)",
    ),
    guards=Guards(
        foreign=r"\b(?:en (?:est[ae]|ese|esa|la|el|un|una) (?:historia|juego|escena|pelicula|obra|novela|sueño|papel)|por (?:un|una) (?:dia|tarde|noche)|si (?:viviera|fuera|tuviera|yo|me|trabajara)|quizas?|tal vez|a lo mejor|creo que|pienso que|supongo|dice que|dicen que|dijo que|cree que|piensa que|opina que|imagin\w+|supongamos|me gustaria|quisiera|antes (?:vivia|trabajaba|era|me)|de niñ[oa]|cuando era|segun|al parecer|por lo visto|no se si|en aquella epoca|soñe)\b",
        doubt=r"\?",
        asks=r"(?!)",
        request=r"\b(?:traduc\w*|corrig\w*|reformul\w*|juego de rol|que significa|como se dice|gramatica|resum\w+|finge que|eres (?:una? |ahora)|(?:escribe|escribeme|redacta|redactame|cuenta|cuentame|inventa|compon)\w* (?:una?|el|la|unos) (?:\w+ ){0,3}?(?:carta|historia|texto|poema|correo|email|e-mail|discurso|mensaje|escena|dialogo|cancion|novela|cuento|tuit))",
    ),
    values=Values(
        empty=r"(?:eso|esto|ello|lo|el|ella|ellos|ellas|ti|usted|nosotros|todo|nada|algo|aqui|alli|ahi|asi|bien|mal|mas|si|no|mucho|.|.* (?:y|o|de|del|el|la|los|las|un|una|a|para|con|en))",
    ),
    called="{value} que se llama {name}",
    key=task_key,
    fold=bare,
    label=fold,
    tell=told,
    head=partial(without, _ARTICLES),
)
