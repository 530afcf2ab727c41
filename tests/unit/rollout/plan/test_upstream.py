"""The plan of every release, made from real archives where they lie beside the checkout."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano.catalog import read
from kubeflow_volcano.cluster.applied_objects import parse_document
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.plan import console
from kubeflow_volcano.rollout.plan.build import Plan, plan
from kubeflow_volcano.rollout.plan.files import MARKDOWN, texts_of
from kubeflow_volcano.rollout.plan.judging import judge_apis
from kubeflow_volcano.rollout.settings.settings import parse

PUBLISHED = (
    "$2y$12$4K/VkmDd1q1Orb3xAt82zu8gk7Ad6ReFR4LCP9UeYE90NLiN9Df72",
    "cFVCbkJPWTgwU25YZ2ppYlRZTTlaV056WTJ4cmVOR1Fvaw==",  # Dex's client secret in base64
    "N2QxNmZlZTkyZjhkMTFiODk0MGIwODFiM2Y4YjhhY2I=",  # the cookie secret likewise
)
OWNER = "first.owner@example.org"

VOLCANO = "1.12.2"
NAMES = {"26.03": "community-distribution-26.03"}


@dataclass(frozen=True)
class Upstream:
    """Where the archives are."""

    folder: Path
    kustomize: Path
    scratch: Path

    def archive(self, release: str) -> Path:
        """The archive of that release; skipped where it is not."""
        found = self.folder / f"{NAMES.get(release, f'manifests-{release}')}.tar.gz"
        if not found.is_file():
            pytest.skip(f"no {found.name} beside the checkout")
        return found

    def unpacked(self, name: str) -> str:
        """A file out of its gzip, under its own name."""
        target = self.scratch / name
        target.write_bytes(gzip.decompress((self.folder / f"{name}.gz").read_bytes()))
        return str(target)


@pytest.fixture(scope="module")
def upstream(upstream_dir: Path, kustomize: Path, tmp_path_factory: pytest.TempPathFactory) -> Upstream:
    return Upstream(upstream_dir, kustomize, tmp_path_factory.mktemp("upstream"))


@cache
def planned(upstream: Upstream, release: str, **more: Any) -> Plan:
    """The plan of all of that release. Renders go to the user's own cache, which knows them by content."""
    variables: dict[str, Any] = {
        "kubeflow_release": release,
        "kubeflow_profile": "full",
        "kubeflow_source": str(upstream.archive(release)),
        "kubeflow_user_email": OWNER,
        "kustomize_binary": str(upstream.kustomize),
        "local_path_source": str(upstream.folder / "local-path-storage-0.0.37.yaml"),
        "local_path_version": "0.0.37",
        "volcano_source": upstream.unpacked("volcano-1.12.2.yaml"),
        "volcano_version": VOLCANO,
    }
    if read.load_release(release).remote_sources:
        argo = str(upstream.folder / "argo-workflows-3.7.3.tar.gz")
        variables["kubeflow_sources"] = {"argo-workflows": argo, "jobset": upstream.unpacked("jobset-0.10.1.yaml")}
    return plan(parse({**variables, **more}), silent)


each_release = pytest.mark.parametrize("release", read.releases())


@pytest.mark.upstream
@each_release
def test_every_component_and_every_object_has_its_place_in_the_order(upstream: Upstream, release: str) -> None:
    document = planned(upstream, release).as_dict()
    assert [item["component"] for item in document["steps"]][:2] == ["local-path", "volcano"]
    assert {item["component"] for item in document["steps"]} >= {"cert-manager", "dex", "katib", "user-namespace"}
    assert sum(item["objects"] for item in document["steps"]) == document["objects"] > 590
    assert sum(item["objects"] for item in document["waves"]) == document["objects"]
    assert "Namespace" in document["waves"][0]["kinds"]
    assert any("certificates.cert-manager.io" in text for wave in document["waves"] for text in wave["awaits"])
    assert len(document["steps"]) == len({item["component"] for item in document["steps"]})


@pytest.mark.upstream
def test_the_training_operator_beside_trainer_brings_the_kinds_of_its_jobs(upstream: Upstream) -> None:
    found = planned.__wrapped__(upstream, "26.03", kubeflow_include=["training-operator"])
    kinds = {
        obj["spec"]["names"]["kind"]: name
        for name, objects in found.desired.parts.items()
        for obj in objects
        if obj["kind"] == "CustomResourceDefinition"
    }
    owners = [kinds[kind] for kind in ("TFJob", "PyTorchJob", "MPIJob", "TrainJob")]
    assert owners == ["training-operator"] * 3 + ["trainer"]
    document = found.as_dict()
    assert [item["component"] for item in document["steps"] if item["component"] in {"trainer", "training-operator"}]


