"""The first user's account: an own password as a bcrypt hash, and the secrets that sign-in services share. Pure."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field

import bcrypt

from kubeflow_volcano.rollout.settings.user import PUBLISHED_PASSWORD, Account, UserSettings

__all__ = ["HASH_ROUNDS", "Known", "foreseen", "is_published", "settled"]

_RANDOM_BYTES = 18
"""144 random bits, 24 characters."""

HASH_ROUNDS = 12
"""Cost of the hash: Dex takes 10 to 16, and upstream's own hash has 12."""

_FORESEEN = "made by the first roll-out"

# Sums of the secrets that upstream's manifests publish for Dex's client and for the cookies of oauth2-proxy.
_PUBLISHED_SECRETS = frozenset(
    {
        "462a0aa7e3ad7e72bcc06fd22a504044f4a4c79033231b9dc8900ad84fbe29b9",
        "80c8cb5e94a392a3d8fc7cf03d8a73bf68788e684466a02393405c717243c900",
    }
)


@dataclass(frozen=True, slots=True)
class Known:
    """What an earlier roll-out left behind, in its file or in the cluster; None where it left nothing."""

    password: str | None = field(default=None, repr=False)
    password_hash: str | None = field(default=None, repr=False)
    client_secret: str | None = field(default=None, repr=False)


def settled(user: UserSettings, known: Known) -> Account:
    """The account that the settings ask for; what is known already is kept as long as it fits, so that nothing changes.

    A bcrypt hash comes out anew each time, so a hash that the wanted password matches stays. Upstream's published
    secrets never stay, and its published password only where it is asked for.
    """
    wanted = PUBLISHED_PASSWORD if user.published_password else user.password
    password, password_hash = None, known.password_hash
    if wanted:
        if password_hash is None or not _matches(wanted, password_hash):
            password_hash = _hashed(wanted)
    elif password_hash and (known.password or not _matches(PUBLISHED_PASSWORD, password_hash)):
        password = known.password
    else:
        password = secrets.token_urlsafe(_RANDOM_BYTES)
        password_hash = _hashed(password)
    secret = known.client_secret
    if not secret or is_published(secret):
        secret = secrets.token_urlsafe(_RANDOM_BYTES)
    return Account(user.email, user.namespace, password, password_hash, secret)


def foreseen(user: UserSettings) -> Account:
    """The account as far as it is known before the first roll-out: stand-ins for everything that is random."""
    return Account(user.email, user.namespace, None, _FORESEEN, _FORESEEN)


def is_published(secret: str) -> bool:
    """Whether this is one of the secrets that stand in upstream's manifests."""
    return hashlib.sha256(secret.encode()).hexdigest() in _PUBLISHED_SECRETS


def _hashed(password: str) -> str:
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(HASH_ROUNDS)).decode()


def _matches(password: str, password_hash: str) -> bool:
    try:
        return bcrypt.checkpw(password.encode(), password_hash.encode())
    except ValueError:  # no bcrypt hash at all
        return False
