"""Credentials in texts and data that people or files get: found by their form or by the name beside them, and hidden.

The one room of it: support bundles, reports, differences, containerd's files and recordings of clusters ask here.
tests/samples/redaction.yaml has what must go and what must stay readable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

HIDDEN = "[redacted]"
MASKED = "***@"
"""In place of user and password in an address."""

# Names

_KEY = (
    r"(?:(?:pass(?:word|wd|phrase|code)|secret|token|credential|dockerconfigjson|dockercfg|key-data|bindpw|rootpw"
    r"|(?:admin|db|require|root|user)pass|masterauth"
    r"|(?:api|access|account|certificate|encryption|fernet|license|master|private|secret|shared|signing|ssh|storage)[_.-]?key)s?"
    r"|[_.-](?:pass|pwd|pw)|(?-i:(?<=[a-z])(?:Pass|Pwd|PWD|Pw|PW)))"
)
"""How the name of a credential ends, whatever its case."""
_SECRET_NAME = re.compile(
    rf"(?i)[\w.-]*{_KEY}|auth|pass|pwd|pw|(?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]*auth(?:-key)?"
)
_SEVERAL = re.compile(r"(?i)[\w.-]*(?:passwords|passwds|passphrases|secrets|tokens|credentials?|keys)")
"""Names that hold credentials by user, host or purpose."""
_REFERENCES = re.compile(
    r"(?i)(?:[\w.-]*[._-])?(?:name|namespace|kind|(?:api)?version|(?:api)?group|type|mode|policy|path|file|url)|[\w.]+(?-i:"
    r"Name|Namespace|Ref|Path|File|Policy|Url|URL)"
)
"""Fields beside credentials that say where these are, or what they are for."""
_CONTENT = frozenset({"value", "data", "content", "text"})
_NAMES_OF_PAIRS = ("name", "key")
_VALUES_OF_PAIRS = ("value", "values", "default")
_OPEN_HEADERS = frozenset({"accept", "accept-encoding", "content-type", "host", "origin", "referer", "user-agent"})

# Texts. No pattern begins with a run of any length, and none looks on to the end of the text from more than one place:
# on a line without end that would be its length squared.
_QUOTED = r"\\+\"[^\"\\]*+\\+\"|\"(?:[^\"\\]|\\.)*+(?:\"|\Z)|'[^']*+(?:'|\Z)"
_NOTHING = r"(?:true|false|null|nil|none|yes|no|~|\*+|\[\]|\{\})(?![^\s,;&\"'\]}])"
_REFERENCE = r"\$[({]{1,2}[\w. -]+[)}]{1,2}|\{\{|<"
"""A value that stands elsewhere: a variable, a template, a placeholder."""
_VALUE = rf"(?!\\*[\"']?(?:{_NOTHING}|{_REFERENCE}))(?:{_QUOTED}|\{{\w+\}}[^\s\"']+|[^\s,;&\"'{{}}\[\\][^\s,;&\"'}}]*+)"
_END = r"\\*[\"']?\s*"
"""Behind a name, which may be in quotes, and these in a text with quotes."""
_NOT_YET = r"(?!\[?redacted\])"
_NO_KEY = r"(?![\w./\"'-]+:(?:\s|\Z)|- )"
"""After a colon and a new line in YAML: what follows is no value, but a mapping or a list."""
_NAMED_OBJECT = r"(?<=-)secrets?[\s\"',=]+(?:-\s+)?[\"']?[a-z0-9]+(?:-[a-z0-9]+)+(?![^\s\"',])"
"""The option --secret names an object of the kind Secret."""
_NAMED = re.compile(
    rf"(?i)((?!{_NAMED_OBJECT}){_KEY}{_END}(?:=>|:=|::(?=\s)|[:=]|%3D)[ \t]*+(?:\n[ \t]*+{_NO_KEY})?)"
    rf"(?:\[(?=[^\]\[{{]*\w)[^\]\[{{]*+\]|{_VALUE})"
)
_PROSE = re.compile(r"[a-z]{1,24} +[a-z(]")
_BEFORE_PROSE = re.compile(r"[a-z] [\w-]*$")
_LOOK_BACK = 300
_WITHIN = r"\b[^\n;|&]{0,200}?[\s\"']"
_WORD = rf"{_NOT_YET}[^\s\"',]+"
_COUNTED = re.compile(r"(?i)tokens\W*[:=]\s*\d+$")


def _named(match: re.Match[str]) -> str:
    """The match without its value, if that is one: `get secret: not found` and `repository/token:1.2` are none."""
    name = match[1]
    if _COUNTED.search(match[0]):
        return match[0]
    before = match.string[max(0, match.start() - _LOOK_BACK) : match.start()]
    after = match.string[match.start() + len(name) : match.end() + 2]
    if name.endswith(": ") and _PROSE.match(after) and _BEFORE_PROSE.search(before):
        return match[0]
    if name.endswith(":") and _is_image(before):
        return match[0]
    return f"{name}{HIDDEN}"


def _is_image(before: str) -> bool:
    """Whether what follows is the end of an image's name, and the colon stands before its tag."""
    word = re.split(r"[\s\"',=(\[{]", before)[-1]
    if "/" in word:
        return "?" not in word and "&" not in word and "://" not in word.replace("docker-pullable://", "")
    return bool(re.search(r"(?i)image(?:s|id)?\W{0,4}$", before[: len(before) - len(word)]))


