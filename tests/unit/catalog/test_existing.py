"""What is known about components of others fits the components of the releases."""

from __future__ import annotations

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.existing.modes import modes
from kubeflow_volcano.catalog.existing.shared import shared_part, shared_parts
from kubeflow_volcano.ref import Ref

RELEASES = [read.load_release(version) for version in read.releases()]
CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")


def _central(component: str) -> set[Ref]:
    return {
        ref
        for release in RELEASES
        if (part := release.components.get(component))
        for ref in (*part.workloads, *part.webhooks, *(Ref(*CRD, name) for name in part.crds))
    }


def test_every_shared_part_is_in_its_component_and_leaves_it_something_of_its_own() -> None:
    for item in shared_parts():
        central = _central(item.component)
        assert any(map(item.has, central)), item
        names = {ref.name for ref in central} | {ref.name.partition(".")[2] for ref in central}
        assert {*item.groups, *item.workloads, *item.webhooks} <= names, item
    for component in {item.component for item in shared_parts()}:
        own = [ref for ref in _central(component) if ref.kind != CRD[1] and not shared_part(component, ref)]
        assert own, component


def test_argo_workflows_is_no_pipelines() -> None:
    found = shared_part("pipelines", Ref("apps/v1", "Deployment", "kubeflow", "workflow-controller"))
    assert found is not None
    assert found.title == "Argo Workflows"
    assert shared_part("pipelines", Ref(*CRD, "workflows.argoproj.io")) is found
    assert shared_part("pipelines", Ref("apps/v1", "Deployment", "kubeflow", "ml-pipeline")) is None
    assert shared_part("katib", Ref("apps/v1", "Deployment", "kubeflow", "mysql")) is None


def test_every_mode_is_of_a_component_and_for_components_that_require_it() -> None:
    for item in modes():
        for user in item.users:
            assert any(item.component in part.requires for r in RELEASES if (part := r.components.get(user))), item
        assert item.config_map.namespace in {name for r in RELEASES for name in r.components[item.component].namespaces}
