"""Users of Dex itself beside the first one: `kubeflow_users`.

Rules: storage/static.go and server/handlers.go of dexidp/dex v2.31.2 to v2.45.0: a user is looked up by the e-mail
address in lower case, and the address as it is configured becomes the user of Kubeflow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.settings.people.component import validate_component
from kubeflow_volcano.rollout.settings.people.connectors import DEX
from kubeflow_volcano.rollout.settings.user import PUBLISHED_PASSWORD, UserSettings, validate_length


@dataclass(frozen=True, slots=True)
class User:
    """A user who signs in with a password: either that, or its bcrypt hash."""

    email: str
    password: str = field(default="", repr=False)
    password_hash: str = field(default="", repr=False)


def validate_users(users: Sequence[User], first: UserSettings, chosen: Collection[str]) -> Iterator[Problem]:
    """Problems of the users with these components; no message contains a password or a hash."""
    if users:
        yield from validate_component("kubeflow_users", DEX, "which asks these users for their passwords", chosen)
    for email, count in Counter(item.email.lower() for item in users).items():
        if count > 1:
            yield Problem(
                f"kubeflow_users names {email} {count} times.",
                "every e-mail address once; upper and lower case are the same.",
                "remove all but one.",
            )
        if email == first.email.lower():
            yield Problem(
                f"kubeflow_users names {email}, the first user.",
                "users beside the first one, which kubeflow_user_email and kubeflow_user_password describe.",
                "remove the entry, or change kubeflow_user_email.",
            )
    for item in users:
        yield from _validate_secret(item)


def _validate_secret(item: User) -> Iterator[Problem]:
    where = f"kubeflow_users: {item.email}"
    if bool(item.password) == bool(item.password_hash):
        both = "a password and a password_hash" if item.password else "neither password nor password_hash"
        yield Problem(
            f"{where} has {both}.",
            "one of the two: the password from a vault or the environment, or its bcrypt hash.",
            "set one; a lookup of an environment variable that is not set is empty.",
        )
    elif item.password == PUBLISHED_PASSWORD:
        yield Problem(
            f"{where} has the password that upstream publishes in its README.",
            "a password of their own.",
            "change it.",
        )
    elif item.password:
        yield from validate_length(item.password, f"the password of {item.email} in kubeflow_users")