Replacement = str | Callable[[re.Match[str]], str]

_SECRETS: Sequence[tuple[re.Pattern[str], Replacement]] = (
    (
        re.compile(
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?"
            r"(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
            re.DOTALL,
        ),
        HIDDEN,
    ),
    # The same in base64, as Secrets and kubeconfigs have it; certificates are public.
    (re.compile(r"LS0tLS1CRUdJTi(?!BDRVJUSUZJQ0FUR)[\w+/=]+"), HIDDEN),
    # JSON in base64: web tokens, and registry logins.
    (re.compile(r"\beyJ[\w+/=-]{8,}(?:\.[\w-]*){0,2}"), HIDDEN),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), HIDDEN),
    # Prefixes by which GitHub, GitLab, Slack, Hugging Face, OpenAI, Anthropic, NVIDIA, Groq, LangSmith, Google, Vault,
    # Stripe, SendGrid, Docker, npm, PyPI and age mark their tokens and keys.
    (
        re.compile(
            r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|gl(?:pat|rt|dt|ptt|cbt|ft|soat|imt)-[\w-]{16,}|xox[abprs]-[\w-]{10,}|hf_\w{20,}"
            r"|sk-(?:proj-|ant-\w{1,12}-)?\w{20,}|nvapi-[\w-]{20,}|gsk_\w{20,}|lsv2_[a-z]{2}_\w{20,}|AIza[\w-]{30,}"
            r"|ya29\.[\w-]{20,}|hv[bs]\.[\w-]{20,}|[rs]k_(?:live|test)_\w{16,}|SG\.[\w-]{16,40}\.[\w-]{30,}"
            r"|dckr_pat_[\w-]{20,}|npm_\w{30,}|pypi-AgE[\w-]{20,}|AGE-SECRET-KEY-1[A-Z0-9]{20,})"
        ),
        HIDDEN,
    ),
    (re.compile(r"(//hooks\.slack\.com/(?:services|workflows)/)[\w/-]+"), rf"\1{HIDDEN}"),
    # Hashes of passwords: bcrypt, others of crypt(3), and LDAP's.
    (
        re.compile(
            r"\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}|\$(?:[156y]|apr1|argon2\w{1,2})\$[^\s:\"']{8,300}"
            r"|\{S?(?:SHA|MD5|CRYPT)(?:256|384|512)?\}[\w+/.$=]{8,}"
        ),
        HIDDEN,
    ),
    # Headers, with a scheme of authentication or without one.
    (
        re.compile(
            rf"(?im)\b(authorization{_END}[:=]\s*\[?\\*[\"']?"
            r"(?:(?:bearer|basic|token|digest|negotiate|ntlm|apikey|key|hmac|oauth|aws4-[\w-]+)\s+)?)"
            rf"{_NOT_YET}(?=\S{{0,80}}?[\d=]|\S{{16}}|(?<=\s)\S+(?:[\"']|$))[^\s\"',\]]+"
        ),
        rf"\1{HIDDEN}",
    ),
    (re.compile(rf"(?i)\b((?:set-)?cookie{_END}:[ \t]*+\[?){_NOT_YET}(?:{_QUOTED}|[^\n\x1f]+)"), rf"\1{HIDDEN}"),
    (re.compile(rf"(?i)\b(x-[\w-]{{0,60}}auth(?:-key)?{_END}[:=]\s*\[?){_NOT_YET}{_VALUE}"), rf"\1{HIDDEN}"),
    (re.compile(r"\b((?i:bearer|basic))\s+(?=\S{0,80}?[A-Z0-9=])[\w.~+/=-]{8,}"), rf"\1 {HIDDEN}"),
    # User and password of an address; of one of the web also what stands alone, which is a token.
    (
        re.compile(r"(://(?!\[)[^\s:/@]{0,200}):(?!\d{1,5}(?:[/?#\s]|$))(?:[^\s/?#\"'<>]{1,500}|[^\s@\"'<>]{1,500})@"),
        rf"\1:{HIDDEN}@",
    ),
    (re.compile(rf"(\bhttps?://)(?!{re.escape(MASKED)}){_NOT_YET}[^\s:/?#@\"'<>]{{1,500}}@"), rf"\1{HIDDEN}@"),
    # Addresses that are their own credential, as those of buckets (AWS, Azure, Google), and codes of a sign-in.
    (
        re.compile(
            rf"(?i)([?&](?:x-(?:amz|goog|oss)-signature|sig(?:nature)?|code(?!=\d{{1,5}}\b))=){_NOT_YET}[^\s&#\"'<>]+"
        ),
        rf"\1{HIDDEN}",
    ),
    (re.compile(rf"(\b_?auth{_END}[:=]\s*)(?=\S{{0,80}}?[A-Z0-9=])\\*[\"']?[\w+/.-]{{8,}}=*(?![\w:])"), rf"\1{HIDDEN}"),
    (re.compile(rf"(\"auth\\*\"\s*:\s*)(?:{_QUOTED})"), rf'\1"{HIDDEN}"'),
    # Options: their value is the next word, the next item of a list in JSON, or the next line of one in YAML.
    (
        re.compile(
            r"((?:^|[\s\"'\[,])(?:-u|-U|--user|--proxy-user)(?:[ =]|[\"'],? *[\"']?|\s+-\s+|\x1f)?[\"']?"
            r"(?![\d\"']+:\d+(?:\s|$))[^\s:\"'/]+):(?!//)(?:[^\s\"']+)",
            re.MULTILINE,
        ),
        rf"\1:{HIDDEN}",
    ),
    (
        re.compile(
            rf"(?i)((?:^|[\s\"'\[,])(?!--ask-)-[\w.-]{{0,60}}?(?!{_NAMED_OBJECT}){_KEY}(?:\\*[\"']\s*,\s*|\s+(?:-\s+)?))(?!\\*[\"']?-){_VALUE}"
        ),
        rf"\1{HIDDEN}",
    ),
    # -p, -a and -w are passwords of a few programs, and something else to all others.
    (re.compile(rf"(\bm(?:ysql|ariadb)[\w-]*{_WITHIN}-p)(?=\S)(?![\"',]){_WORD}"), rf"\1{HIDDEN}"),
    (
        re.compile(rf"(\b(?:login|mongo\w*|sshpass|redis-cli|ldap\w+){_WITHIN}-[paw](?:[\s\"',]+(?!-)|(?=\S))){_WORD}"),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"(-pass(?:in|out)?[\s\"',]+pass:)[^\s\"']+"), rf"\1{HIDDEN}"),
    (
        re.compile(rf"(?m)((?:^|[;,{{\s\"'])(?i:pwd?){_END}[:=][ \t]*+){_NOT_YET}(?!\\*[\"']?[/.\s]){_VALUE}"),
        rf"\1{HIDDEN}",
    ),
    (
        re.compile(rf"(\becho +(?:-n +)?){_NOT_YET}(?:{_QUOTED}|[^\s|\"']+)(?= *\|[^|\n]{{0,200}}--password-stdin)"),
        rf"\1{HIDDEN}",
    ),
    # Sentences: what is in quotes, or has a digit; `the token is expired` has none, and a Secret has a name. The second
    # is MySQL's.
    (
        re.compile(
            rf"(?i)(\b(?!secret){_KEY}(?: [\w@.-]{{1,60}}){{0,4}}? (?:is|was)"
            rf"(?: (?:now|(?:re)?set to|changed to))?:?\s)(?:{_QUOTED}|(?=\S{{0,80}}?\d)[^\s\"',;\[]{{6,}})"
        ),
        rf"\1{HIDDEN}",
    ),
    (re.compile(rf"(?i)(\bpassword is generated for \S{{1,200}}: ){_WORD}"), rf"\1{HIDDEN}"),
    # Lines of Redis and of .netrc, and elements of XML.
    (re.compile(rf"(\b(?:requirepass|masterauth|login\s+\S{{1,200}}\s+password)[ \t]+){_WORD}"), rf"\1{HIDDEN}"),
    (re.compile(rf"(?i)(<[\w.:-]{{0,100}}?{_KEY}>){_NOT_YET}[^<\s][^<]*+"), rf"\1{HIDDEN}"),
    # A name and its value as two fields, in either order.
    (
        re.compile(
            rf"(?i)(\b(?:name|key){_END}[:=]\s*\\*[\"']?[\w.-]{{0,100}}?{_KEY}{_END},?\s*\\*[\"']?"
            rf"(?:values?|default){_END}[:=]\s*\[?){_NOT_YET}{_VALUE}"
        ),
        rf"\1{HIDDEN}",
    ),
    (
        re.compile(
            rf"(?i)(\bvalue{_END}[:=]\s*){_VALUE}(?=,?\s*\\*[\"']?(?:name|key){_END}[:=]\s*\\*[\"']?[\w.-]{{0,100}}?{_KEY}\b)"
        ),
        rf"\1{HIDDEN}",
    ),
    # A line of YAML or of a header has nothing but the value.
    (
        re.compile(
            rf"(?im)^([ \t]*+(?:-[ \t]++)*+[\w.-]{{0,100}}?{_KEY}:[ \t]+)"
            rf"(?!\W*$|[\"'\[{{]|{_NOTHING}|{_REFERENCE})[^\n\x1f]+"
        ),
        lambda match: match[0] if _COUNTED.search(match[0]) else f"{match[1]}{HIDDEN}",
    ),
    # A text of several lines below a name, or a list.
    (
        re.compile(
            rf"(?im)^([ \t]*+)((?:-[ \t]++)*+[\w.-]{{0,100}}?{_KEY}:[ \t]*[|>][\d+-]*\n)(?:\1[ \t]++[^\n]*(?:\n|\Z))+"
        ),
        rf"\1\2\1  {HIDDEN}\n",
    ),
    (
        re.compile(rf"(?im)^([ \t]*+[\w.-]{{0,100}}?{_KEY}:[ \t]*\n)(?:([ \t]*+- )[^\s:{{\[]+[ \t]*(?:\n|\Z))+"),
        rf"\1\2{HIDDEN}\n",
    ),
    (_NAMED, _named),
)

