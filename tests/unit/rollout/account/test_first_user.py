"""The account of the first user: what is kept, what is made anew, and what never stays."""

from __future__ import annotations

import bcrypt
import pytest

from kubeflow_volcano.rollout.account.first_user import (
    HASH_ROUNDS,
    Known,
    account_for,
    is_published,
    placeholder_account,
)
from kubeflow_volcano.rollout.settings.user import PUBLISHED_PASSWORD, Account, UserSettings

REAL_ROUNDS = HASH_ROUNDS
UPSTREAM_HASH = "$2y$12$4K/VkmDd1q1Orb3xAt82zu8gk7Ad6ReFR4LCP9UeYE90NLiN9Df72"
UPSTREAM_CLIENT_SECRET = "pUBnBOY80SnXgjibTYM9ZWNzY2xreNGQok"  # noqa: S105  published by upstream
UPSTREAM_COOKIE_SECRET = "7d16fee92f8d11b8940b081b3f8b8acb"  # noqa: S105  as above


def user(password: str = "", *, published: bool = False) -> UserSettings:
    return UserSettings("me@example.org", password, "team", published)


def cheap(password: str) -> str:
    """A hash that is quick to make; its cost is not what is tested."""
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(4)).decode()


def opens(account: Account, password: str) -> bool:
    return bcrypt.checkpw(password.encode(), account.password_hash.encode())


def test_a_random_password_differs_each_time_and_its_hash_opens() -> None:
    first, second = account_for(user(), Known()), account_for(user(), Known())
    assert first.password
    assert first.password != second.password
    assert len(first.password) >= 20
    assert opens(first, first.password)


def test_dex_takes_the_hash() -> None:
    assert 10 <= REAL_ROUNDS <= 16  # bounds of checkCost in Dex's server/api.go
    assert account_for(user(), Known()).password_hash.startswith("$2b$")


def test_what_was_made_is_kept_so_that_a_second_run_changes_nothing() -> None:
    first = account_for(user(), Known())
    again = account_for(user(), Known(first.password, first.password_hash, first.client_secret))
    assert again == first


def test_only_the_cluster_knows_the_hash() -> None:
    known = Known(None, cheap("somebody's"), "secret")
    account = account_for(user(), known)
    assert (account.password, account.password_hash, account.client_secret) == (None, known.password_hash, "secret")


def test_a_given_password_keeps_the_hash_that_it_matches_and_stands_in_no_file() -> None:
    known = Known(None, cheap("mine"), "secret")
    assert account_for(user("mine"), known).password_hash == known.password_hash
    changed = account_for(user("other"), known)
    assert opens(changed, "other")
    assert changed.password is None


@pytest.mark.parametrize("known", [Known(None, UPSTREAM_HASH, None), Known(None, cheap(PUBLISHED_PASSWORD), None)])
def test_the_published_password_does_not_stay(known: Known) -> None:
    account = account_for(user(), known)
    assert not opens(account, PUBLISHED_PASSWORD)
    assert account.password
    assert opens(account, account.password)


def test_the_published_password_by_name() -> None:
    account = account_for(user(published=True), Known("random", cheap("random"), "secret"))
    assert opens(account, PUBLISHED_PASSWORD)
    kept = account_for(user(published=True), Known(None, UPSTREAM_HASH, "secret"))
    assert kept.password_hash == UPSTREAM_HASH


@pytest.mark.parametrize("secret", [UPSTREAM_CLIENT_SECRET, UPSTREAM_COOKIE_SECRET])
def test_published_secrets_do_not_stay(secret: str) -> None:
    assert is_published(secret)
    account = account_for(user(), Known("p", cheap("p"), secret))
    assert account.client_secret != secret
    assert not is_published(account.client_secret)


def test_the_cookie_secret_has_the_length_that_oauth2_proxy_asks_and_stays_with_the_client_secret() -> None:
    first = account_for(user(), Known("p", cheap("p"), "one"))
    second = account_for(user(), Known("p", cheap("p"), "two"))
    assert len(first.cookie_secret) in {16, 24, 32}
    assert first.cookie_secret == account_for(user(), Known("q", cheap("q"), "one")).cookie_secret
    assert first.cookie_secret != second.cookie_secret


def test_the_sum_changes_with_every_part_and_nothing_secret_is_in_the_representation() -> None:
    base = Account("a@b", "n", "pass-word", "hash-text", "client-text")
    others = [
        Account("x@b", "n", None, "hash-text", "client-text"),
        Account("a@b", "n", None, "other", "client-text"),
        Account("a@b", "n", None, "hash-text", "other"),
    ]
    assert len({item.sum for item in (base, *others)}) == 4
    assert not any(word in repr(base) for word in ("pass-word", "hash-text", "client-text"))


def test_before_the_first_roll_out_nothing_random_is_made_up() -> None:
    assert placeholder_account(user()) == placeholder_account(user())
    assert placeholder_account(user()).password is None


def test_a_hash_that_is_none_is_replaced() -> None:
    account = account_for(user("mine"), Known(None, "no hash", None))
    assert opens(account, "mine")
