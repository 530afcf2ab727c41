"""The judgements of the plan on versions, upgrades, APIs, resources and images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from kubeflow_volcano.catalog.edges import edges
from kubeflow_volcano.catalog.model import Release
from kubeflow_volcano.catalog.served_apis import served_apis
from kubeflow_volcano.cluster.admission.pod_security import ENFORCE, PRIVILEGED
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.images.report.image_list import ImagesReport
from kubeflow_volcano.rollout.plan.findings import Finding, Verdict
from kubeflow_volcano.rollout.plan.resources import Claimed, Requests
from kubeflow_volcano.rollout.settings.kubernetes_range import require_kubernetes
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.rollout.versions.judge import describe_step, steps_for
from kubeflow_volcano.text import counted

GB = 1000**3


def judge_kubernetes(settings: Settings) -> Finding:
    """Whether the release and its components support the planned Kubernetes version."""
    wanted = settings.plan.kubernetes
    title = f"Versions compatible with Kubernetes {wanted}"
    try:
        warnings = require_kubernetes(settings, wanted)
    except InvalidInput as error:
        details = tuple(problem.found for problem in error.problems)
        first = error.problems[0]
        return Finding("kubernetes", title, Verdict.FAIL, "not all are.", details, first.needed, first.todo)
    if warnings:
        return Finding(
            "kubernetes",
            title,
            Verdict.WARN,
            "not all components were tested with it.",
            warnings,
            "versions that were tested together.",
            "rehearse the roll-out on that Kubernetes first.",
        )
    return Finding("kubernetes", title, Verdict.PASS, f"Kubeflow {settings.release.version} and its components are.")


def judge_kustomize(release: Release, built_by: str) -> Iterator[Finding]:
    """Whether the release's own kustomize built the manifests; nothing where none built any."""
    wanted, title = release.kustomize_version, "kustomize"
    if built_by == wanted:
        yield Finding("kustomize", title, Verdict.PASS, f"{built_by} builds the manifests, as upstream does.")
    elif built_by:
        yield Finding(
            "kustomize",
            title,
            Verdict.WARN,
            f"kustomize {built_by} builds the manifests.",
            needed=f"kustomize {wanted}, with which upstream tests Kubeflow {release.version}; others may build "
            "other objects.",
            todo="remove kustomize_version and kustomize_binary, or compare objects.json with a plan by that version.",
        )


def judge_resources(settings: Settings, requests: Requests, claims: Sequence[Claimed]) -> Iterator[Finding]:
    """The requests, compared with what the inventory says that the cluster has at least."""
    plan = settings.plan
    storage = sum((claim.size for claim in claims), Decimal(0))
    for name, unit, asked, least in (
        ("cpu", "CPUs", requests.cpu, plan.minimum_cpu),
        ("memory_gb", "GB of memory", requests.memory / GB, plan.minimum_memory_gb),
        ("storage_gb", "GB of storage", storage / GB, plan.minimum_storage_gb),
    ):
        ident, title = f"resources-{name.partition('_')[0]}", f"Sum of requests: {unit}"
        found = f"{asked:.1f} {unit} are requested, plan_minimum_{name} is {least}."
        if asked <= least:
            yield Finding(ident, title, Verdict.PASS, found)
        else:
            yield Finding(
                ident,
                title,
                Verdict.WARN,
                found,
                needed=f"a cluster with {asked:.1f} {unit} free.",
                todo=f"set plan_minimum_{name} to what the cluster has, or leave components out (kubeflow_exclude).",
            )


def judge_apis(parts: Mapping[str, Sequence[Object]], kubernetes: str) -> Finding:
    """Whether that Kubernetes ("1.30.2") serves the API version of every object."""
    details = tuple(
        f"{component}: {text}" for component, objects in parts.items() for text in _unserved(objects, kubernetes)
    )
    title = f"APIs that Kubernetes {kubernetes} serves"
    if not details:
        return Finding("apis", title, Verdict.PASS, "all API versions are served.")
    return Finding(
        "apis",
        title,
        Verdict.FAIL,
        f"{counted(len(details), 'object')} in API versions that Kubernetes {kubernetes} does not serve.",
        details,
        "manifests for that Kubernetes.",
        "choose a release whose Kubernetes range includes it, or set kubeflow_sources to corrected manifests.",
    )


def _unserved(objects: Sequence[Object], kubernetes: str) -> Iterator[str]:
    for obj in objects:
        for api in served_apis():
            if api.is_about(obj["apiVersion"], obj["kind"]) and not api.kubernetes.covers(kubernetes):
                after = f"; {api.successor} replaces it" if api.successor else ""
                yield f"{Ref.of(obj)}: {obj['apiVersion']} is served by {api.kubernetes}{after}"


def judge_images(report: ImagesReport) -> Iterator[Finding]:
    """One finding for each problem and warning of the image report; one that passes if there is none."""
    if not report.problems and not report.warnings:
        yield Finding("images", "Images", Verdict.PASS, f"{len(report.entries)}, none with a known problem.")
    yield from (_finding(item, Verdict.FAIL) for item in report.problems)
    yield from (_finding(item, Verdict.WARN) for item in report.warnings)


def _finding(problem: Problem, verdict: Verdict) -> Finding:
    return Finding("images", "Images", verdict, problem.found, (), problem.needed, problem.todo)


def judge_pod_security(settings: Settings) -> Iterator[Finding]:
    """What a level of Pod Security that the inventory gives all namespaces needs; nothing where it gives none."""
    level = settings.namespace_labels.get(ENFORCE, PRIVILEGED)
    if level != PRIVILEGED:
        yield Finding(
            "pod-security",
            "Pod Security",
            Verdict.WARN,
            f"kubeflow_namespace_labels sets {ENFORCE}={level} for all namespaces of the release.",
            needed=f"pods that all meet the level {level}; the API server refuses others. A plan cannot ask it.",
            todo=f"create an empty namespace with {ENFORCE}={level} and see --check, which asks there; "
            "or take the label out, and the levels of the release's own manifests count.",
        )


def judge_upgrades(settings: Settings) -> Finding:
    """From which releases one step leads to this one, and what the step brings to the chosen components."""
    release = settings.release.version
    into = [edge for edge in edges() if edge.target == release]
    steps = [
        (edge, step) for edge in into for step in steps_for(edge, {item.component for item in edge.steps}, settings)
    ]
    names = ", ".join(step.id for _, step in steps if step.confirm)
    found = f"in one step from {', '.join(edge.origin for edge in into)}" if into else "none: it is the first release"
    confirmed = f"; these steps have to be confirmed: {names}" if names else ""
    described = ((edge, step, describe_step(step, prunes=settings.prune)) for edge, step in steps)
    details = tuple(f"from {edge.origin}: {step.id}: {text}" for edge, step, text in described)
    return Finding("upgrade", f"Upgrade to Kubeflow {release}", Verdict.PASS, f"{found}{confirmed}.", details)