_SHORT = 1000


def redacted(text: str) -> str:
    """The text without credentials. Takes time in proportion to its length."""
    return _kept(text) if len(text) < _SHORT else _redacted(text)


def _redacted(text: str) -> str:
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text


_kept = lru_cache(4096)(_redacted)
"""Reports say most names, images and sentences several times."""


def is_secret_name(name: str) -> bool:
    """Whether a key or variable with this name has a credential as its value."""
    return bool(_SECRET_NAME.fullmatch(name))


def without_secrets(value: Any, text: Callable[[str], str] = redacted, *, every_variable: bool = False) -> Any:
    """Plain data of the same shape with HIDDEN in place of each credential; numbers and flags are none.

    Args:
        value: texts, mappings and lists.
        text: what to make of a text under any other name.
        every_variable: hide the values of all variables of containers, as any of them may be a credential.
    """
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return _mapping(value, text, every_variable)
    if isinstance(value, list | tuple):
        return _items(value, text, every_variable)
    return value


def _mapping(value: Mapping[Any, Any], text: Callable[[str], str], every: bool) -> dict[Any, Any]:  # noqa: FBT001  private
    pair = next((str(value[key]) for key in _NAMES_OF_PAIRS if isinstance(value.get(key), str)), "")
    is_secret = value.get("kind") == "Secret"
    shown: dict[Any, Any] = {}
    for key, item in value.items():
        name = str(key)
        if (is_secret_name(name) and not isinstance(item, Mapping)) or (
            name in _VALUES_OF_PAIRS and is_secret_name(pair)
        ):
            shown[key] = _hidden(item) if _is_plain(item) else without_secrets(item, text, every_variable=every)
        elif is_secret and name in {"data", "stringData"}:
            shown[key] = _all_hidden(item)
        elif isinstance(item, Mapping) and is_secret_name(name):
            shown[key] = _below_secret(name, without_secrets(item, text, every_variable=every))
        elif name == "image" and isinstance(item, str):
            shown[key] = without_logins(item)
        elif isinstance(item, list) and (name == "httpHeaders" or (every and name == "env")):
            shown[key] = [_pair_hidden(one, name) for one in item]
        else:
            shown[key] = without_secrets(item, text, every_variable=every)
    return shown


