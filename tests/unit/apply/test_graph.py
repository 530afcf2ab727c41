"""What an object needs before it is sent: rules on small sets, and the same rules held on real upstream manifests."""

from __future__ import annotations

import gzip
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano import foreign
from kubeflow_volcano.apply.graph import Graph, graph
from kubeflow_volcano.cluster.api.discovery import Resource
from kubeflow_volcano.cluster.objects import Object, Ref
from tests.unit.releases import WholeRelease, by_ref

CRD = "CustomResourceDefinition"


def obj(kind: str, name: str = "x", namespace: str = "", api_version: str = "v1", **more: Any) -> Object:
    meta = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **more}


def crd(kind: str, group: str) -> Object:
    spec = {"group": group, "names": {"kind": kind, "plural": f"{kind.lower()}s"}}
    return obj(CRD, f"{kind.lower()}s.{group}", api_version="apiextensions.k8s.io/v1", spec=spec)


def deployment(name: str, namespace: str, account: str = "default") -> Object:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"serviceAccountName": account}}
    return obj("Deployment", name, namespace, "apps/v1", spec={"template": template})


def service(name: str, namespace: str, app: str) -> Object:
    return obj("Service", name, namespace, spec={"selector": {"app": app}})


def webhook(resource: str, group: str = "", **more: Any) -> Object:
    rule = {"operations": ["CREATE"], "apiGroups": [group], "apiVersions": ["*"], "resources": [resource]}
    entry = {"name": "w", "clientConfig": {"service": {"namespace": "sys", "name": "svc"}}, "rules": [rule], **more}
    api_version = "admissionregistration.k8s.io/v1"
    return obj("ValidatingWebhookConfiguration", "hook", api_version=api_version, webhooks=[entry])


def one(objects: Sequence[Object]) -> Graph:
    return graph({"": objects}, kinds={"g.io/v1": {"Foo": Resource("g.io/v1", "Foo", "foos", namespaced=True)}})


def before(order: Graph, obj: Object) -> set[Ref]:
    """Everything that must have been sent or be ready before `obj` is sent, however far back."""
    found: set[Ref] = set()
    queue = [Ref.of(obj)]
    while queue:
        new = set(order.needs[queue.pop()]) - found
        found |= new
        queue += new
    return found


def ready_before(order: Graph, obj: Object) -> set[Ref]:
    return order.needs[Ref.of(obj)].ready


def test_nothing_makes_no_graph() -> None:
    assert one([]).needs == {}


def test_namespace_comes_before_its_content() -> None:
    inside, outside, namespace = obj("ConfigMap", "a", "n"), obj("ConfigMap", "b", "other"), obj("Namespace", "n")
    order = one([inside, outside, namespace])
    assert before(order, inside) == {Ref.of(namespace)}
    assert before(order, outside) == set()


def test_a_crd_is_ready_before_its_objects_and_before_workloads() -> None:
    made, custom, worker = crd("Foo", "g.io"), obj("Foo", "f", api_version="g.io/v1"), deployment("d", "n", "strange")
    other = obj("Foo", "f", api_version="other.io/v1")
    order = one([custom, worker, made, other])
    assert ready_before(order, custom) == ready_before(order, worker) == {Ref.of(made)}
    assert before(order, other) == set()


def test_workloads_wait_for_the_crds_of_their_own_part_and_of_what_it_requires() -> None:
    first, second, third = crd("A", "a.io"), crd("B", "b.io"), crd("C", "c.io")
    worker = deployment("d", "n", "strange")
    parts = {"far": [third], "base": [first], "middle": [second], "top": [worker], "other": [crd("D", "d.io")]}
    order = graph(parts, {"top": ["middle"], "middle": ["base"]})
    assert ready_before(order, worker) == {Ref.of(first), Ref.of(second)}


def bound(namespace: str, rules: list[Object], **more: Any) -> list[Object]:
    """A ClusterRole with these rules, bound to the default account of a namespace."""
    role = obj("ClusterRole", f"of-{namespace}", rules=rules, **more)
    subjects = [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}]
    ref = {"kind": "ClusterRole", "name": f"of-{namespace}"}
    return [role, obj("ClusterRoleBinding", f"of-{namespace}", roleRef=ref, subjects=subjects)]


@pytest.mark.parametrize(
    ("rule", "waits"),
    [
        ({"apiGroups": ["a.io"], "resources": ["as"]}, {"as.a.io"}),
        ({"apiGroups": ["a.io"], "resources": ["as/status"]}, {"as.a.io"}),
        ({"apiGroups": ["far.io"], "resources": ["*"]}, {"fars.far.io"}),
        ({"apiGroups": ["a.io"], "resources": ["others"]}, set()),
        ({"apiGroups": ["*"], "resources": ["*"]}, {"as.a.io", "bs.b.io"}),
    ],
)
def test_workloads_wait_for_the_crds_that_they_may_use(rule: Object, waits: set[str]) -> None:
    worker = deployment("d", "n")
    parts = {"one": [crd("A", "a.io"), crd("B", "b.io"), worker, *bound("n", [rule])], "two": [crd("Far", "far.io")]}
    assert {need.name for need in ready_before(graph(parts), worker)} == waits


