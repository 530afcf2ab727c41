"""Random passwords of databases and stores: on a new installation only, in the one Secret that all clients read."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from kubeflow_volcano.catalog import read
from kubeflow_volcano.cluster.objects import Object, Ref, named
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.account.sign_in import decoded
from kubeflow_volcano.rollout.account.stores import (
    KEPT,
    OUTSIDE,
    keep_passwords,
    passwords_of_cluster,
    put_passwords,
    with_passwords,
)
from kubeflow_volcano.rollout.plan.account import judge_published_secrets
from kubeflow_volcano.rollout.plan.stores import judge_stores
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from tests.unit.releases import WholeRelease
from tests.unit.rollout.account.test_stored import Store

PUBLISHED = {
    "mysql-secret": ("password", ""),
    "mlpipeline-minio-artifact": ("secretkey", "minio123"),
    "katib-mysql-secrets": ("MYSQL_ROOT_PASSWORD", "test"),
}
CLAIMS = {"mysql-secret": "mysql-pv-claim", "mlpipeline-minio-artifact": "minio-pvc"}
PARTS = [SimpleNamespace(name="pipelines"), SimpleNamespace(name="katib")]


class Volumes(Store):
    """A cluster that also has volumes."""

    def __init__(self) -> None:
        super().__init__()
        self.volumes: list[Object] = []

    def list(self, *_: str) -> SimpleNamespace:
        return SimpleNamespace(items=self.volumes)


@pytest.fixture
def cluster() -> Any:
    return Volumes()


def secret(name: str) -> Ref:
    return Ref("v1", "Secret", "kubeflow", name)


def chosen(cluster: Any) -> dict[str, str]:
    parts: Any = PARTS
    return dict(passwords_of_cluster(cluster, parts))


def manifests() -> list[Object]:
    """Upstream's Secrets."""
    store = Store()
    for name, (key, text) in PUBLISHED.items():
        store.put(secret(name), **{"username": "root", key: text})  # type: ignore[arg-type]  # no annotations
    return [*store.objects.values()]


def applied(cluster: Any) -> dict[str, str]:
    """A roll-out: what its Secrets have in the end."""
    passwords, objects = chosen(cluster), manifests()
    for part in PARTS:
        put_passwords(objects, part.name, passwords)
    keep_passwords(cluster, passwords, objects)
    cluster.objects |= {Ref.of(obj): obj for obj in objects}
    return {name: decoded(cluster.objects[secret(name)])[key] for name, (key, _) in PUBLISHED.items()}


def test_a_new_installation_gets_random_passwords_and_a_second_run_keeps_them(cluster: Any) -> None:
    first = applied(cluster)
    assert len({*first.values()}) == len(first)
    assert all(len(text) == 24 for text in first.values())
    assert decoded(cluster.objects[KEPT]) == first
    writes = list(cluster.writes)
    assert applied(cluster) == first
    assert cluster.writes == writes


@pytest.mark.parametrize("name", CLAIMS)
@pytest.mark.parametrize("left", ["secret", "claim", "volume"])
def test_a_server_that_was_there_keeps_its_password(cluster: Any, name: str, left: str) -> None:
    key, text = PUBLISHED[name]
    if left == "secret":
        cluster.put(secret(name), **{key: text})
    elif left == "claim":
        cluster.put(Ref("v1", "PersistentVolumeClaim", "kubeflow", CLAIMS[name]))
    else:
        claim = {"namespace": "kubeflow", "name": CLAIMS[name]}
        cluster.volumes.append({"spec": {"claimRef": claim}, "status": {"phase": "Released"}})
    found = applied(cluster)
    assert found[name] == text
    assert name not in decoded(cluster.objects[KEPT])
    assert found["katib-mysql-secrets"] != "test"


