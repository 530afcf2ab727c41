"""Each case from the field that takes a cluster is answered rightly there, or its folder says what is said instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from tests.cases.case import Look, looks
from tests.cases.live import asked
from tests.cases.marks import parameters

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]


@pytest.mark.parametrize("look", parameters(looks(on_cluster=True)))
def test_what_is_said_on_a_cluster_is_right(look: Look, cluster: Cluster, kubeconfig: Path) -> None:
    answer = asked(look, cluster, kubeconfig)
    assert look.right.missed_by(answer) == [], answer
