"""Words too common to tell documents apart."""

_WORDS = """
    a about above after again all also although am among an and another any are as at be
    because been before being below between both but by can cannot could did do does doing
    done down during each either else ever every few for from further get gets had has have
    having he her here hers herself him himself his how however i if in into is it its
    itself just let like may me might more most much must my myself neither no nor not now
    of off on once only or other our ours ourselves out over own per quite rather same shall
    she should since so some such than that the their theirs them themselves then there
    these they this those though through thus to too under until up upon us very via was we
    were what when where whether which while who whom whose why will with within without
    would yet you your yours yourself yourselves
"""

_JAPANESE = "為る 居る 有る 成る 出来る 下さる こと もの よう ため 御"
_KOREAN = "하다 있다 없다 되다 이렇다 그렇다 같다 것 수 등 때"

STOPWORDS = frozenset(_WORDS.split())
"""The English words that keyword analysis and the vocabulary leave out."""

JAPANESE_COMMON = frozenset(_JAPANESE.split())
"""The same for Japanese, in the normal form of its tokenizer, which has left out the grammar."""

KOREAN_COMMON = frozenset(_KOREAN.split())
"""The same for Korean, in the form of the dictionary; its grammar is left out as well."""
