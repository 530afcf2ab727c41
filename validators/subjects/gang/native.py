"""What the cluster shows of gangs of Kubernetes itself, where these are the ones to judge."""

from __future__ import annotations

from kubeflow_volcano.catalog.gangs import KUBERNETES
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.native_gangs import NativeGangs, native_gangs
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.resources import PODS

_UNASKED = NativeGangs("", served=False)


def _fetch(cluster: Cluster, facts: Facts) -> NativeGangs:
    return native_gangs(cluster, facts.all(PODS)) if facts.expectations.gang is KUBERNETES else _UNASKED


NATIVE_GANGS = Fact[NativeGangs]("native-gangs", _fetch, _UNASKED, reads=(PODS,))
"""Whether PodGroups of Kubernetes are served, and the gates of its programs; asked only where gangs are Kubernetes'."""
