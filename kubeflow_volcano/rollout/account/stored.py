"""Where the account is kept between roll-outs: a file of this machine's, and the Secrets in the cluster."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.account.first_user import Known, settled
from kubeflow_volcano.rollout.account.sign_in import HASH_KEY, PASSWORDS, decoded
from kubeflow_volcano.rollout.settings.settings import Settings

__all__ = ["credentials_file", "reads_account", "strange_owners", "with_account"]

_READERS = frozenset({"dex", "oauth2-proxy", "oidc-authservice", "user-namespace"})
_AUTH = "auth"
_CLIENT = Ref("v1", "Secret", _AUTH, "dex-oidc-client")
_CLIENT_KEY = "OIDC_CLIENT_SECRET"
_OWNER = "owner"
"""Annotation by which the profile controller knows a namespace as somebody's."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """What the file holds, and of which cluster."""

    known: Known
    cluster: str
    text: str = field(repr=False)


def reads_account(components: Iterable[Component]) -> bool:
    """Whether one of these has the account in its manifests."""
    return any(part.name in _READERS for part in components)


def credentials_file(settings: Settings) -> Path:
    """The file for that cluster, named after the context and a sum of where the cluster is found."""
    found = settings.kubeconfig.absolute() if settings.kubeconfig else os.environ.get("KUBECONFIG", "")
    place = f"{found} {settings.context or ''}"
    name = f"{settings.context or 'account'}-{hashlib.sha256(place.encode()).hexdigest()[:8]}.json"
    return settings.user.credentials_directory / name.replace("/", "-")


def with_account(
    cluster: Cluster, settings: Settings, components: Sequence[Component], *, check: bool, progress: Progress
) -> Settings:
    """The settings with their account, where one of the components reads it.

    It is the one of the file, else of the cluster, else a new one, which is then kept in the file before the cluster
    knows it. Where the file is another cluster's, as a context may mean now this one and now that, what this cluster
    has goes before it. In check mode nothing is written; a new account is then forgotten.

    Raises:
        InvalidInput: the file cannot be read or written, or the namespace of the profile is somebody else's.
        ApiError: the cluster refuses a question.
    """
    if not reads_account(components):
        return settings
    if problems := [*strange_owners(cluster, settings, components)]:
        raise InvalidInput(problems)
    place, identity = credentials_file(settings), _identity(cluster)
    kept = _read(place)
    known = kept.known if kept and kept.cluster == identity else _live(cluster)
    if kept and known.password_hash is None:
        known = kept.known
    account = settled(settings.user, known)
    text = json.dumps({"cluster": identity, **asdict(account)}, indent=2) + "\n"
    if not check and text != (kept.text if kept else None):
        _write(place, text)
        progress(f"the account of {account.email} is kept in {place}")
        if account.password and account.password != (kept.known.password if kept else None):
            progress(f"sign in as {account.email} with {account.password} (shown this once)")
    return replace(settings, account=account)


def strange_owners(cluster: Cluster, settings: Settings, components: Iterable[Component]) -> Iterator[Problem]:
    """A namespace under the profile's name that the profile controller would not touch, so that nobody sees it."""
    user = settings.user
    wanted = any(part.name == "user-namespace" for part in components)
    live = cluster.get(Ref("v1", "Namespace", "", user.namespace)) if wanted else None
    if live is None:
        return
    owner = (live["metadata"].get("annotations") or {}).get(_OWNER)
    if owner != user.email:
        yield Problem(
            f"namespace {user.namespace} exists and "
            + (f"belongs to {owner}." if owner else "has no annotation owner, so it belongs to no profile."),
            f"a namespace of {user.email}: the profile controller leaves all others alone, and the dashboard then "
            "shows no namespace.",
            f"set kubeflow_user_namespace to a new name, or hand it over: kubectl annotate namespace {user.namespace} "
            f"owner={user.email} --overwrite",
        )


def _live(cluster: Cluster) -> Known:
    def texts(ref: Ref) -> dict[str, str]:
        found: Object | None = cluster.get(ref)
        return decoded(found) if found else {}

    hashes = texts(Ref("v1", "Secret", _AUTH, PASSWORDS))
    return Known(password_hash=hashes.get(HASH_KEY), client_secret=texts(_CLIENT).get(_CLIENT_KEY))


def _identity(cluster: Cluster) -> str:
    """What tells clusters apart: the UID of a namespace that each has from its first day to its last."""
    system = cluster.get(Ref("v1", "Namespace", "", "kube-system"))
    return str(system["metadata"]["uid"]) if system else ""


def _read(place: Path) -> _Kept | None:
    try:
        text = place.read_text()
        found = json.loads(text)
        known = Known(*(_optional(found[name]) for name in ("password", "password_hash", "client_secret")))
        return _Kept(known, str(found.get("cluster", "")), text)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(
            Problem(
                f"{place} cannot be read as an account: {type(error).__name__}.",
                "the file that an earlier roll-out wrote.",
                "bring it back, or move it away: what the cluster has is then taken over.",
            )
        ) from error


def _optional(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise TypeError


def _write(place: Path, text: str) -> None:
    """Whole or not at all, readable by its owner alone."""
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
            partial = Path(scratch) / place.name
            partial.touch(mode=0o600)
            partial.write_text(text)
            partial.replace(place)
    except OSError as error:
        raise InvalidInput(
            Problem(
                f"{place} cannot be written: {error.strerror}.",
                "a place for the password, before it is made known to the cluster.",
                "set kubeflow_credentials_directory to a directory of yours.",
            )
        ) from error