def test_aggregated_rights_count() -> None:
    worker, part = deployment("d", "n"), obj("ClusterRole", "part", rules=[{"apiGroups": ["a.io"], "resources": ["*"]}])
    part["metadata"]["labels"] = {"into": "it"}
    rights = bound("n", [], aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"into": "it"}}]})
    made = crd("A", "a.io")
    assert ready_before(one([worker, made, crd("B", "b.io"), part, *rights]), worker) == {Ref.of(made)}


def test_cluster_roles_that_gather_others_are_told() -> None:
    gathers = obj("ClusterRole", "gathers", aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"into": "it"}}]})
    gathered = obj("ClusterRole", "gathered", rules=[])
    assert one([gathers, gathered]).gathering == {Ref.of(gathers)}


def test_unknown_rights_are_taken_for_all_and_no_rights_for_none() -> None:
    worker, made = deployment("d", "n"), crd("A", "a.io")
    binding = bound("n", [])[1]
    assert ready_before(one([worker, made, binding]), worker) == {Ref.of(made)}
    assert ready_before(one([worker, made]), worker) == set()


def test_an_object_waits_for_its_crd_whichever_part_brings_it() -> None:
    custom = obj("Foo", "f", api_version="g.io/v1")
    made = crd("Foo", "g.io")
    assert ready_before(graph({"a": [custom], "b": [made]}), custom) == {Ref.of(made)}


def test_what_waits_for_nothing_is_sent_while_crds_come_up() -> None:
    namespace, account, custom = obj("Namespace", "n"), obj("ServiceAccount", "s", "n"), obj("Foo", "f", "n", "g.io/v1")
    order = one([namespace, account, crd("Foo", "g.io"), custom])
    assert before(order, account) == {Ref.of(namespace)}
    assert ready_before(order, account) == set()


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret", "ServiceAccount", "PersistentVolumeClaim"])
def test_what_a_pod_reads_comes_before_it(kind: str) -> None:
    read, elsewhere, worker = obj(kind, "r", "n"), obj(kind, "r", "other"), deployment("d", "n")
    assert before(one([worker, read, elsewhere]), worker) == {Ref.of(read)}


@pytest.mark.parametrize(("kind", "namespace"), [("ClusterRoleBinding", ""), ("RoleBinding", "far")])
def test_what_a_pod_may_do_comes_before_it(kind: str, namespace: str) -> None:
    role = obj("ClusterRole", "r")
    subjects = [{"kind": "ServiceAccount", "name": "s", "namespace": "n"}]
    binding = obj(kind, "b", namespace, roleRef={"kind": "ClusterRole", "name": "r"}, subjects=subjects)
    worker, stranger = deployment("d", "n"), deployment("d", "m")
    order = one([worker, stranger, binding, role])
    assert before(order, worker) == {Ref.of(binding), Ref.of(role)}
    assert before(order, stranger) == set()


def test_a_queue_comes_before_its_children() -> None:
    team, org = (
        obj("Queue", name, api_version="scheduling.volcano.sh/v1beta1", spec={"parent": parent})
        for name, parent in (("team", "org"), ("org", "root"))
    )
    assert before(one([team, org]), team) == {Ref.of(org)}


def test_a_role_comes_before_its_bindings() -> None:
    role, other = obj("Role", "r", "n"), obj("Role", "r", "m")
    binding = obj("RoleBinding", "b", "n", roleRef={"kind": "Role", "name": "r"})
    assert before(one([binding, role, other]), binding) == {Ref.of(role)}


def test_a_webhook_comes_after_its_backend_and_before_what_it_sees() -> None:
    backend, hook, seen = deployment("back", "sys"), webhook("foos", "g.io"), obj("Foo", "f", "n", "g.io/v1")
    order = one([seen, hook, service("svc", "sys", "back"), backend])
    assert Ref.of(backend) in order.needs[Ref.of(hook)].applied
    assert ready_before(order, hook) == set()
    assert ready_before(order, seen) == {Ref.of(hook), Ref.of(backend)}
    assert order.behind == {Ref.of(hook): {Ref.of(backend)}}


def test_the_resource_names_of_webhooks_come_from_crds_and_not_from_english() -> None:
    gateway = obj("Gateway", "g", "n", "net.io/v1")
    names = {"kind": "Gateway", "plural": "gateways"}
    crd = obj("CustomResourceDefinition", "gateways.net.io", spec={"group": "net.io", "names": names})
    backend, svc = deployment("back", "sys"), service("svc", "sys", "back")
    order = one([webhook("gateways", "net.io"), svc, backend, crd, gateway])
    assert Ref.of(backend) in ready_before(order, gateway)
    endpoints = obj("Endpoints", "e", "n")
    assert Ref.of(backend) in ready_before(one([webhook("endpoints"), svc, backend, endpoints]), endpoints)
    assert ready_before(one([webhook("gatewaies", "net.io"), svc, backend, gateway]), gateway) == set()