def _is_plain(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list | tuple) and all(isinstance(one, str) for one in value))


def _hidden(value: Any) -> Any:
    """A text or a list of texts, hidden; what is empty stays."""
    if isinstance(value, str):
        return HIDDEN if value else value
    return [_hidden(one) for one in value]


def _all_hidden(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _all_hidden(item) for key, item in value.items()}
    return _hidden(value) if _is_plain(value) else value


def _below_secret(name: str, shown: dict[Any, Any]) -> dict[Any, Any]:
    """A mapping under the name of a credential: a reference to one, one with its settings, or several by name."""
    several = bool(_SEVERAL.fullmatch(name))
    return {
        key: _hidden(item)
        if _is_plain(item) and (key in _CONTENT or (several and not _REFERENCES.fullmatch(str(key))))
        else item
        for key, item in shown.items()
    }


def _pair_hidden(pair: Any, of: str) -> Any:
    """A variable of a container, or a header of a request, without its value."""
    if not isinstance(pair, Mapping) or not isinstance(pair.get("value"), str):
        return pair
    open_to_all = of == "httpHeaders" and str(pair.get("name", "")).lower() in _OPEN_HEADERS
    return pair if open_to_all else {**pair, "value": _hidden(pair["value"])}


def _items(items: Sequence[Any], text: Callable[[str], str], every: bool) -> list[Any]:  # noqa: FBT001  private
    """The items of a list; of texts also those that are the value of the option before them."""
    if len(items) > 1 and all(isinstance(item, str) and _BETWEEN not in item for item in items):
        apart = redacted(_BETWEEN.join(items)).split(_BETWEEN)
        if len(apart) == len(items):
            return [text(item) for item in apart]
    return [without_secrets(item, text, every_variable=every) for item in items]


