"""How a text in Latin letters is folded, and its language told by its commonest words."""

# ruff: noqa: E501 - a list of words is one line, however long

import re
import unicodedata

from streams.extractors.patterns import either

_MARKED = {ord(mark): "'" for mark in "’‘"}
_PLAIN = {ord(letter): unicodedata.normalize("NFD", letter)[0] for letter in "àâáäçèéêëìíîïòóôùúû"}
_FIRST = (  # a word that every sentence about oneself has one of
    "vergiss", "vergess", "bitte", "antwort", "schreib", "duz", "siez", "benutz", "verwend",
    "immer", "oubli", "repond", "répond", "ecris", "écris", "n'utilis", "utilise d", "utilisez", "tutoie", "vouvoie", "tutoy", "vouvoy", "sois ", "soyez ", "pas d", "toujours", "jamais", "olvid", "responde ", "escrib",
    "tutéa", "trátame", "siempre", "sé ",
    "ich", "wir", "mich", "mein", "unser", "lieblings", "liebsten",
    "je ", "j'", "m'app", "moi", "mon ", "ma ", "mes ", "notre", "nous", "appel", "on a ", "on h", "on v", "m'ont", "c'est m",
    "yo ", "soy", "mi ", "mis ", "vivo", "vivimos", "resid", "trabajo", "estudio", "teng", "tenemos",
    "nos ", "nuestr", "odio", "detest", "prefiero", "estoy", "nací", "naci ", "crecí", "creci ",
    "puedes", "dimit", "renunc", "adoro", "padezco", "sufro", "ya no", "deje ", "dejé ", "perdí",
    "he de", "he di", "he re", "he pe", "he ab", "llám", "llam", "nunca", "aborrezco",
    "vengo", "hoy en d",
    *(f"me {verb}" for verb in ("ll", "gu", "enc", "fas", "apa", "mud", "he ", "chi", "fli", "des",
                                "han ", "cri")),
    *(f"no {verb}" for verb in ("me ", "com", "beb", "tom", "sop", "agu", "viv", "tol", "pue")),
)  # fmt: skip
_COMMON = {
    "en": "a all any the please thanks thank help find yes yeah okay ok book make need want like good get give show looking go going see how when where who which there here their them then than some time one two day i i'm i've my me you is are was were am to of and that have has had it for an in this with at be do did what not on he she they your our we can will would if no as but so or from about just ma mon",
    "de": "vergiss vergessen bitte antworte antworten schreib schreibe benutze verwende duze sieze immer keine auf in am an zum zur vom beim leben lebe leb hab hat habs haben bei ins unsere unserem unserer jahr jahre seit jetzt grad gerade wohn wohne ich bin mein meine meinen meinem meiner mich mir wir sind unser unsere der die das dem den und ist nicht kein keine keinen ein eine einen habe haben hat zu war mit im auf für nach bei seit aus als gegen heiße heisse heißt wohne wohnen arbeite mag gern gerne liebe esse trinke nenn name aber auch mehr studiere letzte letzten liebsten vertrage sehr du kannst gegen",
    "fr": "sois soyez tutoyez vouvoyez oublie oubliez réponds répondez repondez écris ecris écrivez utilise utilisez tutoie vouvoie toujours jamais en vit viens vient déménagé demenage emménagé installer mon mec bosse moi salut bonjour années ans toujours jamais rien vivre année plus chat chien pas on a je j m n d l c qu moi mon ma mes nous notre le la les et est un une de des du au aux que pas ne ai suis à chez comme pour avec en depuis plus aime adore déteste habite vis viens travaille appelle préféré préférée nom tu peux s dans ans fils fille",
    "es": "sé trátame olvida olvide responde responda respóndeme escribe escriba usa uses utiliza tutéame siempre nunca en yo soy me mi mis nos nuestro nuestra el la los las y es un una de que en no con por para al del a como desde hace vivo vivimos trabajo tengo tenemos gusta gustan encanta encantan llamo llama nombre ya odio prefiero estudio estoy he dejado dejé nací crecí resido soporto bebo tomo llámame llamame puedes mudé mudamos se dos favorito favorita cerca dimitido dimití vengo tolero puedo beber comer hoy día ahora actualmente",
}  # fmt: skip
_SPEAKS: dict[str, tuple[str, ...]] = {}
for _name, _words in _COMMON.items():
    for _word in _words.split():
        _SPEAKS[_word] = (*_SPEAKS.get(_word, ()), _name)
_MAY_BE = re.compile(rf"\b(?:{either(_FIRST)})")
_WORD = re.compile(r"[^\W\d_]+")
MOST_WORDS = 60
"""Words of a text by which its language is told."""


def code_of(text: str) -> str:
    """`en`, `de`, `fr` or `es`: whose commonest words it has most of. English unless it has one of
    the others' words of oneself, and as many of theirs."""
    low = folded(text)
    if _MAY_BE.search(low) is None:
        return "en"
    votes = dict.fromkeys(_COMMON, 0)
    for word in _WORD.findall(low, 0, 1000)[:MOST_WORDS]:
        for name in _SPEAKS.get(word, ()):
            votes[name] += 1
    return max(votes, key=lambda name: (votes[name], name != "en"))


def folded(text: str) -> str:
    """In lower case with plain apostrophes, of the same length."""
    low = text.lower()
    low = low if len(low) == len(text) else text
    return low if low.isascii() else low.translate(_MARKED)


def bare(text: str) -> str:
    """The same without accents but that of ñ: people often leave them out."""
    return folded(text).translate(_PLAIN)
