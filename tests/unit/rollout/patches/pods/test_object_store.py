"""An object store outside of the cluster, in the manifests of each release that is at hand, and what is refused."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

from kubeflow_volcano.catalog import read
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.patches.environment import for_environment
from kubeflow_volcano.rollout.plan.account import judge_published_secrets
from kubeflow_volcano.rollout.plan.findings import Verdict
from kubeflow_volcano.rollout.plan.stores import judge_stores
from kubeflow_volcano.rollout.requirements.stores import unmet_stores
from kubeflow_volcano.rollout.settings.pods.stores import PIPELINES
from kubeflow_volcano.rollout.settings.settings import parse
from tests.pages.blocks import blocks
from tests.places import ROOT
from tests.samples.stored import Stored
from tests.unit.releases import Upstream, WholeRelease
from tests.unit.rollout.patches.pods.test_database import environment, found

GIVEN: dict[str, Any] = {
    "endpoint": "https://s3.example.org:9443",
    "bucket": "kubeflow",
    "region": "eu",
    "access_key": "AKEY",
    "secret_key": "s3cret-key",
}


@pytest.fixture(scope="module", params=read.releases())
def upstream(request: pytest.FixtureRequest, whole_release: WholeRelease) -> Upstream:
    """Of each release in turn."""
    return whole_release(request.param).only((PIPELINES,))


def changed(upstream: Upstream, **more: Any) -> tuple[Object, ...]:
    return upstream.changed(kubeflow_object_store={**GIVEN, **more})[PIPELINES]


def has_minio(upstream: Upstream) -> bool:
    return any(Ref.of(obj).name == "minio-pvc" for obj in upstream.parts[PIPELINES])


def s3_of_argo(objects: tuple[Object, ...]) -> Any:
    data = found(objects, "ConfigMap", "workflow-controller-configmap")["data"]
    return yaml.safe_load(data["artifactRepository"])["s3"]


def test_programs_use_the_store_of_the_inventory(upstream: Upstream) -> None:
    objects = changed(upstream)
    api, ui, argo = environment(objects, "ml-pipeline"), environment(objects, "ml-pipeline-ui"), s3_of_argo(objects)
    keys = api["OBJECTSTORECONFIG_ACCESSKEY"], api["OBJECTSTORECONFIG_SECRETACCESSKEY"]
    assert (*keys, api["OBJECTSTORECONFIG_BUCKETNAME"]) == ("AKEY", "s3cret-key", "kubeflow")
    assert (argo["bucket"], ui["ARGO_ARCHIVE_BUCKETNAME"]) == ("kubeflow", "kubeflow")
    assert argo["keyFormat"] == s3_of_argo(upstream.parts[PIPELINES])["keyFormat"]
    if has_minio(upstream):
        (container,) = found(objects, "Deployment", "minio")["spec"]["template"]["spec"]["containers"]
        assert container["args"] == ["gateway", "s3", GIVEN["endpoint"]]
        assert container["volumeMounts"] == []
        gateway = environment(objects, "minio")
        assert (gateway["AWS_ACCESS_KEY_ID"], gateway["AWS_SECRET_ACCESS_KEY"]) == (
            gateway["MINIO_ACCESS_KEY"],
            gateway["MINIO_SECRET_KEY"],
        )
        assert environment(objects, "kubeflow-pipelines-profile-controller")["KFP_DEFAULT_PIPELINE_ROOT"] == (
            "minio://kubeflow/v2/artifacts"
        )
        assert (argo["endpoint"], argo["insecure"]) == ("minio-service.kubeflow:9000", True)
    else:
        assert [api[f"OBJECTSTORECONFIG_{key}"] for key in ("HOST", "PORT", "REGION", "SECURE")] == [
            "s3.example.org",
            "9443",
            "eu",
            "true",
        ]
        page = [ui[f"MINIO_{key}"] for key in ("HOST", "PORT", "NAMESPACE", "SSL")]
        assert page == ["s3.example.org", "9443", "", "true"]
        assert (argo["endpoint"], argo["insecure"], argo["region"]) == ("s3.example.org:9443", False, "eu")


def test_the_store_in_the_cluster_is_gone_and_nothing_else(upstream: Upstream) -> None:
    before = {Ref.of(obj) for obj in upstream.parts[PIPELINES]}
    fresh, moved = ({Ref.of(obj) for obj in changed(upstream, moved=given)} for given in (False, True))
    claim = "minio-pvc" if has_minio(upstream) else "seaweedfs-pvc"
    assert fresh < before
    assert {ref.name for ref in moved - fresh} == {claim}
    names = {ref.name for ref in before - fresh}
    assert names == {claim} or names - {"minio-service"} == {
        claim,
        "seaweedfs",
        "seaweedfs-service",
        "ml-pipeline-seaweedfs",
    }
    assert "seaweedfs" not in json.dumps([obj["spec"] for obj in changed(upstream) if obj["kind"] == "NetworkPolicy"])
    assert upstream.changed() == upstream.parts


def test_another_key_restarts_what_reads_it_and_is_in_its_secret_only(upstream: Upstream) -> None:
    first, second = changed(upstream), changed(upstream, secret_key=GIVEN["secret_key"] * 2)
    names = {
        obj["metadata"]["name"]
        for obj, after in zip(first, second, strict=True)
        if obj != after and obj["kind"] == "Deployment"
    }
    readers = {"kubeflow-pipelines-profile-controller", "ml-pipeline", "ml-pipeline-ui"}
    assert names == readers | ({"minio"} if has_minio(upstream) else set())
    assert GIVEN["secret_key"] not in json.dumps([obj for obj in first if obj["kind"] != "Secret"])
    settings = upstream.settings(kubeflow_object_store=GIVEN)
    assert judge_published_secrets([found(first, "Secret", "mlpipeline-minio-artifact")], settings).verdict is (
        Verdict.PASS
    )


def test_namespaces_get_store_and_key_by_upstream_s_own_program(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = changed(upstream)
    (code,) = [obj["data"] for obj in objects if "sync.py" in (obj.get("data") or {})]
    if has_minio(upstream) or "def main" not in code["sync.py"]:
        pytest.skip("the former program as it is, or an archive without it")
    for name in ("sync.py", "profile_store.py"):
        tmp_path.joinpath(name).write_text(code[name], encoding="utf-8")
    values = environment(objects, "kubeflow-pipelines-profile-controller") | {"CONTROLLER_PORT": "0"}
    for name, text in values.items():
        monkeypatch.setenv(name, text or "")
    # The library of the image, without clients: who asks SeaweedFS for a user, or for a lifecycle, fails.
    botocore, session = ModuleType("botocore"), ModuleType("botocore.session")
    clients = SimpleNamespace(create_client=lambda *_, **__: None)
    vars(botocore)["session"] = session
    vars(session)["get_session"] = lambda: clients
    monkeypatch.setitem(sys.modules, "botocore", botocore)
    monkeypatch.setitem(sys.modules, "botocore.session", session)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "sync", raising=False)
    program = importlib.import_module("profile_store")
    monkeypatch.delitem(sys.modules, "profile_store")
    servers: list[Any] = []

    def hold(self: Any) -> None:
        servers.append(self)

    monkeypatch.setattr(program.sync.HTTPServer, "serve_forever", hold)
    program.main()
    (server,) = servers
    server.server_close()
    parent = {"metadata": {"name": "team", "labels": {"pipelines.kubeflow.org/enabled": "true"}}}
    attached: dict[str, Any] = {key: {} for key in ("Secret.v1", "ConfigMap.v1", "Deployment.apps/v1", "Service.v1")}
    made = server.RequestHandlerClass.sync(None, parent, attached)["attachments"]
    secret = found(made, "Secret", "mlpipeline-minio-artifact")
    assert secret == program.secret_for("team")
    launcher = found(made, "ConfigMap", "kfp-launcher")["data"]
    assert launcher["defaultPipelineRoot"].startswith("minio://kubeflow/private-artifacts/team/")
    provider = json.loads(launcher["providers"])["minio"]["default"]
    assert (provider["endpoint"], provider["region"], provider["disableSSL"]) == ("s3.example.org:9443", "eu", False)
    assert provider["credentials"]["secretRef"]["secretName"] == secret["metadata"]["name"]
    s3 = json.loads(found(made, "ConfigMap", "artifact-repositories")["data"]["default-namespaced"])["s3"]
    assert (s3["endpoint"], s3["bucket"], s3["insecure"]) == ("s3.example.org:9443", "kubeflow", False)
    assert s3["accessKeySecret"] == {"name": secret["metadata"]["name"], "key": "accesskey"}
    assert server.RequestHandlerClass.sync(None, {"metadata": {"name": "x"}}, attached)["attachments"] == []


def test_the_controller_may_change_what_namespaces_have(upstream: Upstream) -> None:
    (controller,) = [obj for obj in changed(upstream) if obj["kind"] in {"CompositeController", "DecoratorController"}]
    items = controller["spec"].get("attachments") or controller["spec"]["childResources"]
    assert {item["updateStrategy"]["method"] for item in items} == {"InPlace"}


def test_what_cannot_be_is_refused_all_at_once_without_the_key() -> None:
    wrong = {"endpoint": "s3.example.org", "bucket": "UPPER", "secret_key": "s3cret-key"}
    with pytest.raises(InvalidInput) as caught:
        parse({"kubeflow_profile": "full", "kubeflow_object_store": wrong})
    text = str(caught.value)
    assert all(words in text for words in (".endpoint", ".bucket", "'access_key' is a required"))
    assert "s3cret-key" not in text
    with pytest.raises(InvalidInput, match="pipelines is not"):
        parse({"kubeflow_object_store": GIVEN, "kubeflow_profile": "training"})
    given = parse({"kubeflow_profile": "full", "kubeflow_object_store": GIVEN})
    with pytest.raises(InvalidInput, match="have no Secret"):
        for_environment(PIPELINES, [{"kind": "Service", "metadata": {"name": "other"}}], given)


@pytest.mark.parametrize("claim", ["minio-pvc", "seaweedfs-pvc"])
def test_artifacts_in_the_cluster_are_not_lost_sight_of(claim: str) -> None:
    live = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": claim, "namespace": "kubeflow"}}
    cluster: Any = Stored(live)
    for moved in (False, True):
        settings = parse({"kubeflow_profile": "full", "kubeflow_object_store": {**GIVEN, "moved": moved}})
        problems = [*unmet_stores(cluster, settings.database, settings.object_store, {PIPELINES})]
        assert len(problems) == (not moved)


def test_the_inventory_of_the_page_is_accepted_and_the_plan_says_whose_artifacts_are_read() -> None:
    _, text, *_ = (item.text for item in blocks(Path(ROOT, "docs/stores.md")) if item.language == "yaml")
    for release, verdict in (("1.10.2", Verdict.PASS), ("26.03.1", Verdict.WARN)):
        (finding,) = judge_stores(parse({"kubeflow_release": release, **yaml.safe_load(text)}))
        assert (finding.id, finding.verdict) == ("object-store", verdict)
        assert "https://s3.example.org/mlpipeline" in finding.found
