"""The order of objects: rules on small sets, and the same rules held on real upstream manifests."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano import strict_yaml
from kubeflow_volcano.catalog.read import load_release
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.render import render
from kubeflow_volcano.rollout.sources import locate
from kubeflow_volcano.rollout.waves import WORKLOAD_KINDS, Wave, waves

CRD = "CustomResourceDefinition"


def obj(kind: str, name: str = "x", namespace: str = "", api_version: str = "v1", **more: Any) -> Object:
    meta = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **more}


def crd(kind: str, group: str) -> Object:
    spec = {"group": group, "names": {"kind": kind}}
    return obj(CRD, f"{kind.lower()}s.{group}", api_version="apiextensions.k8s.io/v1", spec=spec)


def deployment(name: str, namespace: str) -> Object:
    template = {"metadata": {"labels": {"app": name}}, "spec": {}}
    return obj("Deployment", name, namespace, "apps/v1", spec={"template": template})


def service(name: str, namespace: str, app: str) -> Object:
    return obj("Service", name, namespace, spec={"selector": {"app": app}})


def webhook(resource: str, group: str = "", **more: Any) -> Object:
    rule = {"operations": ["CREATE"], "apiGroups": [group], "apiVersions": ["*"], "resources": [resource]}
    entry = {"name": "w", "clientConfig": {"service": {"namespace": "sys", "name": "svc"}}, "rules": [rule], **more}
    api_version = "admissionregistration.k8s.io/v1"
    return obj("ValidatingWebhookConfiguration", "hook", api_version=api_version, webhooks=[entry])


def place(cut: Sequence[Wave], wanted: Object) -> int:
    return next(number for number, wave in enumerate(cut) if wanted in wave.objects)


def test_nothing_makes_no_wave() -> None:
    assert waves([]) == ()


def test_namespace_comes_before_its_content() -> None:
    inside, outside, namespace = obj("ConfigMap", "a", "n"), obj("ConfigMap", "b", "other"), obj("Namespace", "n")
    cut = waves([inside, outside, namespace])
    assert place(cut, namespace) < place(cut, inside)
    assert place(cut, outside) == 0


def test_a_crd_is_established_before_its_objects_and_before_workloads() -> None:
    made, custom, worker = crd("Foo", "g.io"), obj("Foo", "f", api_version="g.io/v1"), deployment("d", "n")
    other = obj("Foo", "f", api_version="other.io/v1")
    cut = waves([custom, worker, made, other])
    for later in (custom, worker):
        assert Ref.of(made) in cut[place(cut, later)].awaits
        assert place(cut, made) < place(cut, later)
    assert place(cut, other) == 0


def test_what_waits_for_nothing_is_sent_while_crds_come_up() -> None:
    namespace, account, custom = obj("Namespace", "n"), obj("ServiceAccount", "s", "n"), obj("Foo", "f", "n", "g.io/v1")
    cut = waves([namespace, account, crd("Foo", "g.io"), custom])
    assert cut[place(cut, account)].awaits == ()
    assert place(cut, account) < place(cut, custom)


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret", "ServiceAccount", "RoleBinding", "PersistentVolumeClaim"])
def test_what_a_pod_reads_comes_before_it(kind: str) -> None:
    read, worker = obj(kind, "r", "n"), deployment("d", "n")
    cut = waves([worker, read])
    assert place(cut, read) < place(cut, worker)


def test_roles_come_before_their_bindings() -> None:
    role, binding = obj("ClusterRole", "r"), obj("RoleBinding", "b", "n")
    cut = waves([binding, role])
    assert place(cut, role) < place(cut, binding)


def test_a_webhook_comes_after_its_backend_and_before_what_it_sees() -> None:
    backend, hook, seen = deployment("back", "sys"), webhook("foos", "g.io"), obj("Foo", "f", "n", "g.io/v1")
    cut = waves([seen, hook, service("svc", "sys", "back"), backend])
    assert place(cut, backend) < place(cut, hook) < place(cut, seen)
    assert cut[place(cut, hook)].awaits == ()
    assert cut[place(cut, seen)].awaits == (Ref.of(backend),)


def test_workloads_wait_for_a_webhook_that_sees_their_pods() -> None:
    backend, hook, seen = deployment("back", "sys"), webhook("pods"), deployment("app", "n")
    cut = waves([seen, hook, service("svc", "sys", "back"), backend])
    assert Ref.of(backend) in cut[place(cut, seen)].awaits


def test_a_backend_does_not_wait_for_itself() -> None:
    backend, hook = deployment("back", "sys"), webhook("*")
    cut = waves([hook, backend, service("svc", "sys", "back"), obj("ConfigMap", "c", "sys")])
    assert place(cut, backend) < place(cut, hook)


def test_two_webhooks_that_see_each_others_backends_make_no_circle() -> None:
    first, second = webhook("pods"), webhook("pods")
    second["metadata"]["name"] = "second"
    second["webhooks"][0]["clientConfig"]["service"]["name"] = "svc2"
    objects = [first, second, deployment("a", "sys"), deployment("b", "sys")]
    objects += [service("svc", "sys", "a"), service("svc2", "sys", "b")]
    assert sum(len(wave.objects) for wave in waves(objects)) == 6


@pytest.mark.parametrize(
    ("selector", "sees"),
    [
        ({"matchLabels": {"inject": "yes"}}, True),
        ({"matchLabels": {"inject": "no"}}, False),
        ({"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["n"]}]}, False),
        ({"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["n"]}]}, True),
        ({"matchExpressions": [{"key": "inject", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "inject", "operator": "DoesNotExist"}]}, False),
    ],
)
def test_namespace_selectors_count(selector: dict[str, Any], sees: bool) -> None:  # noqa: FBT001  a column of the table
    namespace = obj("Namespace", "n")
    namespace["metadata"]["labels"] = {"inject": "yes"}
    hook, seen = webhook("pods", namespaceSelector=selector), deployment("app", "n")
    cut = waves([namespace, seen, hook, service("svc", "sys", "back"), deployment("back", "sys")])
    assert (place(cut, hook) < place(cut, seen)) is sees


def test_every_object_is_in_exactly_one_wave_in_the_given_order() -> None:
    objects = [obj("ConfigMap", f"c{number}", "n") for number in range(9)] + [obj("Namespace", "n")]
    cut = waves(objects)
    assert [len(wave.objects) for wave in cut] == [1, 9]
    assert list(cut[1].objects) == objects[:9]


def assert_rules_hold(objects: Sequence[Object]) -> None:
    cut = waves(objects)
    number = {Ref.of(item): index for index, wave in enumerate(cut) for item in wave.objects}
    assert len(number) == len(objects)
    namespaces = {ref.name: ref for ref in number if ref.kind == "Namespace"}
    crds = {
        (item["spec"]["group"], item["spec"]["names"]["kind"]): Ref.of(item) for item in objects if item["kind"] == CRD
    }
    for ref, index in number.items():
        if ref.namespace in namespaces:
            assert number[namespaces[ref.namespace]] < index
        awaited = {need for wave in cut[: index + 1] for need in wave.awaits}
        if (ref.group, ref.kind) in crds:
            assert crds[ref.group, ref.kind] in awaited
        if ref.kind in WORKLOAD_KINDS:
            assert set(crds.values()) <= awaited
    for index, wave in enumerate(cut):
        assert all(number[need] < index for need in wave.awaits)


@pytest.mark.upstream
@pytest.mark.parametrize("name", ["volcano-1.12.2.yaml.gz", "volcano-1.15.1.yaml.gz", "jobset-0.10.1.yaml.gz"])
def test_the_rules_hold_on_packed_upstream_manifests(upstream_dir: Path, name: str) -> None:
    objects = strict_yaml.parse(gzip.decompress((upstream_dir / name).read_bytes()), name)
    assert len(objects) > 10
    assert_rules_hold(objects)


@pytest.mark.upstream
@pytest.mark.parametrize("name", ["local-path-storage-0.0.20.yaml", "local-path-storage-0.0.37.yaml"])
def test_the_rules_hold_on_local_path(upstream_dir: Path, name: str) -> None:
    assert_rules_hold(render(upstream_dir / name, Path("/no/kustomize"), upstream_dir, silent))


@pytest.mark.upstream
@pytest.mark.parametrize(("version", "least"), [("1.6.1", 590), ("1.9.1", 560)])
def test_the_rules_hold_on_a_whole_release(
    upstream_dir: Path, kustomize: Path, tmp_path: Path, version: str, least: int
) -> None:
    operator = load_release("1.9.1").components["training-operator"]
    archive = upstream_dir / f"manifests-{version}.tar.gz"
    checkout = locate(operator, str(archive), tmp_path, silent).parents[4]
    objects = render(checkout / "example", kustomize, tmp_path, silent)
    assert len(objects) >= least
    assert_rules_hold(objects)
