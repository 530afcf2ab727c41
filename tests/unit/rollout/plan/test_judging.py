"""The plan's questions, each with an answer that is well and one that is not."""

from __future__ import annotations

import base64
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.images.lost import lost_images
from kubeflow_volcano.catalog.model import Defect
from kubeflow_volcano.cluster.admission.pod_security import ENFORCE
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.problems import Exit, Problem
from kubeflow_volcano.rollout.account.first_user import placeholder_account
from kubeflow_volcano.rollout.account.sign_in import dex
from kubeflow_volcano.rollout.images.report.image_list import ImagesReport
from kubeflow_volcano.rollout.plan.account import account_of, judge_account, judge_published_secrets
from kubeflow_volcano.rollout.plan.defects import defects_of, judge_defects
from kubeflow_volcano.rollout.plan.findings import Finding, Verdict, exit_code, worst
from kubeflow_volcano.rollout.plan.judging import (
    GB,
    judge_apis,
    judge_images,
    judge_kubernetes,
    judge_kustomize,
    judge_pod_security,
    judge_resources,
)
from kubeflow_volcano.rollout.plan.resources import Claimed, Requests
from kubeflow_volcano.rollout.plan.steps import hosts_of
from kubeflow_volcano.rollout.settings.settings import Settings, parse


@pytest.fixture
def settings() -> Settings:
    return parse({})


def thing(api_version: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "namespace": "n"}, **more}


@pytest.mark.parametrize(
    ("api_version", "kind", "good", "bad", "told"),
    [
        ("policy/v1beta1", "PodDisruptionBudget", "1.24", "1.25", "policy/v1 replaces"),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler", "1.25.3", "1.26.0", "autoscaling/v2 replaces"),
        ("autoscaling/v2", "HorizontalPodAutoscaler", "1.23", "1.22.17", "1.23 and later"),
        (
            "apiextensions.k8s.io/v1beta1",
            "CustomResourceDefinition",
            "1.21",
            "1.22",
            "apiextensions.k8s.io/v1 replaces",
        ),
    ],
)
def test_apis(api_version: str, kind: str, good: str, bad: str, told: str) -> None:
    parts = {"some": (thing(api_version, kind), thing("v1", "ConfigMap"))}
    assert judge_apis(parts, good).verdict is Verdict.PASS
    found = judge_apis(parts, bad)
    assert found.verdict is Verdict.FAIL
    (detail,) = found.details
    assert detail.startswith("some: ")
    assert told in detail


def test_an_own_kind_of_the_same_name_is_not_meant() -> None:
    assert judge_apis({"some": (thing("example.org/v1beta1", "Ingress"),)}, "1.35").verdict is Verdict.PASS


def asked(cpu: str, memory_gb: str) -> Requests:
    zero = Decimal(0)
    return Requests(1, Decimal(cpu), Decimal(memory_gb) * GB, 0, zero, zero)


def test_sums_up_to_the_minimum_fit_and_beyond_do_not(settings: Settings) -> None:
    claims = [Claimed(Ref("v1", "PersistentVolumeClaim", "n", str(size)), Decimal(size) * GB) for size in (20, 30)]
    assert {item.verdict for item in judge_resources(settings, asked("4", "12"), claims)} == {Verdict.PASS}
    more = [*claims, Claimed(Ref("v1", "PersistentVolumeClaim", "n", "more"), Decimal(1))]
    found = {item.id: item for item in judge_resources(settings, asked("4.1", "12.1"), more)}
    assert {item.verdict for item in found.values()} == {Verdict.WARN}
    assert "plan_minimum_cpu is 4" in found["resources-cpu"].found
    assert "plan_minimum_memory_gb" in found["resources-memory"].todo
    assert "plan_minimum_storage_gb" in found["resources-storage"].todo


def test_kubernetes_that_the_release_is_not_made_for(settings: Settings) -> None:
    fitting = replace(settings, plan=replace(settings.plan, kubernetes="1.30"))
    assert judge_kubernetes(fitting).verdict is Verdict.PASS
    old = replace(settings, plan=replace(settings.plan, kubernetes="1.19"))
    found = judge_kubernetes(old)
    assert found.verdict is Verdict.FAIL
    assert "1.19" in found.details[0]
    assert found.todo
    new = judge_kubernetes(replace(settings, plan=replace(settings.plan, kubernetes="1.99")))
    assert new.verdict is Verdict.WARN
    assert "newer" in new.details[0]


def defect(name: str, *applies_to: str, handled: bool | dict[str, Any]) -> Defect:
    return Defect(name, f"title of {name}", "consequence", "handling", handled, applies_to)


def test_defects_of_what_is_chosen(settings: Settings) -> None:
    listed = (
        defect("of-all", handled=True),
        defect("of-volcano", "volcano", handled=False),
        defect("of-others", "katib", handled=False),
    )
    known = replace(settings, release=replace(settings.release, defects=listed))
    found = defects_of(known)
    assert [item.id for item in found] == ["of-all", "of-volcano"]
    told = judge_defects(found)
    assert told.verdict is Verdict.WARN
    assert [text.partition(":")[0] for text in told.details] == ["of-volcano", "of-all"]
    assert judge_defects(found[:1]).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("handled", "variables", "expected"),
    [
        ({"image_mirror_mode": "rewrite"}, {}, False),
        ({"image_mirror_mode": "rewrite"}, {"image_mirror_mode": "rewrite"}, True),
        ({"image_mirror_mode": ["rewrite", "containerd"]}, {"image_mirror_mode": "containerd"}, True),
        ({"image_mirror_mode": ["rewrite", "containerd"]}, {}, False),
        ({"image_mirror_mode": "none", "plan_architectures": ["amd64"]}, {}, True),
        ({"plan_architectures": ["amd64"]}, {"plan_architectures": ["amd64", "arm64"]}, False),
        ({"kubeflow_published_password": False}, {"kubeflow_published_password": True}, False),
    ],
)
def test_whether_a_defect_is_handled_may_depend_on_the_inventory(
    *, handled: dict[str, Any], variables: dict[str, Any], expected: bool
) -> None:
    given = parse(variables)
    given = replace(given, release=replace(given.release, defects=(defect("x", handled=handled),)))
    assert [item.handled for item in defects_of(given)] == [expected]


