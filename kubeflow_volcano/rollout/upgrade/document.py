"""What an upgrade would do on a cluster, and afterwards what became of it, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kubeflow_volcano.apply.crds.change import change_of
from kubeflow_volcano.apply.graph import CRD_KIND
from kubeflow_volcano.apply.problems import refusal
from kubeflow_volcano.apply.result import Action, ApplyResult
from kubeflow_volcano.catalog.operator import COMPONENT, DEPLOYMENT
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput, ProblemsError
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.plan.steps import gang_of
from kubeflow_volcano.rollout.prepare import Prepared, prepare
from kubeflow_volcano.rollout.run import carry_out, roll_out
from kubeflow_volcano.rollout.running import running_jobs
from kubeflow_volcano.rollout.scope import scope_of
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.rollout.state.ledger import has_ended_well
from kubeflow_volcano.rollout.upgrade.listable import unlistable
from kubeflow_volcano.rollout.versions.installed import installed_versions, operator_version, own_version, remains
from kubeflow_volcano.rollout.versions.judge import require_upgrade
from kubeflow_volcano.text import few

SCHEMA = "kfv.upgrade/v1"

_CRD = ("apiextensions.k8s.io/v1", CRD_KIND)
_MOST_SHOWN = 10

Document = Mapping[str, Any]


def preview(cluster: Cluster, settings: Settings, *, check: bool, progress: Progress) -> Document:
    """What an upgrade to these settings would do, by server-side dry runs; changes nothing.

    With `check` steps that a person has to confirm are described only.

    Raises:
        InvalidInput: nothing is installed, the settings are no upgrade in one step, a step is not confirmed, or objects
            of a kind cannot be listed, so that nothing could be saved or stored again.
        ProblemsError: the API server refused a request.
    """
    try:
        installed = installed_versions(cluster)
        remaining = remains(cluster)
        if set(installed) <= remaining.keys():
            raise InvalidInput.problem(
                "no record of an installation on this cluster (kubeflow-volcano/rollout-objects)"
                + (", only of what an uninstallation left." if installed else "."),
                "an installation of this project to upgrade.",
                "run playbooks/install.yml; on a cluster of this project whose record is lost, too.",
            )
        if unlisted := unlistable(cluster):
            raise InvalidInput(unlisted)
        scope = scope_of(settings)
        version = operator_version(cluster)
        steps = require_upgrade(settings, scope, installed, remaining=remaining, operator=version, check=check)
        running = running_jobs(cluster)
        prepared = prepare(cluster, settings, scope, check=True, progress=progress)
        result = carry_out(cluster, prepared, check=True, progress=progress, texts=False)
        crds = [*_crds(cluster, prepared)]
        images = _new_images(cluster, prepared)
        ended = has_ended_well(cluster, tuple(prepared.parts))
        operator = cluster.get(DEPLOYMENT)
        gang = {
            "now": _arguments_now(settings, operator if COMPONENT in prepared.desired.parts else None),
            "then": gang_of(settings, prepared.parts),
        }
    except ApiError as error:
        raise ProblemsError(refusal(cluster, error)) from error
    # A component such as a storage provisioner of others brings no object, and is not recorded.
    brings = [part for part in settings.components if prepared.parts.get(part.name)]
    same = all(installed.get(part.name) == settings.version_of(part) for part in brings)
    return {
        "schema": SCHEMA,
        "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "kubernetes": cluster.version["gitVersion"],
        "release": settings.release.version,
        "state": "planned",
        "versions": [*_versions(settings, installed, version)],
        "steps": [*steps],
        "running": [str(ref) for ref in running],
        "crds": crds,
        "images": images,
        "gang": gang,
        "backup": "",
        **_outcome(result),
        "needed": result.changed or bool(result.problems) or not (same and ended),
    }


def require_idle(document: Document, *, allowed: bool) -> None:
    """Refuse an upgrade while jobs run, unless that is `allowed`.

    Raises:
        InvalidInput: jobs run.
    """
    running = document["running"]
    if running and not allowed:
        raise InvalidInput.problem(
            f"jobs that run: {few(running, _MOST_SHOWN)}.",
            "no running job while operators, webhooks and schedulers are replaced: running pods go on, new ones "
            "wait or are refused meanwhile.",
            "wait until they have ended, suspend them, or set upgrade_running_jobs: allow.",
        )


def upgrade(
    cluster: Cluster, settings: Settings, document: Document, *, progress: Progress, texts: bool
) -> ApplyResult:
    """Carry the planned upgrade out, unless it found nothing to do; raises as a roll-out does."""
    if not document["needed"]:
        return ApplyResult((), (), 0.0)
    return roll_out(cluster, settings, scope_of(settings), check=False, progress=progress, texts=texts)


def finished(document: Document, result: ApplyResult, backup: str) -> Document:
    """The document after the upgrade."""
    if not document["needed"]:
        return {**document, "state": "ended"}
    state = "failed" if result.problems else "ended"
    return {**document, "state": state, "backup": backup, **_outcome(result)}


def _outcome(result: ApplyResult) -> dict[str, Any]:
    counts = Counter(str(item.action) for item in result.outcomes)
    return {
        "objects": {str(action): counts[action] for action in Action if counts[action]},
        "changes": [
            {**item.as_dict(), "reason": item.reason} for item in result.outcomes if item.action is not Action.UNCHANGED
        ],
        "problems": [problem.as_dict() for problem in result.problems],
        "warnings": [problem.as_dict() for problem in result.warnings],
        "seconds": round(result.seconds, 1),
    }


def _versions(settings: Settings, installed: Mapping[str, str], operator: str) -> Iterator[dict[str, str]]:
    """Each component with its installed and its wanted version, its own ones; empty where it has none.

    The version of the `operator` that runs outranks the record, which has the release of its roll-out.
    """
    wanted = {part.name: part.version for part in settings.components}
    for name in sorted({*installed, *wanted}):
        now = own_version(name, installed[name]) if name in installed else ""
        if now and name == COMPONENT:
            now = operator or now
        yield {"component": name, "installed": now, "wanted": wanted.get(name, "")}


def _crds(cluster: Cluster, prepared: Prepared) -> Iterator[dict[str, Any]]:
    """CRDs whose stored objects or conversion change."""
    declared = {
        obj["metadata"]["name"]: obj
        for objects in prepared.parts.values()
        for obj in objects
        if obj["kind"] == CRD_KIND
    }
    for live in cluster.list(*_CRD).items:
        name = live["metadata"]["name"]
        change = change_of(declared[name], live) if name in declared else None
        if change:
            yield {
                "crd": name,
                "stored": [*change.stored],
                "storage": change.storage,
                "drops_conversion": change.drops_conversion,
            }


def _new_images(cluster: Cluster, prepared: Prepared) -> list[str]:
    """Images that no pod on the cluster uses yet."""
    used = {
        container["image"]
        for pod in cluster.list("v1", "Pod").items
        for key in ("initContainers", "containers")
        for container in pod["spec"].get(key) or ()
    }
    return sorted(
        {
            use.final
            for use in prepared.desired.images.images
            if used.isdisjoint((use.final, use.original, *use.written))
        }
    )


def _arguments_now(settings: Settings, operator: Object | None) -> Sequence[str]:
    """The arguments of the training operator on the cluster that concern gangs."""
    arguments: Sequence[str] = gang_of(settings, {COMPONENT: [operator] if operator else []})["operator_arguments"]
    return arguments
