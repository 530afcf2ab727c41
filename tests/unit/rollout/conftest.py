"""What the tests of the roll-out share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kubeflow_volcano.rollout.account import first_user


@pytest.fixture(scope="session", autouse=True)
def quick_hashes() -> Iterator[None]:
    """The work that bcrypt takes protects passwords; each test would spend a third of a second on every hash."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(first_user, "HASH_ROUNDS", 4)
        yield