@pytest.mark.upstream
@each_release
def test_the_first_user_owns_the_profile_and_nothing_of_sign_in_is_published(upstream: Upstream, release: str) -> None:
    found = planned(upstream, release)
    sign_in = [
        obj
        for name in ("dex", "oauth2-proxy", "oidc-authservice", "user-namespace")
        for obj in found.desired.parts.get(name, ())
    ]
    text = yaml.safe_dump(sign_in)
    assert not [word for word in (*PUBLISHED, "user@example.com") if word in text]
    (profile,) = [obj for obj in sign_in if obj["kind"] == "Profile"]
    (config,) = [obj for obj in sign_in if obj["kind"] == "ConfigMap" and obj["metadata"]["name"] == "dex"]
    (user,) = yaml.safe_load(config["data"]["config.yaml"])["staticPasswords"]
    assert profile["spec"]["owner"]["name"] == user["email"] == OWNER
    assert user["hashFromEnv"] == "DEX_USER_PASSWORD"
    assert "hash" not in user
    started_anew = [
        obj["metadata"]["name"]
        for obj in sign_in
        if obj["kind"] in {"Deployment", "StatefulSet"}
        and "kubeflow-volcano/sign-in" in obj["spec"]["template"]["metadata"]["annotations"]
    ]
    assert len(started_anew) == 2


@pytest.mark.upstream
@each_release
def test_gang_scheduling_is_wired_as_the_releases_operator_wants_it(upstream: Upstream, release: str) -> None:
    gang = planned(upstream, release).as_dict()["gang"]
    if release in {"1.11.0", "26.03"}:
        assert gang["operator_arguments"] == []
        assert gang["trainer_runtimes"] == ["deepspeed-distributed", "mlx-distributed", "torch-distributed"]
    else:
        old = release == "1.6.1"
        wanted = "--enable-gang-scheduling=true" if old else "--gang-scheduler-name=volcano"
        assert gang["operator_arguments"] == [wanted]


@pytest.mark.upstream
@each_release
def test_claims_add_up_to_what_upstream_asks_for(upstream: Upstream, release: str) -> None:
    """releases.md of this project's references: katib 10, mysql 20, the object store 20, and authservice 10 GiB."""
    resources = planned(upstream, release).as_dict()["resources"]
    with_authservice = release in {"1.6.1", "1.7.0", "1.8.1"}
    assert resources["storage_gb"] * 1000**3 == pytest.approx((60 if with_authservice else 50) * 1024**3)
    assert resources["sidecars"]["pods"] > 5
    assert 1 < resources["cpu"] < 10


@pytest.mark.upstream
@pytest.mark.parametrize(
    ("release", "kubernetes", "removed"),
    [("1.6.1", "1.24", 0), ("1.6.1", "1.25", 1), ("1.6.1", "1.26", 4), ("1.7.0", "1.25", 0), ("1.7.0", "1.26", 0)],
)
def test_removed_apis(upstream: Upstream, release: str, kubernetes: str, removed: int) -> None:
    finding = judge_apis(planned(upstream, release).desired.parts, kubernetes)
    assert len(finding.details) == removed
    assert bool(removed) == (finding.verdict == "fail")


@pytest.mark.upstream
def test_an_api_that_the_planned_kubernetes_has_removed_fails_the_plan(upstream: Upstream) -> None:
    found = planned(upstream, "1.6.1", plan_kubernetes="1.26")
    assert [item.id for item in found.findings if item.verdict == "fail" and item.id == "apis"]
    assert found.exit_code == 1


@pytest.mark.upstream
@each_release
def test_the_files_hold_every_image_and_no_secret(upstream: Upstream, release: str) -> None:
    found = planned(upstream, release)
    document = found.as_dict()
    texts = texts_of(found, document)
    names = texts["images.txt"].split()
    assert len(names) > 90
    assert len(names) == len(set(names))
    assert json.loads(texts["plan.json"]) == json.loads(json.dumps(document))
    assert all(name in texts[MARKDOWN] for name in names)
    assert len(parse_document(json.loads(texts["objects.json"]))) == document["objects"]
    skopeo = yaml.safe_load(texts["images-skopeo.yaml"])
    assert sum(len(tags) for host in skopeo.values() for tags in host["images"].values()) == len(names)
    shown = console.render(document, {"plan.md": "somewhere"})
    assert f"Kubeflow {release}" in shown
    assert max(map(len, shown.splitlines())) <= 240
    assert not any(word in text for text in (*texts.values(), shown) for word in PUBLISHED)