def test_a_static_volume_that_no_claim_had_is_new(cluster: Any) -> None:
    claim = {"namespace": "kubeflow", "name": "mysql-pv-claim"}
    cluster.volumes.append({"spec": {"claimRef": claim}, "status": {"phase": "Available"}})
    assert applied(cluster)["mysql-secret"]


def test_a_reinstallation_over_kept_data_goes_on_with_the_copy(cluster: Any) -> None:
    first = applied(cluster)
    cluster.objects = {KEPT: cluster.objects[KEPT]}
    for name in CLAIMS.values():
        cluster.put(Ref("v1", "PersistentVolumeClaim", "kubeflow", name))
    assert applied(cluster) == first


def test_a_change_by_hand_stays(cluster: Any) -> None:
    applied(cluster)
    cluster.put(secret("katib-mysql-secrets"), MYSQL_ROOT_PASSWORD="by-hand")  # noqa: S106  made up
    assert applied(cluster)["katib-mysql-secrets"] == "by-hand"
    assert decoded(cluster.objects[KEPT])["katib-mysql-secrets"] == "by-hand"


def test_a_login_outside_is_none_of_the_server_in_the_cluster(cluster: Any) -> None:
    cluster.put(secret("mysql-secret"), {OUTSIDE: "true"}, password="elsewhere")  # noqa: S106  made up
    cluster.put(Ref("v1", "PersistentVolumeClaim", "kubeflow", "mysql-pv-claim"))
    assert chosen(cluster)["mysql-secret"] == ""


def test_values_of_own_manifests_stay(cluster: Any) -> None:
    store = Store()
    store.put(secret("mysql-secret"), password="own")  # noqa: S106  made up
    objects = [*store.objects.values()]
    before = json.dumps(objects)
    put_passwords(objects, "pipelines", chosen(cluster))
    assert json.dumps(objects) == before
    keep_passwords(cluster, chosen(cluster), objects)
    assert KEPT not in cluster.objects


def test_of_two_first_runs_at_once_the_second_is_refused(cluster: Any) -> None:
    late, objects = chosen(cluster), manifests()
    for part in PARTS:
        put_passwords(objects, part.name, late)
    first = applied(cluster)
    with pytest.raises(InvalidInput):
        keep_passwords(cluster, late, objects)
    assert decoded(cluster.objects[KEPT]) == first


@pytest.mark.parametrize("release", read.releases())
def test_no_release_keeps_a_published_password_and_all_clients_read_the_secret(
    release: str, whole_release: WholeRelease
) -> None:
    upstream = whole_release(release)
    settings = upstream.settings()
    parts = upstream.patched(settings)
    objects = [obj for of in parts.values() for obj in of]
    servers = with_passwords(objects, published=False)
    assert {f"Secret kubeflow/{name}" for name in PUBLISHED} <= {*servers}
    assert with_passwords(objects, published=True) == ()
    finding = judge_published_secrets(objects, settings)
    assert {text.partition(":")[0] for text in finding.details} <= {"Secret kubeflow/model-catalog-hf-api-key"}
    assert [item.details for item in judge_stores(settings, objects)] == [servers]
    rest = json.dumps([obj for obj in objects if obj["kind"] != "Secret"])
    assert "minio123" not in rest
    mysql = named(parts["pipelines"], "Deployment", "mysql")
    assert mysql is not None
    assert [item["name"] for item in mysql["spec"]["template"]["spec"]["containers"][0]["env"]] == [
        "MYSQL_ROOT_PASSWORD"
    ]


def test_nothing_of_an_old_installation_changes(whole_release: WholeRelease) -> None:
    upstream = whole_release("1.9.1").only(["pipelines", "katib"])
    former: Settings = parse({"kubeflow_release": "1.9.1", "kubeflow_profile": "full"})
    given = {name: text for name, (_, text) in PUBLISHED.items()}
    for component, objects in upstream.parts.items():
        before = json.dumps(objects)
        put_passwords(objects, component, given)
        assert json.dumps(objects) == before
    assert former.passwords is None
