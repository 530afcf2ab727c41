"""What the plan says about the first user's account, and which secrets of the manifests stay published."""

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
from kubeflow_volcano.text import counted

__all__ = ["account_of", "judge_account", "judge_published_secrets"]

_SECRET_KEY = re.compile(r"(?i)pass|secret|token|key")


def account_of(settings: Settings) -> dict[str, Any] | None:
    """Who signs in and owns the first profile, and the origin of the password; None if no component reads it."""
    if not reads_account(settings.components):
        return None
    user, place = settings.user, credentials_file(settings)
    if user.published_password:
        origin = "the one that upstream publishes, as kubeflow_published_password says"
    elif user.password:
        origin = "of the inventory"
    else:
        origin = (
            "random; kept from an earlier roll-out" if place.exists() else "random; shown once by the first roll-out"
        )
    return {"email": user.email, "namespace": user.namespace, "password": origin, "file": str(place)}


def judge_account(settings: Settings) -> Finding:
    """Whether the password is published."""
    title = "Sign-in with an own password"
    if settings.user.published_password:
        return Finding(
            "account",
            title,
            Verdict.WARN,
            f"{settings.user.email} signs in with the password that upstream publishes.",
            needed="a password that only its owner knows, if others can reach the cluster.",
            todo="remove kubeflow_published_password.",
        )
    return Finding("account", title, Verdict.PASS, f"{settings.user.email}, who owns {settings.user.namespace}.")


def judge_published_secrets(objects: Iterable[Object], settings: Settings) -> Finding:
    """Secrets whose values are published with the manifests; those of the account are replaced."""
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
        f"{counted(len(details), 'Secret')} with values from the published manifests. Databases keep the value of "
        "their first start, so that a later change locks their clients out.",
        details,
        "services that only pods of the cluster can reach.",
        "if others can reach them, set kubeflow_sources to manifests with own values before the first roll-out.",
    )
