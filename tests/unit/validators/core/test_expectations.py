"""What the catalog expects, flattened; and the rules that are asked for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kubeflow_volcano.catalog.read import load_release, releases
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.validators.core.expectations import GANG_KINDS, expect, newest_for, releases_of
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.core.volcano_home import with_volcano_at
from kubeflow_volcano.validators.reading.permissions import as_yaml
from kubeflow_volcano.validators.run.existing import without_absent
from kubeflow_volcano.validators.subjects.gang.operators import TRAINER, TRAINING
from tests.samples.facts import ref


def test_the_training_profile_expects_storage_volcano_and_the_operator() -> None:
    found = expect("1.9.1")
    assert found.workloads[ref("Deployment", "volcano-system/volcano-scheduler")] == "volcano"
    assert found.workloads[ref("Deployment", "kubeflow/training-operator")] == "training-operator"
    assert found.workloads[ref("Deployment", "local-path-storage/local-path-provisioner")] == "local-path"
    assert found.crds["queues.scheduling.volcano.sh"] == "volcano"
    assert {"kube-system", "kubeflow", "volcano-system"} <= found.namespaces
    assert found.kubernetes.covers("v1.30.2")


def test_a_list_of_components_expects_no_more_than_them() -> None:
    assert set(expect("1.9.1", ("local-path",)).workloads.values()) == {"local-path"}


@pytest.mark.parametrize("release", releases())
def test_a_whole_release_expects_all_of_its_example(release: str) -> None:
    found = expect(release, "full")
    known = load_release(release)
    assert found.components == {*known.profiles["full"]}
    assert set(found.workloads) >= {
        ref for name in known.profiles["full"] if name in known.components for ref in known.components[name].workloads
    }
    assert len(found.claims) >= 3
    assert found.namespaces >= {"auth", "cert-manager", "istio-system", "knative-serving", "kubeflow", "volcano-system"}


def test_what_is_excluded_or_not_needed_is_not_expected() -> None:
    found = expect("1.9.1", "full", excluded=("katib",))
    assert "katib" not in found.components
    assert ref("Deployment", "kubeflow/katib-mysql") not in found.workloads
    assert {item.name for item in found.claims} == {"minio-pvc", "mysql-pv-claim"}
    own = expect("1.9.1", ("pipelines", "training-operator"), storage_mode="existing", gang_scheduler="none")
    assert not own.components & {"local-path", "volcano"}
    assert "local-path" not in expect("1.9.1", "training", storage_mode="existing").components
    assert "local-path" not in expect("1.9.1", ("local-path", "training-operator"), storage_mode="existing").components


def test_of_what_others_keep_no_image_and_no_more_than_gangs_need_is_expected() -> None:
    found = expect("1.9.1", "full", existing=("volcano", "istio"), extra_plugins=("vendor",))
    assert found.existing == {"volcano", "istio", "istio-crds", "istio-namespace"}
    assert found.existing <= found.components
    assert {name for name, component in found.crds.items() if component == "volcano"} == {*GANG_KINDS}
    assert "virtualservices.networking.istio.io" in found.crds
    theirs = {ref for ref, component in found.workloads.items() if component in found.existing}
    assert ref("Deployment", "volcano-system/volcano-scheduler") in theirs
    assert not theirs & {place[0] for place in found.images}
    assert found.images
    assert found.extra_plugins == ("vendor",)


def test_what_others_have_elsewhere_is_not_expected_but_the_scheduler_is() -> None:
    found = expect("1.9.1", ("dex", "training-operator"), existing=("volcano", "istio", "cert-manager"))
    there = ref("Deployment", "istio-system/istiod")

    def listing(api_version: str, kind: str, *, namespace: str, fields: str, **_: Any) -> Any:
        known = (api_version, kind, namespace, fields) == (*there[:3], f"metadata.name={there.name}")
        return SimpleNamespace(items=({},) if known else ())

    cluster: Any = SimpleNamespace(list=listing)
    left = without_absent(found, cluster)
    assert {item for item, component in left.workloads.items() if component in left.existing} <= {there, left.scheduler}
    assert left.scheduler in left.workloads
    assert not set(left.webhooks.values()) & left.existing
    assert left.crds == found.crds
    nothing: Any = None
    assert without_absent(expect("1.9.1"), nothing) == expect("1.9.1")


def test_what_the_catalog_does_not_know_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"0\.0\.0"):
        expect("0.0.0")
    with pytest.raises(InvalidInput, match="1999"):
        expect("1.9.1", volcano_version="1999")


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("docker.io/kubeflow/training-operator:v1-04f9f13", ("1.9.1",)),
        ("mirror.example:5000/x/training-operator:v1-04f9f13@sha256:" + 64 * "0", ("1.9.1",)),
        ("ghcr.io/kubeflow/trainer/trainer-controller-manager:v2.1.0", ("1.11.0", "26.03")),
        ("kubeflow/training-operator:latest", ()),
        ("", ()),
    ],
)
def test_the_release_is_known_by_the_operators_image(image: str, expected: tuple[str, ...]) -> None:
    assert releases_of([image]) == expected


@pytest.mark.parametrize("server", ["v1.22.17", "v1.30.2", "v1.35.4"])
def test_where_no_operator_tells_it_is_the_newest_release_for_the_server(server: str) -> None:
    found = newest_for(server)
    newer = releases()[releases().index(found) + 1 :]
    assert load_release(found).kubernetes.covers(server)
    assert not any(load_release(name).kubernetes.covers(server) for name in newer)


def test_where_no_release_is_for_the_server_it_is_the_newest() -> None:
    assert newest_for("v1.19.0") == newest_for("") == releases()[-1]


def test_rules_are_told_as_they_stand_in_a_role() -> None:
    assert as_yaml([Rule("list", "", "pods")]) == "- {apiGroups: [''], resources: ['pods'], verbs: ['list']}"
    rules = {str(rule) for rule in TRAINING.rules(["tfjobs"], "1.6.0")}
    assert {"create podgroups.scheduling.volcano.sh", "update tfjobs/finalizers.kubeflow.org"} <= rules
    assert len(rules) == 8
    assert "update trainjobs/finalizers.trainer.kubeflow.org" in map(str, TRAINER.rules(["trainjobs"], "2.1.0"))
    assert len(TRAINING.rules(["tfjobs"], "1.5.0")) == 7  # upstream's role has no finalizers at that time


def test_volcano_of_a_chart_is_expected_where_its_scheduler_is() -> None:
    scheduler = ref("Deployment", "batch-system/batch-scheduler")
    found = with_volcano_at(expect("1.9.1", volcano_version="1.10.0"), scheduler)
    assert {ref_.name for ref_, part in found.workloads.items() if part == "volcano"} == {
        "batch-admission",
        "batch-controllers",
        "batch-scheduler",
    }
    assert "volcano-system" not in found.namespaces
    assert "batch-system" in found.namespaces
    assert "batch-admission-service-jobs-mutate" in {item.name for item in found.webhooks}
    assert found.images[scheduler, "batch-scheduler"].endswith("vc-scheduler:v1.10.0")
    assert ref("Deployment", "kubeflow/training-operator") in found.workloads


def test_volcano_that_is_where_its_manifests_put_it_is_expected_there() -> None:
    known = expect("1.9.1")
    assert with_volcano_at(known, known.scheduler) is known
