"""Text that is safe in a report: no secrets, no terminal sequences, limited length."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["safe", "text"]

LONGEST_TEXT = 4_000
LONGEST_EVIDENCE = 64_000
_MOST_ITEMS = 200
_HIDDEN = "[redacted]"

# No pattern begins with a run of any length: on a line without end each would look at all of it from every character.
_KEY = (
    r"(?:(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|key-data"
    r"|credential|dockerconfigjson|dockercfg)s?|[_-](?:pass|pwd))"
)
_VALUE = r"(\"[^\"]*\"|'[^']*'|[^\s,;&\"'}]+)"
_SECRETS = (
    (
        re.compile(
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.DOTALL
        ),
        _HIDDEN,
    ),
    # The same in base64, as Secrets and kubeconfigs have it; certificates are public.
    (re.compile(r"LS0tLS1CRUdJTi(?!BDRVJUSUZJQ0FUR)[\w+/=]+"), _HIDDEN),
    # JSON in base64: web tokens, and registry logins.
    (re.compile(r"\beyJ[\w+/=-]{8,}(?:\.[\w-]*){0,2}"), _HIDDEN),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), _HIDDEN),
    # Prefixes by which GitHub, GitLab, Slack, Hugging Face, OpenAI and Google mark their tokens.
    (
        re.compile(
            r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|hf_\w{20,}"
            r"|sk-(?:proj-)?\w{20,}|AIza[\w-]{30,})"
        ),
        _HIDDEN,
    ),
    (re.compile(r"\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}"), _HIDDEN),  # bcrypt
    (re.compile(r"(?i)\b(authorization[\"']?\s*[:=]\s*[\"']?\w+)\s+[^\s\"',]+"), rf"\1 {_HIDDEN}"),
    (re.compile(r"(?i)\b((?:set-)?cookie\s*:)[^\n]+"), rf"\1 {_HIDDEN}"),
    (re.compile(r"\b((?i:bearer|basic))\s+(?=\S*[A-Z0-9=])[\w.~+/=-]{8,}"), rf"\1 {_HIDDEN}"),
    (re.compile(r"(://[^\s:/@]{0,200}):[^\s@/]{1,500}@"), rf"\1:{_HIDDEN}@"),
    (re.compile(r"((?:^|\s)(?:-u|--user)[ =][^\s:]+):\S+"), rf"\1:{_HIDDEN}"),
    (re.compile(r"(\"auth\"\s*:\s*)\"[^\"]*\""), rf'\1"{_HIDDEN}"'),
    (re.compile(rf"(?i)((?:^|\s)(?!--ask-)-[\w.-]{{0,60}}{_KEY}\s+)(?!-){_VALUE}"), rf"\1{_HIDDEN}"),
    (re.compile(rf"(?i)({_KEY}[\"']?\s*[:=]\s*){_VALUE}"), rf"\1{_HIDDEN}"),
)
_SECRET_KEY = re.compile(rf"(?i)[\w.-]*{_KEY}|auth|authorization|cookie")
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


def text(value: str, longest: int = LONGEST_TEXT) -> str:
    """`value` without secrets, control characters and lone surrogates, cut to `longest` characters."""
    # Cut first, so that a text of a megabyte does not keep the patterns busy; then leave no half of a secret.
    cut = value[: longest * 2]
    cut = _CONTROLS.sub("", _ESCAPES.sub("", cut)).encode("utf-8", "replace").decode()
    for pattern, instead in _SECRETS:
        cut = pattern.sub(instead, cut)
    return cut if len(cut) <= longest else cut[: longest - 1] + "…"


def safe(value: Any) -> Any:
    """Apply `text` to everything in `value`; the value of a key that looks like a secret is redacted."""
    if isinstance(value, str):
        return text(str(value))
    if isinstance(value, bool | int | float) or value is None:
        return value
    if isinstance(value, Mapping):
        items = list(value.items())[:_MOST_ITEMS]
        named = _hides(str(value.get("name", "")), value.get("value"))  # an environment variable
        return {
            text(str(key), 200): _HIDDEN if _hides(str(key), item) or (named and key == "value") else safe(item)
            for key, item in items
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [safe(item) for item in (sorted(value, key=str) if isinstance(value, set | frozenset) else value)][
            :_MOST_ITEMS
        ]
    return text(str(value))


def _hides(key: str, item: Any) -> bool:
    """Whether the item must be redacted; numbers and flags are no secrets."""
    return bool(item) and not isinstance(item, bool | int | float) and bool(_SECRET_KEY.fullmatch(key))
