"""Where the account is kept between roll-outs: in Secrets of the cluster, a random password in the project's namespace.

The password is never shown; a roll-out prints the command that reads it. Where Dex's Secret has the hash of a password
that no Secret keeps, as of one in the inventory that was removed since, that hash stays, and with it the password.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.account.first_user import Known, account_for
from kubeflow_volcano.rollout.account.sign_in import HASH_KEY, PASSWORDS, decoded, encoded, hashes_of
from kubeflow_volcano.rollout.settings.people.users import User
from kubeflow_volcano.rollout.settings.user import Account, UserSettings
from kubeflow_volcano.rollout.state.store import NAMESPACE, create_once, own_secret

SECRET = Ref("v1", "Secret", NAMESPACE, "first-user")
"""Keeps a random password, with the keys email, password and password-hash. No workload runs in its namespace, and no
role of a release grants access to its Secrets."""

_READERS = frozenset({"dex", "oauth2-proxy", "oidc-authservice", "user-namespace"})
_AUTH = "auth"
_CLIENT = Ref("v1", "Secret", _AUTH, "dex-oidc-client")
_CLIENT_KEY = "OIDC_CLIENT_SECRET"
_OWNER = "owner"
"""Annotation by which the profile controller recognizes the namespace of a profile's owner."""


def reads_account(components: Iterable[Component]) -> bool:
    """Whether the manifests of one of these contain the account."""
    return any(part.name in _READERS for part in components)


def reading_command(kubectl: str) -> str:
    """The command that prints the random password, from the beginning of one."""
    return (
        f"{kubectl} -n {SECRET.namespace} get secret {SECRET.name} -o jsonpath='{{.data.password}}' | base64 -d; echo"
    )


def kubectl(kubeconfig: Path | None, context: str | None) -> str:
    """The beginning of a command for a person: kubectl with that kubeconfig and context."""
    words = ["kubectl"]
    if kubeconfig:
        words += ["--kubeconfig", shlex.quote(str(kubeconfig))]
    if context:
        words += ["--context", shlex.quote(context)]
    return " ".join(words)


def account_of_cluster(
    cluster: Cluster, user: UserSettings, users: Sequence[User], components: Sequence[Component]
) -> Account | None:
    """The account that the cluster has, else a new one; None if none of the components reads it.

    Changes nothing: `keep_password` does, once the roll-out may change the cluster.

    Raises:
        InvalidInput: the namespace of the profile has another owner.
        ApiError: the API server refuses a question.
    """
    if not reads_account(components):
        return None
    if problems := [*validate_profile_owner(cluster, user, components)]:
        raise InvalidInput(problems)
    kept, passwords = _texts(cluster, SECRET), _texts(cluster, Ref("v1", "Secret", _AUTH, PASSWORDS))
    known = Known(
        kept.get("password"),
        kept.get("password-hash") or passwords.get(HASH_KEY),
        _texts(cluster, _CLIENT).get(_CLIENT_KEY),
        hashes_of(passwords),
    )
    return account_for(user, known, users)


def keep_password(cluster: Cluster, account: Account | None, kubectl: str, progress: Progress) -> None:
    """Keep a random password in its Secret before Dex gets its hash, and print how to read it.

    Without a random password the Secret is deleted: it would contain one that is no longer valid.

    Raises:
        ApiError: the Secret may not be written.
    """
    if account is None:
        return
    live = cluster.get(SECRET)
    if account.password is None:
        if live:
            cluster.delete(SECRET, uid=live["metadata"]["uid"])
        return
    texts = {"email": account.email, "password": account.password, "password-hash": account.password_hash}
    if live is None or decoded(live) != texts:
        data = encoded(texts)
        if live or create_once(cluster, own_secret(SECRET, data)) is None:
            cluster.patch(SECRET, {"data": data})
    progress(f"sign in as {account.email}; this prints the password: {reading_command(kubectl)}")


def kept_password(cluster: Cluster, email: str) -> str:
    """The random password of that user; empty if the cluster keeps none.

    Raises:
        ApiError: the Secret may not be read.
    """
    kept = _texts(cluster, SECRET)
    return kept.get("password", "") if kept.get("email") == email else ""


def validate_profile_owner(cluster: Cluster, user: UserSettings, components: Iterable[Component]) -> Iterator[Problem]:
    """A namespace with the profile's name and another owner: the profile controller does not touch it.

    Raises:
        ApiError: the API server refuses a question.
    """
    if any(part.name == "user-namespace" for part in components):
        yield from validate_owner(cluster, user.namespace, user.email, "set kubeflow_user_namespace to a new name")


def validate_owner(cluster: Cluster, name: str, email: str, rename: str) -> Iterator[Problem]:
    """The problem of a namespace for the profile of that user, if it has another owner; `rename` is one way out.

    Raises:
        ApiError: the API server refuses the question.
    """
    live = cluster.get(Ref("v1", "Namespace", "", name))
    if live is None:
        return
    owner = (live["metadata"].get("annotations") or {}).get(_OWNER)
    if owner != email:
        yield Problem(
            f"namespace {name} exists and "
            + (f"belongs to {owner}." if owner else "has no annotation owner, so it belongs to no profile."),
            f"a namespace of {email}: the profile controller ignores all others, and the dashboard then shows no "
            "namespace.",
            f"{rename}, or change its owner: kubectl annotate namespace {name} owner={email} --overwrite",
        )


def _texts(cluster: Cluster, ref: Ref) -> dict[str, str]:
    live = cluster.get(ref)
    return decoded(live) if live else {}
