"""Whose components are: refused in one list, unless they are adopted."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from kubeflow_volcano.cluster.api.client import Listing
from kubeflow_volcano.cluster.api.errors import NotServed
from kubeflow_volcano.cluster.applied_objects import Place
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.existing.owners import foreign_components, places_of_existing
from kubeflow_volcano.rollout.settings.settings import parse
from tests.samples.stored import Stored

KUBECTL = {"manager": "kubectl-client-side-apply", "operation": "Update"}
OURS = {"manager": FIELD_MANAGER, "operation": "Apply"}
STATUS = {"manager": "kube-apiserver", "operation": "Update", "subresource": "status"}
HELM: dict[str, Any] = {"annotations": {"meta.helm.sh/release-name": "istio-base"}}
ISSUER: Object = {"apiVersion": "cert-manager.io/v1", "kind": "ClusterIssuer", "metadata": {"name": "kubeflow"}}
SETTINGS = {"kubeflow_components": ["kubeflow-issuer", "istio"]}


class Cluster(Stored):
    """Live objects; kinds of cert-manager are served only if it is there."""

    def list(self, api_version: str, kind: str, *, namespace: str | None = None, **how: Any) -> Listing:
        """Pages alone say where they look; what runs elsewhere has tests of its own."""
        return Listing((), "1") if namespace is None else super().list(api_version, kind, namespace=namespace, **how)

    def pages(self, api_version: str, kind: str, *, namespace: str = "", **how: Any) -> Iterator[Listing]:
        if kind == "ClusterIssuer" and not self.objects:
            raise NotServed(api_version, kind)
        yield self.list(api_version, kind, namespace=namespace, **how)


def live(ref: Ref, *managers: Object, image: str = "", uid: str = "", **meta: Any) -> Object:
    place = {"name": ref.name, **({"namespace": ref.namespace} if ref.namespace else {})}
    found: Object = {
        "apiVersion": ref.api_version,
        "kind": ref.kind,
        "metadata": {**place, "uid": uid or f"uid-{ref.name}", "managedFields": [*managers, STATUS], **meta},
    }
    if image:
        found["spec"] = {"template": {"spec": {"containers": [{"image": image}]}}}
    return found


def of(component: str, *managers: Object, image: str = "", **meta: Any) -> list[Object]:
    refs = parse(SETTINGS).component(component).central
    return [live(ref, *managers, image=image if ref.kind == "Deployment" else "", **meta) for ref in refs]


def asked(*objects: Object, brought: Collection[str] = (), **variables: Any) -> tuple[list[Problem], list[str]]:
    settings = parse(SETTINGS | variables)
    parts = {part.name: (ISSUER,) if part.name == "kubeflow-issuer" else () for part in settings.components}
    cluster: Any = Cluster(*objects)
    lines: list[str] = []
    return [*foreign_components(cluster, settings, settings.components, parts, brought, progress=lines.append)], lines


def test_an_empty_cluster_and_our_own_objects_are_no_question() -> None:
    assert asked() == ([], [])
    assert asked(*of("cert-manager", OURS, KUBECTL), *of("istio-crds", OURS)) == ([], [])


def test_all_components_of_others_are_in_one_refusal_with_both_ways_out() -> None:
    theirs = [
        *of("cert-manager", KUBECTL, image="quay.io/jetstack/cert-manager-controller:v1.16.2"),
        *of("istio-crds", KUBECTL, **HELM),
        *of("istio", KUBECTL, image="docker.io/istio/pilot:1.23.0", **HELM),
    ]
    ((problem,), _) = asked(*theirs)
    assert re.search(r"cert-manager 1\.16\.2 \(.*kubectl-client-side-apply: 11\)", problem.found)
    assert re.search(r"istio 1\.23\.0 \(Helm .*istio-base: 4\)", problem.found)
    assert "cert-manager 1.14.5" in problem.needed
    assert "kubeflow_existing: [cert-manager, istio];" in problem.todo
    assert "kubeflow_adopt: [cert-manager, istio]" in problem.todo


def test_one_central_object_of_others_is_enough() -> None:
    ours = of("cert-manager", OURS)
    ours[-1] = live(Ref.of(ours[-1]), KUBECTL)
    ((problem,), _) = asked(*ours)
    assert "kubectl-client-side-apply: 1)" in problem.found


def test_an_object_that_people_made_again_does_not_make_a_recorded_component_theirs() -> None:
    mixed = of("cert-manager", OURS)
    mixed[-1] = live(Ref.of(mixed[-1]), KUBECTL)
    assert asked(*mixed, brought={mixed[0]["metadata"]["uid"]}) == ([], [])


def test_what_a_roll_out_recorded_is_ours_although_its_managers_are_gone() -> None:
    relic = live(parse(SETTINGS).component("cert-manager").central[0])
    assert asked(relic, brought={relic["metadata"]["uid"]})[0] == []
    assert "unknown" in asked(relic)[0][0].found


def test_an_adopted_component_is_named_with_both_versions() -> None:
    theirs = of("cert-manager", KUBECTL, image="cert-manager-controller:v1.16.2")
    problems, lines = asked(*theirs, kubeflow_adopt=["cert-manager"])
    assert problems == []
    (line,) = lines
    assert "cert-manager 1.16.2" in line
    assert "becomes 1.14.5" in line


def test_a_component_without_workloads_is_judged_by_its_other_objects() -> None:
    issuer = live(Ref.of(ISSUER), KUBECTL)
    ((problem,), _) = asked(issuer)
    assert "kubeflow_existing: [kubeflow-issuer]" in problem.todo


def test_central_objects_of_existing_components_are_what_no_removal_touches() -> None:
    places = places_of_existing(parse({"kubeflow_existing": ["istio"]}))
    assert Place("apps", "Deployment", "istio-system", "istiod") in places
    assert Place("apiextensions.k8s.io", "CustomResourceDefinition", "", "gateways.networking.istio.io") in places
    assert places_of_existing(parse({})) == frozenset()


def test_an_existing_component_is_no_question_any_more() -> None:
    assert asked(*of("cert-manager", KUBECTL), kubeflow_existing=["cert-manager"]) == ([], [])


PIPELINES = {"kubeflow_components": ["pipelines"]}


def argo(*managers: Object, **meta: Any) -> list[Object]:
    """What the chart of Argo Workflows makes that Pipelines makes as well: its CRDs."""
    refs = parse(PIPELINES).component("pipelines").central
    return [live(ref, *managers, **meta) for ref in refs if ref.name.endswith(".argoproj.io")]


def asked_about_pipelines(*objects: Object, **variables: Any) -> tuple[list[Problem], list[str]]:
    settings = parse(PIPELINES | variables)
    cluster: Any = Cluster(*objects)
    lines: list[str] = []
    parts: dict[str, tuple[Object, ...]] = {part.name: () for part in settings.components}
    return [*foreign_components(cluster, settings, settings.components, parts, (), progress=lines.append)], lines


def test_software_inside_a_component_is_named_as_what_it_is_and_is_not_offered_as_the_component() -> None:
    ((problem,), _) = asked_about_pipelines(*argo(KUBECTL, annotations={"meta.helm.sh/release-name": "argo"}))
    assert re.match(r"Argo Workflows \(Helm .*argo: ", problem.found)
    assert "kubeflow_exclude: [pipelines]" in problem.todo
    assert "kubeflow_adopt: [pipelines]" in problem.todo
    assert "kubeflow_existing" not in problem.todo


def test_a_component_with_its_software_is_the_component() -> None:
    own = next(ref for ref in parse(PIPELINES).component("pipelines").central if ref.name == "ml-pipeline")
    ((problem,), _) = asked_about_pipelines(*argo(KUBECTL), live(own, KUBECTL))
    assert re.match("[^:(]*: pipelines", problem.found)
    assert "kubeflow_existing: [pipelines]" in problem.todo


def test_each_software_of_others_is_named_for_itself() -> None:
    refs = parse(PIPELINES).component("pipelines").central
    controller = next(ref for ref in refs if ref.name == "compositecontrollers.metacontroller.k8s.io")
    (problems, _) = asked_about_pipelines(*argo(KUBECTL), live(controller, KUBECTL))
    assert [problem.found.partition(" (")[0] for problem in problems] == ["Argo Workflows", "Metacontroller"]


def test_taking_over_says_what_to_do_about_the_other_one() -> None:
    (problems, (line,)) = asked_about_pipelines(*argo(KUBECTL), kubeflow_adopt=["pipelines"])
    assert problems == []
    assert "Argo Workflows" in line
    assert "instanceID" in line