def test_workloads_wait_for_a_webhook_that_sees_their_pods() -> None:
    backend, hook, seen = deployment("back", "sys"), webhook("pods"), deployment("app", "n")
    order = one([seen, hook, service("svc", "sys", "back"), backend])
    assert Ref.of(backend) in ready_before(order, seen)


def test_a_webhook_whose_silence_is_ignored_holds_nothing_up() -> None:
    backend, hook, seen = deployment("back", "sys"), webhook("pods", failurePolicy="Ignore"), deployment("app", "n")
    order = one([seen, hook, service("svc", "sys", "back"), backend])
    assert ready_before(order, seen) == set()
    hook["kind"] = "MutatingWebhookConfiguration"  # without it, the object would lack what it adds
    order = one([seen, hook, service("svc", "sys", "back"), backend])
    assert Ref.of(backend) in ready_before(order, seen)


@pytest.mark.parametrize(("policy", "waits"), [("Ignore", False), ("Fail", True)])
def test_a_webhook_whose_mutations_no_object_needs_delays_what_it_would_reject(policy: str, *, waits: bool) -> None:
    backend, hook, seen = deployment("back", "sys"), webhook("pods", failurePolicy=policy), deployment("app", "n")
    hook["kind"] = "MutatingWebhookConfiguration"
    names = {item["name"] for item in hook["webhooks"]}
    order = graph({"": [seen, hook, service("svc", "sys", "back"), backend]}, optional_webhooks=names)
    assert (Ref.of(backend) in ready_before(order, seen)) is waits


def test_a_backend_does_not_wait_for_itself() -> None:
    backend, hook = deployment("back", "sys"), webhook("*")
    config, svc = obj("ConfigMap", "c", "sys"), service("svc", "sys", "back")
    assert before(one([hook, backend, svc, config]), backend) == {Ref.of(config), Ref.of(svc)}


def test_two_webhooks_that_see_each_others_backends_make_no_circle() -> None:
    first, second = webhook("pods"), webhook("pods")
    second["metadata"]["name"] = "second"
    second["webhooks"][0]["clientConfig"]["service"]["name"] = "svc2"
    objects = [first, second, deployment("a", "sys"), deployment("b", "sys")]
    objects += [service("svc", "sys", "a"), service("svc2", "sys", "b")]
    order = one(objects)
    for item in objects:
        assert Ref.of(item) not in before(order, item)


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
    order = one([namespace, seen, hook, service("svc", "sys", "back"), deployment("back", "sys")])
    assert (Ref.of(hook) in ready_before(order, seen)) is sees


def assert_rules_hold(parts: Mapping[str, Sequence[Object]], requires: Mapping[str, Collection[str]]) -> None:
    order = graph(parts, requires)
    objects = [item for part in parts.values() for item in part]
    assert list(order.needs) == [Ref.of(item) for item in objects]
    namespaces = {ref.name: ref for ref in order.needs if ref.kind == "Namespace"}
    crds = {
        (item["spec"]["group"], item["spec"]["names"]["kind"]): Ref.of(item) for item in objects if item["kind"] == CRD
    }
    for part in parts.values():
        for item in part:
            ref, all_before = Ref.of(item), before(order, item)
            assert ref not in all_before
            if ref.namespace in namespaces:
                assert namespaces[ref.namespace] in all_before
            if (ref.group, ref.kind) in crds:
                assert crds[ref.group, ref.kind] in ready_before(order, item)


@pytest.mark.upstream
@pytest.mark.parametrize("name", ["volcano-1.12.2.yaml.gz", "volcano-1.15.1.yaml.gz", "jobset-0.10.1.yaml.gz"])
def test_the_rules_hold_on_packed_upstream_manifests(upstream_dir: Path, name: str) -> None:
    objects = foreign.parse(gzip.decompress((upstream_dir / name).read_bytes()), name)
    assert len(objects) > 10
    assert_rules_hold({"": objects}, {})
    order = one(objects)
    if name.startswith("volcano"):
        scheduler = Ref("apps/v1", "Deployment", "volcano-system", "volcano-scheduler")
        assert "podgroups.scheduling.volcano.sh" in {need.name for need in order.needs[scheduler].ready}


@pytest.mark.upstream
@pytest.mark.parametrize("version", ["1.6.1", "1.9.1"])
def test_the_rules_hold_on_a_whole_release(whole_release: WholeRelease, version: str) -> None:
    example = whole_release(version).example
    assert len(by_ref(example.parts)) >= 560
    requires = {name: example.given.release.components[name].requires for name in example.parts}
    assert_rules_hold(_once(example.parts), requires)


def _once(parts: Mapping[str, Sequence[Object]]) -> Mapping[str, Sequence[Object]]:
    """Each object in the first part that brings it."""
    seen: set[Ref] = set()
    done: dict[str, list[Object]] = {name: [] for name in parts}
    for name, objects in parts.items():
        for item in objects:
            if Ref.of(item) not in seen:
                seen.add(Ref.of(item))
                done[name].append(item)
    return done