def without_variables(text: str) -> str:
    """The text without the values of containers' variables, as Go prints them and in JSON.

    Volcano's admission logs whole pods. Any variable may be a credential.
    """
    *parts, last = _BEFORE_SOURCE.split(text)
    shown = [_GO_VARIABLE.sub(rf"\1{HIDDEN}", part) for part in parts]
    # The last one has no end if the log was cut.
    text = "".join([*shown, re.sub(rf"{_GO_VARIABLE_HEAD}[^\n]+", rf"\1{HIDDEN}", last)])
    return _JSON_VARIABLE.sub(rf'\1"{HIDDEN}"', text)


_BETWEEN = "\x1f"
"""Between items of a list that are looked at together: space for all patterns."""
_GO_VARIABLE_HEAD = r"(\bName:[^\s,{}]{1,253}[ ,]Value:)(?! |,)"
_GO_VARIABLE = re.compile(rf"{_GO_VARIABLE_HEAD}(?:(?!\Z).)+", re.DOTALL)
_BEFORE_SOURCE = re.compile(r"(?=[ ,]ValueFrom:)")
_JSON_VARIABLE = re.compile(r'("name":"[^"]{1,253}","value":)"(?:[^"\\]|\\.)*+(?:"|\Z)', re.DOTALL)

_LOGIN = re.compile(r"(?<=://)[^\s/\"']{1,1000}@|(?<![^\s\"'\[,=])[^\s/@:\"']{1,200}:[^\s/@\"']{1,500}@(?!sha256:)")
"""User and password before the host of an address."""


def without_logins(value: Any) -> Any:
    """Plain data with MASKED in place of user and password in all addresses."""
    if isinstance(value, str):
        return _LOGIN.sub(MASKED, value)
    if isinstance(value, Mapping):
        return {key: without_logins(item) for key, item in value.items()}
    return [without_logins(item) for item in value] if isinstance(value, list | tuple) else value
