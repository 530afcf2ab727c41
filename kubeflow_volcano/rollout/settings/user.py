"""The first user: what the inventory says, and the account that the manifests get."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Annotated, TypeAlias

from kubeflow_volcano.decode import Key, Parsed
from kubeflow_volcano.problems import Problem

UPSTREAM_NAMESPACE = "kubeflow-user-example-com"
"""Namespace of the profile in common/user-namespace of every release."""

MODEL_REGISTRY = "model-registry"
"""The component that is in that namespace, in its manifests and in the names by which its parts call each other."""

PUBLISHED_PASSWORD = "12341234"  # noqa: S105  published in upstream's README
_BCRYPT_BYTES = 72

_Namespace: TypeAlias = Annotated[str, Parsed(lambda text: text or UPSTREAM_NAMESPACE)]


@dataclass(frozen=True, slots=True)
class UserSettings:
    """The first user. An empty `password` means a random one, or upstream's with `published_password`."""

    email: Annotated[str, Key("kubeflow_user_email")]
    password: Annotated[str, Key("kubeflow_user_password")] = field(repr=False)
    namespace: Annotated[_Namespace, Key("kubeflow_user_namespace")]
    published_password: Annotated[bool, Key("kubeflow_published_password")]


@dataclass(frozen=True, slots=True)
class Login:
    """A further user of Dex with a password, known by its hash."""

    email: str
    password_hash: str = field(repr=False)

    @property
    def name(self) -> str:
        """A name for programs, from the e-mail address: 12 hexadecimal digits in upper case."""
        return hashlib.sha256(self.email.lower().encode()).hexdigest()[:12].upper()


@dataclass(frozen=True, slots=True)
class Account:
    """The login of the first user, who owns the first profile. `password` is None where only its hash is known."""

    email: str
    namespace: str
    password: str | None = field(repr=False)
    password_hash: str = field(repr=False)
    client_secret: str = field(repr=False)
    """Shared by Dex and the service that authenticates through it."""
    logins: tuple[Login, ...] = ()
    """Of the further users of the inventory."""

    @property
    def cookie_secret(self) -> str:
        """The key of session cookies, derived from the client secret; 32 characters, as oauth2-proxy requires."""
        return hashlib.sha256(f"cookie {self.client_secret}".encode()).hexdigest()[:32]

    @property
    def sum(self) -> str:
        """Changes when one of the secrets changes, and does not disclose them."""
        return _sum(self._secrets)

    @property
    def sum_of_logins(self) -> str:
        """Changes also when a further user comes, goes or gets another password."""
        others = "".join(f" {item.email} {item.password_hash}" for item in self.logins)
        return _sum(self._secrets + others)

    @property
    def _secrets(self) -> str:
        return f"{self.email} {self.password_hash} {self.client_secret}"


def validate_model_registry(user: UserSettings, chosen: Collection[str]) -> Iterator[Problem]:
    """Yield a problem if the Model Registry is chosen, and the first user has another namespace than its manifests."""
    if MODEL_REGISTRY in chosen and user.namespace != UPSTREAM_NAMESPACE:
        yield Problem(
            f"kubeflow_user_namespace is {user.namespace}, and {MODEL_REGISTRY} is chosen.",
            f"the namespace {UPSTREAM_NAMESPACE}, which the manifests of {MODEL_REGISTRY} name throughout.",
            f"leave kubeflow_user_namespace empty, or {MODEL_REGISTRY} out.",
        )


def validate_password(user: UserSettings) -> Iterator[Problem]:
    """Problems of the first user's password; the messages do not contain it."""
    if user.password and user.published_password:
        yield Problem(
            "kubeflow_user_password is set, and kubeflow_published_password is true.",
            "one password: your own, or the one that upstream publishes.",
            "remove one of the two variables.",
        )
    elif user.password == PUBLISHED_PASSWORD:
        yield Problem(
            "kubeflow_user_password is the password that upstream publishes in its README.",
            "a password of your own; empty generates a random one.",
            "change kubeflow_user_password; to keep the published one, set kubeflow_published_password: true instead.",
        )
    else:
        yield from validate_length(user.password, "kubeflow_user_password")


def validate_length(password: str, what: str) -> Iterator[Problem]:
    """The problem of a password with more bytes than bcrypt reads; `what` is it called in the message."""
    if len(password.encode()) > _BCRYPT_BYTES:
        yield Problem(
            f"{what} has {len(password.encode())} bytes.",
            f"at most {_BCRYPT_BYTES} bytes; bcrypt ignores the rest.",
            f"shorten {what}.",
        )


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
