"""Claims of a release get the class and size of the inventory, by component and name."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.patches.environment import for_environment
from kubeflow_volcano.rollout.patches.own import with_own_patches
from kubeflow_volcano.rollout.patches.pods.claims import claims_in
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from tests.unit.releases import Upstream, by_ref

OWN = {"storage_class": "fast", "size": "50Gi"}
CLAIMS = {
    "1.6.1": {"pipelines": {"minio-pvc", "mysql-pv-claim"}, "katib": {"katib-mysql"}},
    "1.9.1": {"pipelines": {"minio-pvc", "mysql-pv-claim"}, "katib": {"katib-mysql"}},
    "26.03": {"pipelines": {"seaweedfs-pvc", "mysql-pv-claim"}, "katib": {"katib-mysql"}},
}
"""Claims of both components in whole releases, as read in their manifests."""


def claim(name: str = "data", size: str = "20Gi") -> Object:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return new_object("v1", "PersistentVolumeClaim", name, "kubeflow", spec=spec)


def stateful_set(*templates: Object) -> Object:
    spec = {"template": {"spec": {}}, "volumeClaimTemplates": [*templates]}
    return new_object("apps/v1", "StatefulSet", "db", "kubeflow", spec=spec)


def settings(claims: Any, **variables: Any) -> Settings:
    return parse({"kubeflow_profile": "full", "kubeflow_claims": {"katib": claims}, **variables})


def test_a_claim_gets_both_and_keeps_the_rest() -> None:
    given = [claim(), claim("other")]
    before = copy.deepcopy(given)
    first, second = for_environment("katib", given, settings({"data": OWN}))
    assert given == before
    assert second == given[1]
    expected = before[0]["spec"] | {"storageClassName": "fast", "resources": {"requests": {"storage": "50Gi"}}}
    assert first["spec"] == expected


def test_one_of_the_two_leaves_the_other() -> None:
    (sized,) = for_environment("katib", [claim()], settings({"data": {"size": "1Ti"}}))
    assert "storageClassName" not in sized["spec"]
    (classed,) = for_environment("katib", [claim()], settings({"data": {"storage_class": "fast"}}))
    assert classed["spec"]["resources"] == claim()["spec"]["resources"]


def test_templates_of_stateful_sets_are_claims() -> None:
    (found,) = for_environment("katib", [stateful_set(claim(), claim("logs"))], settings({"data": OWN}))
    first, second = claims_in(found)
    assert first["spec"]["storageClassName"] == "fast"
    assert second == claim("logs")


def test_names_that_fit_no_claim_are_refused_with_those_that_there_are() -> None:
    with pytest.raises(InvalidInput) as caught:
        for_environment("katib", [claim(), stateful_set(claim("logs"))], settings({"dat": OWN, "x": OWN, "logs": OWN}))
    first, second = caught.value.problems
    assert re.search(r"kubeflow_claims\.katib\.dat, .* mean data\?", first.found)
    assert "data, logs" in first.needed
    assert "kubeflow_claims.katib.x" in second.found


def test_a_patch_of_the_inventory_comes_last(kustomize: Path) -> None:
    target = {"kind": "PersistentVolumeClaim", "name": "data"}
    chosen = settings(
        {"data": OWN},
        kubeflow_patches={"katib": [{"target": target, "patch": {"spec": {"storageClassName": "mine"}}}]},
        kustomize_binary=str(kustomize),
    )
    (after,) = with_own_patches("katib", for_environment("katib", [claim()], chosen), chosen, silent)
    assert after["spec"]["storageClassName"] == "mine"
    assert after["spec"]["resources"]["requests"]["storage"] == "50Gi"


@pytest.mark.upstream
def test_claims_of_a_release_change_and_nothing_else(upstream: Upstream) -> None:
    names = CLAIMS[upstream.release]
    after = by_ref(upstream.changed(kubeflow_claims={part: dict.fromkeys(items, OWN) for part, items in names.items()}))
    before = by_ref(upstream.parts)
    wanted = {Ref("v1", "PersistentVolumeClaim", "kubeflow", name) for items in names.values() for name in items}
    assert {ref for ref in after if after[ref] != before[ref]} == wanted
    for ref in wanted:
        spec = after[ref]["spec"]
        assert (spec["storageClassName"], spec["resources"]["requests"]["storage"]) == ("fast", "50Gi")