@pytest.mark.parametrize("release", read.releases())
def test_every_defect_of_the_catalog_can_be_judged(release: str) -> None:
    full = {"kubeflow_release": release, "kubeflow_profile": "full"}
    by_default = {item.id: item.handled for item in defects_of(parse(full))}
    plain = {item.id: item.handled for item in defects_of(parse({**full, "image_mirror_catalog_overrides": False}))}
    assert by_default["published-password"] is by_default["amd64-only"] is True
    of_images = {"images-gone", "pipelines-images-gone"} & {name for name, handled in by_default.items() if handled}
    assert {name for name in plain if plain[name] != by_default[name]} == of_images
    assert ("pipelines-images-gone" in by_default and not by_default["pipelines-images-gone"]) is (
        "pipelines" in lost_images(read.load_release(release))
    )


def with_sign_in(settings: Settings) -> Settings:
    return replace(settings, components=(replace(settings.components[0], name="dex"),))


def test_the_account_that_is_told_never_has_the_password(settings: Settings) -> None:
    assert account_of(settings) is None
    known = with_sign_in(settings)
    texts = {}
    for name, user in {
        "random": known.user,
        "given": replace(known.user, password="of-the-inventory"),  # noqa: S106  made up
        "published": replace(known.user, published_password=True),
    }.items():
        told = account_of(replace(known, user=user))
        assert told is not None
        assert "of-the-inventory" not in str(told)
        assert ("get secret first-user" in told["command"]) == (name == "random")
        texts[name] = told["password"]
    assert len(set(texts.values())) == 3
    assert judge_account(known).verdict is Verdict.PASS
    published = replace(known, user=replace(known.user, published_password=True))
    assert judge_account(published).verdict is Verdict.WARN


def secret(name: str, **texts: str) -> dict[str, Any]:
    data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "n"}, "data": data}


def test_published_secrets_are_named_without_their_values(settings: Settings) -> None:
    objects = [secret("minio", accesskey="minio", secretkey="minio123"), secret("empty"), secret("ids", client="me")]
    found = judge_published_secrets(objects, settings)
    assert found.verdict is Verdict.WARN
    assert found.details == ("Secret n/minio: accesskey, secretkey",)
    assert "minio123" not in str(found)
    assert judge_published_secrets(objects[1:], settings).verdict is Verdict.PASS


def test_the_accounts_own_secrets_are_not_published(settings: Settings) -> None:
    published = secret("dex-oidc-client", OIDC_CLIENT_SECRET="pUBnBOY80SnXgjibTYM9ZWNzY2xreNGQok")  # noqa: S106
    objects = [published]
    assert judge_published_secrets(objects, settings).verdict is Verdict.WARN
    dex(objects, placeholder_account(settings.user))
    assert judge_published_secrets(objects, settings).verdict is Verdict.PASS


def test_remarks_about_images_become_findings() -> None:
    problem, warning = Problem("a.", "b.", "c."), Problem("d.", "e.", "f.")
    assert [item.verdict for item in judge_images(ImagesReport((), (), (), ()))] == [Verdict.PASS]
    found = list(judge_images(ImagesReport((), (problem,), (warning,), ())))
    assert [(item.verdict, item.found) for item in found] == [(Verdict.FAIL, "a."), (Verdict.WARN, "d.")]


def test_the_worst_finding_is_the_verdict_and_a_warning_stops_nobody() -> None:
    def of(*verdicts: Verdict) -> Verdict:
        return worst(Finding("x", "x", verdict, "x") for verdict in verdicts)

    assert of() is Verdict.PASS
    assert of(Verdict.WARN, Verdict.PASS) is Verdict.WARN
    assert of(Verdict.WARN, Verdict.FAIL, Verdict.PASS) is Verdict.FAIL
    assert [exit_code(item) for item in Verdict] == [Exit.OK, Exit.OK, Exit.CHECK_FAILED]


def test_hosts_are_named_and_their_absence_is_told() -> None:
    assert hosts_of(["a", "b"]) == {"nodes": ["a", "b"], "note": ""}
    assert "no host" in hosts_of([])["note"]


def test_another_kustomize_than_the_release_s_is_a_warning() -> None:
    release = read.load_release("26.03")
    (own,) = judge_kustomize(release, release.kustomize_version)
    assert own.verdict is Verdict.PASS
    (other,) = judge_kustomize(release, "5.4.3")
    assert other.verdict is Verdict.WARN
    assert "5.4.3" in other.found
    assert release.kustomize_version in other.needed
    assert not list(judge_kustomize(release, ""))


@pytest.mark.parametrize(
    ("level", "warned"), [("", False), ("privileged", False), ("baseline", True), ("restricted", True)]
)
def test_a_level_of_pod_security_for_all_namespaces_is_a_warning(level: str, *, warned: bool) -> None:
    labels = {ENFORCE: level} if level else {}
    found = [*judge_pod_security(parse({"kubeflow_namespace_labels": labels}))]
    assert [(item.verdict, level in item.found) for item in found] == ([(Verdict.WARN, True)] if warned else [])
