"""The table of served APIs: consistent with itself, and with what Kubernetes says about its removals."""

from __future__ import annotations

from collections import Counter

import pytest

from kubeflow_volcano.catalog.served_apis import served_apis


def test_each_kind_of_an_api_version_stands_once_and_what_went_has_a_successor() -> None:
    counted = Counter((api.api_version, kind) for api in served_apis() for kind in api.kinds)
    assert [pair for pair, count in counted.items() if count > 1] == []
    assert [api.api_version for api in served_apis() if api.kubernetes.highest and not api.successor] == []
    assert len(counted) > 40


def test_successors_that_are_in_the_table_begin_before_the_old_one_ends() -> None:
    known = {(api.api_version, kind): api.kubernetes for api in served_apis() for kind in api.kinds}
    for api in served_apis():
        for kind in api.kinds:
            successor = known.get((str(api.successor), kind))
            if successor and api.kubernetes.highest:
                assert successor.covers(api.kubernetes.highest), (api.api_version, kind)


@pytest.mark.parametrize(
    ("api_version", "kind", "removed_in"),
    [
        ("batch/v1beta1", "CronJob", "1.25"),
        ("networking.k8s.io/v1beta1", "Ingress", "1.22"),
        ("policy/v1beta1", "PodSecurityPolicy", "1.25"),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler", "1.26"),
        ("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema", "1.32"),
        ("admissionregistration.k8s.io/v1beta1", "ValidatingAdmissionPolicy", "1.34"),
        ("networking.k8s.io/v1beta1", "ServiceCIDR", "1.37"),
        ("storage.k8s.io/v1beta1", "VolumeAttributesClass", "1.37"),
        ("resource.k8s.io/v1beta1", "ResourceClaim", "1.38"),
    ],
)
def test_the_minor_of_the_removal(api_version: str, kind: str, removed_in: str) -> None:
    """Deprecated API Migration Guide, kubernetes.io; k8s.io/api v0.37.2."""
    (api,) = [item for item in served_apis() if item.is_about(api_version, kind)]
    before = f"1.{int(removed_in.partition('.')[2]) - 1}"
    assert api.kubernetes.covers(before)
    assert not api.kubernetes.covers(removed_in)


@pytest.mark.parametrize(
    ("api_version", "kind", "first"),
    [
        ("resource.k8s.io/v1", "ResourceClaim", "1.34"),
        ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", "1.36"),
        ("scheduling.k8s.io/v1beta1", "PodGroup", "1.37"),
    ],
)
def test_the_minor_that_brought_it(api_version: str, kind: str, first: str) -> None:
    """k8s.io/api v0.37.2."""
    (api,) = [item for item in served_apis() if item.is_about(api_version, kind)]
    assert api.kubernetes.covers(first)
    assert not api.kubernetes.covers(f"1.{int(first.partition('.')[2]) - 1}")
