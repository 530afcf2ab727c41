"""A MySQL server outside of the cluster, in the manifests of each release that is at hand, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano.catalog import read
from kubeflow_volcano.cluster.objects import Object, Ref, named
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.account.sign_in import decoded
from kubeflow_volcano.rollout.patches.environment import for_environment
from kubeflow_volcano.rollout.plan.account import judge_published_secrets
from kubeflow_volcano.rollout.plan.findings import Verdict
from kubeflow_volcano.rollout.plan.stores import judge_stores
from kubeflow_volcano.rollout.requirements.stores import unmet_stores
from kubeflow_volcano.rollout.settings.pods.stores import KATIB, PIPELINES, ObjectStoreSettings
from kubeflow_volcano.rollout.settings.settings import parse
from tests.pages.blocks import blocks
from tests.places import ROOT
from tests.samples.stored import Stored
from tests.unit.releases import Upstream, WholeRelease

GIVEN: dict[str, Any] = {"host": "db.example.org", "user": "kf", "password": "s3cret/@:", "names": {"katib": "hp"}}
CLAIMS = {"mysql-pv-claim", "katib-mysql"}


@pytest.fixture(scope="module", params=read.releases())
def upstream(request: pytest.FixtureRequest, whole_release: WholeRelease) -> Upstream:
    """Of each release in turn."""
    return whole_release(request.param).only((PIPELINES, KATIB))


def found(objects: Iterable[Object], kind: str, name: str) -> Object:
    obj = named(objects, kind, name)
    assert obj is not None
    return obj


def environment(objects: Iterable[Object], deployment: str) -> dict[str, str]:
    """What the first container of a Deployment reads, with references followed."""
    given = list(objects)
    (container,) = found(given, "Deployment", deployment)["spec"]["template"]["spec"]["containers"]
    values = {}
    for item in container["env"]:
        source = item.get("valueFrom") or {}
        if "configMapKeyRef" in source:
            reference = source["configMapKeyRef"]
            values[item["name"]] = found(given, "ConfigMap", reference["name"])["data"].get(reference["key"])
        elif "secretKeyRef" in source:
            reference = source["secretKeyRef"]
            values[item["name"]] = decoded(found(given, "Secret", reference["name"]))[reference["key"]]
        else:
            values[item["name"]] = item.get("value")
    return values


def test_the_programs_of_every_release_read_the_server(upstream: Upstream) -> None:
    changed = upstream.changed(kubeflow_database=GIVEN)
    pipelines = changed[PIPELINES]
    server, login = ("db.example.org", "3306"), ("kf", "s3cret/@:")
    api = environment(pipelines, "ml-pipeline")
    for prefix in {"DBCONFIG_", *(("DBCONFIG_MYSQLCONFIG_",) if "DBCONFIG_MYSQLCONFIG_HOST" in api else ())}:
        read_by_api = {key: api[f"{prefix}{key}"] for key in ("HOST", "PORT", "USER", "PASSWORD", "DBNAME")}
        assert [*read_by_api.values()] == [*server, *login, "mlpipeline"]
    cache = environment(pipelines, "cache-server")
    assert (cache["DBCONFIG_HOST_NAME"], cache["DBCONFIG_PORT"]) == server
    assert (cache["DBCONFIG_USER"], cache["DBCONFIG_PASSWORD"], cache["DBCONFIG_DB_NAME"]) == (*login, "cachedb")
    metadata = environment(pipelines, "metadata-grpc-deployment")
    assert (metadata["MYSQL_HOST"], metadata["MYSQL_PORT"], metadata["MYSQL_DATABASE"]) == (*server, "metadb")
    assert (metadata["DBCONFIG_USER"], metadata["DBCONFIG_PASSWORD"]) == login
    katib = environment(changed[KATIB], "katib-db-manager")
    assert (katib["KATIB_MYSQL_DB_HOST"], katib["KATIB_MYSQL_DB_PORT"], katib["DB_NAME"]) == (*server, "mysql")
    assert (katib["DB_USER"], katib["DB_PASSWORD"], katib["KATIB_MYSQL_DB_DATABASE"]) == (*login, "hp")


def test_the_servers_in_the_cluster_are_gone_and_nothing_else(upstream: Upstream) -> None:
    before = {Ref.of(obj) for objects in upstream.parts.values() for obj in objects}
    fresh, moved = (
        {Ref.of(obj) for objects in upstream.changed(kubeflow_database=given).values() for obj in objects}
        for given in (GIVEN, {**GIVEN, "moved": True})
    )
    gone = {(ref.kind, ref.name) for ref in before - fresh}
    assert fresh < before
    assert {name for kind, name in gone if kind == "PersistentVolumeClaim"} == CLAIMS
    assert {name for _, name in gone} == {*CLAIMS, "mysql", "ml-pipeline-mysql"}
    assert {ref.name for ref in moved - fresh} == CLAIMS
    assert upstream.changed() == upstream.parts
    assert not CLAIMS & {
        claim.name for part in upstream.settings(kubeflow_database=GIVEN).components for claim in part.claims
    }


def test_another_password_restarts_what_reads_it_and_is_in_its_secret_only(upstream: Upstream) -> None:
    first = upstream.changed(kubeflow_database=GIVEN)
    second = upstream.changed(kubeflow_database={**GIVEN, "password": "another"})
    names = {
        obj["metadata"]["name"]
        for component in first
        for obj, after in zip(first[component], second[component], strict=True)
        if obj != after and obj["kind"] == "Deployment"
    }
    assert names == {"cache-server", "metadata-grpc-deployment", "ml-pipeline", "katib-db-manager"}
    rest = [obj for objects in first.values() for obj in objects if obj["kind"] != "Secret"]
    assert GIVEN["password"] not in json.dumps(rest)
    settings = upstream.settings(kubeflow_database=GIVEN)
    secrets = [obj for objects in first.values() for obj in objects if "mysql" in obj["metadata"]["name"]]
    assert judge_published_secrets(secrets, settings).verdict is Verdict.PASS


def test_manifests_without_what_is_changed_are_refused() -> None:
    given = parse({"kubeflow_profile": "full", "kubeflow_database": GIVEN})
    for component in (PIPELINES, KATIB):
        with pytest.raises(InvalidInput, match="have no Secret"):
            for_environment(component, [{"kind": "Service", "metadata": {"name": "other"}}], given)


@pytest.mark.parametrize(
    ("phase", "moved", "refused"),
    [("Bound", False, True), ("Lost", False, True), ("Pending", False, False), ("Bound", True, False)],
)
def test_data_in_the_cluster_is_not_lost_sight_of(phase: str, *, moved: bool, refused: bool) -> None:
    given = parse({"kubeflow_profile": "full", "kubeflow_database": {**GIVEN, "moved": moved}}).database
    live = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "mysql-pv-claim", "namespace": "kubeflow"},
        "status": {"phase": phase},
    }
    cluster: Any = Stored(live)
    assert len([*unmet_stores(cluster, given, ObjectStoreSettings(), {PIPELINES, KATIB})]) == refused
    assert [*unmet_stores(cluster, given, ObjectStoreSettings(), {KATIB})] == []


def test_mistakes_are_refused_all_at_once_without_the_password() -> None:
    wrong = {"hosts": "a", "port": 0, "password": "s3cret", "names": {"katib": "a-b"}}
    with pytest.raises(InvalidInput) as caught:
        parse({"kubeflow_profile": "full", "kubeflow_database": wrong})
    text = str(caught.value)
    for words in ("'hosts' was unexpected", "'host' is a required", "'user' is a required", ".port", ".names.katib"):
        assert words in text
    assert "s3cret" not in text
    with pytest.raises(InvalidInput, match="pipelines nor katib"):
        parse({"kubeflow_database": GIVEN, "kubeflow_profile": "training"})


def test_the_inventory_of_the_page_is_accepted_and_the_plan_says_where_data_goes() -> None:
    text = next(item.text for item in blocks(Path(ROOT, "docs/stores.md")) if item.language == "yaml")
    settings = parse(yaml.safe_load(text))
    (finding,) = judge_stores(settings)
    assert (finding.id, finding.verdict) == ("database", Verdict.PASS)
    assert "mysql.example.org:3306" in finding.found
    of_pipelines, of_katib = finding.details
    for name in ("mlpipeline", "cachedb", "metadb"):
        assert name in of_pipelines
    assert of_katib == "katib: katib"
    assert [*judge_stores(parse({"kubeflow_profile": "full"}))] == []
