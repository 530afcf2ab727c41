"""Credentials in texts that people or files get: recognized by their form or by the name beside them, and hidden."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["HIDDEN", "MASKED", "is_secret_name", "redacted", "without_logins"]

HIDDEN = "[redacted]"
MASKED = "***@"
"""In place of user and password in an address."""

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
        HIDDEN,
    ),
    # The same in base64, as Secrets and kubeconfigs have it; certificates are public.
    (re.compile(r"LS0tLS1CRUdJTi(?!BDRVJUSUZJQ0FUR)[\w+/=]+"), HIDDEN),
    # JSON in base64: web tokens, and registry logins.
    (re.compile(r"\beyJ[\w+/=-]{8,}(?:\.[\w-]*){0,2}"), HIDDEN),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), HIDDEN),
    # Prefixes by which GitHub, GitLab, Slack, Hugging Face, OpenAI and Google mark their tokens.
    (
        re.compile(
            r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|hf_\w{20,}"
            r"|sk-(?:proj-)?\w{20,}|AIza[\w-]{30,})"
        ),
        HIDDEN,
    ),
    (re.compile(r"\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}"), HIDDEN),  # bcrypt
    (re.compile(r"(?i)\b(authorization[\"']?\s*[:=]\s*[\"']?\w+)\s+[^\s\"',]+"), rf"\1 {HIDDEN}"),
    (re.compile(r"(?i)\b((?:set-)?cookie\s*:)[^\n]+"), rf"\1 {HIDDEN}"),
    (re.compile(r"\b((?i:bearer|basic))\s+(?=\S*[A-Z0-9=])[\w.~+/=-]{8,}"), rf"\1 {HIDDEN}"),
    (re.compile(r"(://[^\s:/@]{0,200}):[^\s@/]{1,500}@"), rf"\1:{HIDDEN}@"),
    (re.compile(r"((?:^|\s)(?:-u|--user)[ =][^\s:]+):\S+"), rf"\1:{HIDDEN}"),
    (re.compile(r"(\"auth\"\s*:\s*)\"[^\"]*\""), rf'\1"{HIDDEN}"'),
    (re.compile(rf"(?i)((?:^|\s)(?!--ask-)-[\w.-]{{0,60}}{_KEY}\s+)(?!-){_VALUE}"), rf"\1{HIDDEN}"),
    (re.compile(rf"(?i)({_KEY}[\"']?\s*[:=]\s*){_VALUE}"), rf"\1{HIDDEN}"),
)
_SECRET_KEY = re.compile(rf"(?i)[\w.-]*{_KEY}|auth|authorization|cookie")
_LOGIN = re.compile(r"(?<=://)[^\s/\"']{1,1000}@|(?<![^\s\"'\[,=])[^\s/@:\"']{1,200}:[^\s/@\"']{1,500}@(?!sha256:)")
"""User and password before the host of an address."""


def redacted(text: str) -> str:
    """The text without credentials. Takes time in proportion to its length."""
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text


def is_secret_name(name: str) -> bool:
    """Whether a key or variable with this name has a credential as its value."""
    return bool(_SECRET_KEY.fullmatch(name))


def without_logins(value: Any) -> Any:
    """Plain data with MASKED in place of user and password in all addresses."""
    if isinstance(value, str):
        return _LOGIN.sub(MASKED, value)
    if isinstance(value, Mapping):
        return {key: without_logins(item) for key, item in value.items()}
    return [without_logins(item) for item in value] if isinstance(value, list | tuple) else value
