r"""The names that ``\p{...}`` may hold in the regular expressions of ``@check``.

They are the general categories, scripts and yes-or-no properties of Unicode 16 that the ``regex`` crate knows, long and
short, spelled as they are compared: in lower case, without blanks, hyphens, underscores and a leading "is".
The values of the few properties with other values (``age``, ``gcb``, ``wb``, ``sb``) are not held here.
"""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CATEGORIES: Final = _words(
    """
    any ascii assigned c casedletter cc cf closepunctuation cn cntrl co combiningmark connectorpunctuation control
    currencysymbol dashpunctuation decimalnumber digit enclosingmark finalpunctuation format initialpunctuation l lc
    letter letternumber lineseparator ll lm lo lowercaseletter lt lu m mark mathsymbol mc me mn modifierletter
    modifiersymbol n nd nl no nonspacingmark number openpunctuation other otherletter othernumber otherpunctuation
    othersymbol p paragraphseparator pc pd pe pf pi po privateuse ps punct punctuation s sc separator sk sm so
    spaceseparator spacingmark symbol titlecaseletter unassigned uppercaseletter z zl zp zs
    """
)
"""The general categories, and the three sets that count as such: any, assigned, ascii."""

PROPERTIES: Final = _words(
    """
    ahex alpha alphabetic asciihexdigit bidic bidicontrol bidim bidimirrored cased caseignorable changeswhencasefolded
    changeswhencasemapped changeswhenlowercased changeswhentitlecased changeswhenuppercased ci cwcf cwcm cwl cwt cwu
    dash defaultignorablecodepoint dep deprecated di dia diacritic ebase ecomp emod emoji emojicomponent emojimodifier
    emojimodifierbase emojipresentation epres ext extendedpictographic extender extpict graphemebase graphemeextend
    graphemelink grbase grext grlink hex hexdigit hyphen idc idcompatmathcontinue idcompatmathstart idcontinue ideo
    ideographic ids idsb idsbinaryoperator idst idstart idstrinaryoperator idsu idsunaryoperator joinc joincontrol loe
    logicalorderexception lower lowercase math mcm modifiercombiningmark nchar noncharactercodepoint oalpha odi ogrext
    oidc oids olower omath otheralphabetic otherdefaultignorablecodepoint othergraphemeextend otheridcontinue
    otheridstart otherlowercase othermath otheruppercase oupper patsyn patternsyntax patternwhitespace patws pcm
    prependedconcatenationmark qmark quotationmark radical regionalindicator ri sd sentenceterminal softdotted space
    sterm term terminalpunctuation uideo unifiedideograph upper uppercase variationselector vs whitespace wspace xidc
    xidcontinue xids xidstart
    """
)
"""What a character has or has not."""

SCRIPTS: Final = _words(
    """
    adlam adlm aghb ahom anatolianhieroglyphs arab arabic armenian armi armn avestan avst bali balinese bamu bamum
    bass bassavah batak batk beng bengali bhaiksuki bhks bopo bopomofo brah brahmi brai braille bugi buginese buhd
    buhid cakm canadianaboriginal cans cari carian caucasianalbanian chakma cham cher cherokee chorasmian chrs common
    copt coptic cpmn cprt cuneiform cypriot cyprominoan cyrillic cyrl deseret deva devanagari diak divesakuru dogr
    dogra dsrt dupl duployan egyp egyptianhieroglyphs elba elbasan elym elymaic ethi ethiopic gara garay geor georgian
    glag glagolitic gong gonm goth gothic gran grantha greek grek gujarati gujr gukh gunjalagondi gurmukhi guru
    gurungkhema han hang hangul hani hanifirohingya hano hanunoo hatr hatran hebr hebrew hira hiragana hluw hmng hmnp
    hung imperialaramaic inherited inscriptionalpahlavi inscriptionalparthian ital java javanese kaithi kali kana
    kannada katakana kawi kayahli khar kharoshthi khitansmallscript khmer khmr khoj khojki khudawadi kiratrai kits
    knda krai kthi lana lao laoo latin latn lepc lepcha limb limbu lina linb lineara linearb lisu lyci lycian lydi
    lydian mahajani mahj maka makasar malayalam mand mandaic mani manichaean marc marchen masaramgondi medefaidrin
    medf meeteimayek mend mendekikakui merc mero meroiticcursive meroitichieroglyphs miao mlym modi mong mongolian mro
    mroo mtei mult multani myanmar mymr nabataean nagm nagmundari nand nandinagari narb nbat newa newtailue nko nkoo
    nshu nushu nyiakengpuachuehmong ogam ogham olchiki olck oldhungarian olditalic oldnortharabian oldpermic
    oldpersian oldsogdian oldsoutharabian oldturkic olduyghur olonal onao oriya orkh orya osage osge osma osmanya ougr
    pahawhhmong palm palmyrene pauc paucinhau perm phag phagspa phli phlp phnx phoenician plrd prti psalterpahlavi
    qaac qaai rejang rjng rohg runic runr samaritan samr sarb saur saurashtra sgnw sharada shavian shaw shrd sidd
    siddham signwriting sind sinh sinhala sogd sogdian sogo sora sorasompeng soyo soyombo sund sundanese sunu sunuwar
    sylo sylotinagri syrc syriac tagalog tagb tagbanwa taile taitham taiviet takr takri tale talu tamil taml tang
    tangsa tangut tavt telu telugu tfng tglg thaa thaana thai tibetan tibt tifinagh tirh tirhuta tnsa todhri todr toto
    tulutigalari tutg ugar ugaritic vai vaii vith vithkuqi wancho wara warangciti wcho xpeo xsux yezi yezidi yi yiii
    zanabazarsquare zanb zinh zyyy
    """
)
"""The scripts; ``scx`` takes the same names."""

_CATEGORY: Final = frozenset({"gc", "generalcategory"})
_SCRIPT: Final = frozenset({"sc", "script", "scx", "scriptextensions"})
_OTHERS: Final = _words("age gcb graphemeclusterbreak sb sentencebreak wb wordbreak")


def normal_name(name: str) -> str:
    """A name as it is compared."""
    rest = name[2:] if name[:2].lower() == "is" else name
    normal = "".join(each for each in rest if each.isascii() and each not in " _-").lower()
    # "isc" is the name of another property, which is none of these.
    return "isc" if normal == "c" and rest is not name else normal


def is_property(name: str) -> bool:
    r"""Whether ``\p{name}`` means something; ``name`` may be ``property=value``, with ``:`` or ``!=`` too."""
    for sign in ("!=", ":", "="):
        if sign in name:
            left, right = (normal_name(each) for each in name.split(sign, 1))
            if left in _CATEGORY:
                return right in CATEGORIES
            return right in SCRIPTS if left in _SCRIPT else left in _OTHERS and right != ""
    normal = normal_name(name)
    return normal in CATEGORIES or normal in SCRIPTS or normal in PROPERTIES
