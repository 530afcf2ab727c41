"""What each version of Volcano's scheduler knows."""

from __future__ import annotations

import pytest

from kubeflow_volcano.catalog.read import versions_of
from kubeflow_volcano.catalog.schedulers import known_plugins, words_of


def test_words_come_with_versions_and_stay() -> None:
    assert "capacity" not in words_of("1.8.2").plugins
    assert "capacity" in words_of("1.10.0").plugins
    assert "gangpreempt" in words_of("1.15.1").actions
    assert words_of("1.14.4").plugins <= words_of("1.15.1").plugins == known_plugins()
    assert words_of("1.10.0").queue_fields == {"capability", "deserved", "guarantee", "parent", "reclaimable", "weight"}


@pytest.mark.parametrize("version", versions_of("volcano"))
def test_every_version_of_the_catalog_can_gang(version: str) -> None:
    words = words_of(version)
    assert {"gang", "predicates", "proportion"} <= words.plugins
    assert {"enqueue", "allocate"} <= words.actions
