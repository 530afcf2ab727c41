"""What the plan tells about the first user's account, and which secrets of the manifests stay public knowledge."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.rollout.account.first_user import foreseen
from kubeflow_volcano.rollout.account.sign_in import decoded
from kubeflow_volcano.rollout.account.stored import credentials_file, reads_account
from kubeflow_volcano.rollout.plan.findings import Finding, Verdict
from kubeflow_volcano.rollout.settings.settings import Settings

__all__ = ["account_of", "judge_account", "judge_published_secrets"]

_SECRET_KEY = re.compile(r"(?i)pass|secret|token|key")


def account_of(settings: Settings) -> dict[str, Any] | None:
    """Who will sign in and own the first profile, and where the password is from; None where nothing reads it."""
    if not reads_account(settings.components):
        return None
    user, place = settings.user, credentials_file(settings)
    if user.published_password:
        origin = "upstream's published one, as asked for"
    elif user.password:
        origin = "of the inventory"
    else:
        origin = (
            "random; kept from an earlier roll-out" if place.exists() else "random; shown once by the first roll-out"
        )
    return {"email": user.email, "namespace": user.namespace, "password": origin, "file": str(place)}


def judge_account(settings: Settings) -> Finding:
    """Whether everybody knows the password."""
    title = "Sign-in with an own password"
    if settings.user.published_password:
        return Finding(
            "account",
            title,
            Verdict.WARN,
            f"{settings.user.email} signs in with the password that upstream publishes.",
            needed="a password that only its owner knows, wherever others can reach the cluster.",
            todo="remove kubeflow_published_password.",
        )
    return Finding("account", title, Verdict.PASS, f"{settings.user.email}, who owns {settings.user.namespace}.")


def judge_published_secrets(objects: Iterable[Object], settings: Settings) -> Finding:
    """Secrets whose values stand in the manifests for everybody to read; those of the account are replaced."""
    account = foreseen(settings.user)
    own = {account.password_hash, account.client_secret, account.cookie_secret}
    details = tuple(
        f"{Ref.of(obj)}: {', '.join(keys)}"
        for obj in objects
        if obj["kind"] == "Secret"
        and (keys := [key for key, text in decoded(obj).items() if _SECRET_KEY.search(key) and text not in own])
    )
    title = "Secrets that the manifests publish"
    if not details:
        return Finding("published-secrets", title, Verdict.PASS, "none.")
    return Finding(
        "published-secrets",
        title,
        Verdict.WARN,
        f"{len(details)} Secrets keep values that stand in the manifests; their databases know them since their first "
        "start, so that a new value locks them out.",
        details,
        "services behind them that only the cluster's own pods reach.",
        "give kubeflow_sources with own values before the first roll-out where that is not enough.",
    )
