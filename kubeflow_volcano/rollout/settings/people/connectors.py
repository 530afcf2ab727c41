"""Other providers of identities that Dex asks: `kubeflow_connectors`.

Rules: `openConnector` and `Config` in connector/*/ of dexidp/dex v2.31.2 to v2.45.0, and server/handlers.go there. A
connector that sends browsers to its provider compares its redirect URI with that of Dex's issuer, and refuses to start
a login if they differ. So its issuer has to be the address that browsers use. A connector with a password form has
neither.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.settings.access import AccessSettings
from kubeflow_volcano.rollout.settings.people.component import validate_component
from kubeflow_volcano.text import did_you_mean

DEX = "dex"
"""The component, and its ConfigMap and Deployment."""

_CLIENT = ("clientID", "clientSecret")
REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "atlassian-crowd": ("baseURL", *_CLIENT),
    "bitbucket-cloud": _CLIENT,
    "gitea": _CLIENT,
    "github": _CLIENT,
    "gitlab": _CLIENT,
    "google": _CLIENT,
    "keystone": ("domain", "keystoneHost", "keystoneUsername", "keystonePassword"),
    "ldap": ("host", "userSearch.baseDN", "userSearch.username"),
    "linkedin": _CLIENT,
    "microsoft": _CLIENT,
    "oauth": (*_CLIENT, "authorizationURL", "tokenURL", "userInfoURL"),
    "oidc": ("issuer", *_CLIENT),
    "openshift": ("issuer", *_CLIENT),
    "saml": ("ssoURL", "usernameAttr", "emailAttr"),
}
"""Keys without which a connector of that type does not start. The schema has the same types; it leaves out `authproxy`,
which believes a header that any client may send, and those for tests."""

_WITH_FORM = frozenset({"atlassian-crowd", "keystone", "ldap"})
"""Types with a form of Dex itself for user and password."""

_RESERVED = "local"
"""The id of Dex's own users."""

_SECRET_KEY = re.compile(r"(?i)(secret|password|pw|token)$")
_REFERENCE = re.compile(r"\$(\w+|\{\w+\})")


@dataclass(frozen=True, slots=True)
class Connector:
    """A provider of identities; `config` is what Dex's documentation shows for its type, with secrets in it."""

    type: str
    id: str
    name: str
    config: Mapping[str, Any] = field(repr=False)

    @property
    def redirects(self) -> bool:
        """Whether it sends browsers to its provider, which sends them back to the redirect URI."""
        return self.type not in _WITH_FORM

    @property
    def texts(self) -> Iterator[tuple[str, str]]:
        """Every text of its configuration, with its path, such as `userSearch.baseDN`."""
        yield from _texts("", self.config)


def is_secret(path: str) -> bool:
    """Whether the value at this path of a connector's configuration is a secret, by the name of its key."""
    return bool(_SECRET_KEY.search(path))


def public_issuer(connectors: Sequence[Connector], access: AccessSettings) -> str:
    """Dex's issuer for these connectors; empty where upstream's address inside the cluster is right."""
    return f"{access.url}/dex" if any(item.redirects for item in connectors) else ""


def redirect_uri(access: AccessSettings) -> str:
    """The address to which providers send browsers back."""
    return f"{access.url}/dex/callback"


def validate_connectors(
    connectors: Sequence[Connector], access: AccessSettings, chosen: Collection[str]
) -> Iterator[Problem]:
    """Problems of the connectors with these components; no message contains a value of their configuration."""
    if connectors:
        yield from validate_component("kubeflow_connectors", DEX, "whose configuration gets the connectors", chosen)
    for name, count in Counter(item.id for item in connectors).items():
        if count > 1:
            yield Problem(f"kubeflow_connectors names {name} {count} times.", "every id once.", "rename or remove one.")
    redirecting = [item.id for item in connectors if item.redirects]
    if redirecting and not access.url:
        yield _no_address(redirecting, access)
    for item in connectors:
        if item.id == _RESERVED:
            yield Problem(
                f"kubeflow_connectors: the id {_RESERVED}.",
                f"another id: {_RESERVED} are Dex's own users.",
                "rename the connector.",
            )
        yield from _validate_config(item, access)


def _validate_config(item: Connector, access: AccessSettings) -> Iterator[Problem]:
    known = dict(item.texts)
    if missing := [path for path in REQUIRED[item.type] if not known.get(path)]:
        yield Problem(
            f"kubeflow_connectors: {item.id} lacks {', '.join(missing)} in its config.{_suggestion(missing, known)}",
            f"{', '.join(REQUIRED[item.type])}, each a text that is not empty.",
            "add them; a lookup of an environment variable that is not set is empty.",
        )
    for path, text in known.items():
        if is_secret(path) and _REFERENCE.fullmatch(text):
            yield Problem(
                f"kubeflow_connectors: {path} of {item.id} names an environment variable of Dex.",
                "the secret itself: the roll-out writes it to a Secret, and lets Dex read it from there.",
                "set it from a vault, or with lookup('ansible.builtin.env', 'NAME').",
            )
    given = known.get("redirectURI", "")
    if given and item.redirects and access.url and given != redirect_uri(access):
        yield Problem(
            f"kubeflow_connectors: redirectURI of {item.id} is not {redirect_uri(access)}.",
            "that address, which follows from kubeflow_access and kubeflow_host.",
            "remove redirectURI, and register that address at the provider.",
        )


def _no_address(names: Sequence[str], access: AccessSettings) -> Problem:
    what = f"kubeflow_access is {access.mode}"
    if access.mode == "node-port":
        what = "kubeflow_node_port is 0" if access.host else "kubeflow_host is empty"
    elif access.published:
        what = "kubeflow_host is empty"
    return Problem(
        f"kubeflow_connectors has {', '.join(names)}, and {what}.",
        "an address that is known before the roll-out: the provider sends browsers back to it.",
        "set kubeflow_access, kubeflow_host and kubeflow_tls, and for node-port also kubeflow_node_port "
        "(docs/access.md).",
    )


def _suggestion(missing: Sequence[str], known: Mapping[str, str]) -> str:
    """A question about the first missing key that resembles a given one."""
    other = known.keys() - {path for paths in REQUIRED.values() for path in paths}
    return next((meant for path in missing if (meant := did_you_mean(path, other))), "")


def _texts(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(f"{path}.{key}" if path else str(key), item)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _texts(f"{path}.{number}", item)
    elif isinstance(value, str):
        yield path, value
