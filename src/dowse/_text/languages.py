"""The languages whose words are stemmed: their common words, and which of them a text is in."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from dowse._text.scripts import CJK_CHARACTER

_COMMON = {
    "english": """
        a about above after again all also although am among an and another any are as at be
        because been before being below between both but by can cannot could did do does doing
        done down during each either else ever every few for from further get gets had has have
        having he her here hers herself him himself his how however i if in into is it its
        itself just let like may me might me more most much must my myself neither no nor not now
        of off on once only or other our ours ourselves out over own per quite rather same shall
        she should since so some such than that the their theirs them themselves then there
        these they this those though through thus to too under until up upon us very via was we
        were what when where whether which while who whom whose why will with within without
        would yet you your yours yourself yourselves
    """,
    "german": """
        aber alle allem allen aller alles als also am an ander andere anderem anderen anderer
        anderes auch auf aus bei beim bin bis bist da damit dann das dass daß dazu dein deine dem
        den denn der deren des dessen dich die dies diese diesem diesen dieser dieses dir doch dort
        du durch ein eine einem einen einer eines er es etwas euch euer eure für gegen hab habe
        haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in
        indem ins ist jede jedem jeden jeder jedes jetzt kann kein keine keinem keinen keiner können
        könnte man manche mein meine mich mir mit muss musste nach nicht nichts noch nun nur ob oder
        ohne sehr sein seine seinem seinen seiner sich sie sind so solche sollte sondern sonst über
        um und uns unser unsere unter vom von vor war waren warum was weil welche welchem welchen
        welcher welches wenn werde werden wie wieder will wir wird wo wurde wurden zu zum zur
        zwischen
    """,
    "french": """
        ai au aucun aussi autre autres aux avait avant avec avez avoir c ce cela celle celui ces cet
        cette ceux chaque ci comme comment d dans de depuis des donc dont du elle elles en encore
        entre est et été être eu eux fait ici il ils j je jusqu l la là le les leur leurs lors
        lorsque lui m ma mais me même mes moi moins mon n ne ni nos notre nous on ont ou où par
        parce pas peu peut peuvent plus pour pourquoi près qu quand que quel quelle quelles quels
        qui quoi s sa sans se sera ses si soit son sont sous sur t ta tandis te tes toi ton tous
        tout toute toutes tu un une vers vos votre vous y à
    """,
    "spanish": """
        a al algo algunas algunos ante antes aquel así aún aunque cada como cómo con contra cual
        cuál cuando cuándo cuyo de del desde donde dónde dos durante e el él ella ellas ellos en
        entre era eran eres es esa esas ese eso esos esta está estaba estado están estar estas este
        esto estos fue fueron ha había han hasta hay he la las le les lo los más me mi mientras mis
        mucho muchos muy nada ni no nos nosotros nuestra nuestro nuestros o os otra otras otro otros
        para pero poco por porque qué que quien quién se según ser si sí sido sin sino sobre son su
        sus también tanto te tiene tienen todo todos tu tus un una uno unos usted ustedes y ya yo
    """,
    "portuguese": """
        a ao aos aquela aquele as até cada com como da das de dela dele deles depois do dos e é ela
        elas ele eles em entre era eram essa essas esse esses esta está estão estar estas este estes
        eu foi foram há isso isto já la lhe lhes lo mais mas me mesmo meu meus minha muito na não
        nas nem no nos nós nossa nosso num numa o onde os ou para pela pelas pelo pelos por porque
        pode qual quando que quem são se seja sem ser será seu seus só sobre sua suas também te tem
        têm ter todo todos tu tua tudo um uma umas uns você vocês vos à às
    """,
    "italian": """
        a ad agli ai al alla alle allo anche anziché c che chi ci ciò coi col come con contro cosa
        cui d da dagli dai dal dalla dalle dallo degli dei del della delle dello di dopo dove e è ed
        era erano essere fra gli ha hai hanno ho i il in io l la le lei li lo loro lui ma me mentre
        mi mia mio ne nei nel nella nelle nello negli no noi non nostra nostro o ogni oppure per
        perché più può quale quali quando quanto quella quelle quelli quello questa queste questi
        questo qui se sei senza si sia siamo sono sopra sotto stata stati stato su sua sue sugli sui
        sul sulla sulle suo suoi ti tra tu tua tuo tutte tutti tutto un una uno vi voi
    """,
    "dutch": """
        aan al alle alleen als altijd andere ben bij bijvoorbeeld daar daarna dan dat de deze die
        dit doch doen door dus een eens elk elke en er even ge geen had heb hebben heeft hem het
        hier hij hoe hun iets ik in indien is ja je jij jou jouw jullie kan kon kunnen maar me meer
        men met mij mijn moet moeten na naar net niet niets nog nu of om omdat onder ons onze ook
        op over reeds te tegen toch toen tot tussen u uit uw van veel via voor waar waarom wanneer
        want waren was wat we wel welke werd wie wil worden wordt zal ze zelf zich zij zijn zo
        zonder zou zullen
    """,
    "russian": """
        а без более бы был была были было быть в вам вас ведь во вот все всего всех вы где да даже
        для до другой его ее её ей если есть еще ещё ж же за здесь и из или им их к каждый как какая
        какие какой когда которая которого которое которой которые который которых кто куда ли либо
        лишь между меня мне может можно мы на над надо наш не него нее неё нет ни них но ну о об
        один одна однако он она они оно от очень перед по под после потом потому почему при про
        раз с сам сам свой своих себя сейчас со так также такие такой там те тем то того тоже только
        том тот ту тут ты у уже хотя чего чем через что чтобы эта эти это этого этой этом этот я
    """,
}

COMMON_WORDS = {language: frozenset(words.split()) for language, words in _COMMON.items()}
"""The words of each language that are too common to tell documents apart."""

STOPWORDS = COMMON_WORDS["english"]
"""The English words that keyword analysis and the vocabulary leave out."""

MARKS = {language.upper(): language for language in COMMON_WORDS if language != "english"}
"""By the term that marks its chunks: the languages besides English. No word has capitals."""

_LANGUAGES_OF: dict[str, list[str]] = defaultdict(list)
for _language, _words in COMMON_WORDS.items():
    for _word in _words:
        _LANGUAGES_OF[_word].append(_language)
_WORD = re.compile(r"[^\W\d_]{2,}")
_ACCENTED = re.compile("[\u00c0-\u024f\u0400-\u04ff]")
_READ = 10_000  # characters of a text that are looked at
_SHARE = 0.12  # of its words
_MARGIN = 1.2  # times as many words as of the next language


def language_of(text: str, least: int) -> str:
    """Guess the language of a text by its common words; "" when fewer than `least` tell it."""
    words = Counter(_WORD.findall(text[:_READ].lower()))
    found = Counter(one for word in words.elements() for one in _LANGUAGES_OF.get(word, ()))
    (first, most), (_, next_most) = [*found.most_common(2), ("", 0), ("", 0)][:2]
    is_clear = most >= max(_SHARE * words.total(), _MARGIN * next_most)
    return first if is_clear and len(words.keys() & COMMON_WORDS.get(first, ())) >= least else ""


def is_foreign(query: str, texts: Sequence[str]) -> bool:
    """Tell whether a query seems to be in another language than most of these texts."""
    half = len(texts) / 2
    wide = [10 * len(CJK_CHARACTER.findall(text)) > len(text) for text in (query, *texts)]
    if sum(wide[1:]) > half:
        return not wide[0]
    # English has no such letters, so nothing is looked at twice in an index of English documents.
    if sum(map(bool, map(_ACCENTED.search, texts))) <= half or not (asked := language_of(query, 1)):
        return False
    usual = Counter(language_of(text, 3) for text in texts)
    return any(count > half and language not in {"", asked} for language, count in usual.items())
