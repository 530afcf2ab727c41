"""From settings to plan: everything is rendered as a roll-out does, then counted and judged."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from kubeflow_volcano import __version__
from kubeflow_volcano.problems import Exit, InvalidInput
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.desired import Desired, desired
from kubeflow_volcano.rollout.images.registry.identities import describe
from kubeflow_volcano.rollout.images.report.image_list import ImagesReport, report
from kubeflow_volcano.rollout.manifests.downloads import without_credentials
from kubeflow_volcano.rollout.manifests.kustomize_binary import version_of
from kubeflow_volcano.rollout.patches.volcano import OPTIONAL_WEBHOOKS
from kubeflow_volcano.rollout.people.teams import MAKERS
from kubeflow_volcano.rollout.plan import judging
from kubeflow_volcano.rollout.plan.account import (
    account_of,
    judge_account,
    judge_culling,
    judge_issuer,
    judge_owners,
    judge_profile_logins,
    judge_published_secrets,
    judge_team_queues,
    judge_team_quotas,
    teams_of,
)
from kubeflow_volcano.rollout.plan.defects import defects_of, judge_defects
from kubeflow_volcano.rollout.plan.findings import Finding, Verdict, exit_code, worst
from kubeflow_volcano.rollout.plan.order import Wave, waves
from kubeflow_volcano.rollout.plan.resources import Claimed, Requests, claims_of, requests_of
from kubeflow_volcano.rollout.plan.steps import (
    ceded_fields,
    gang_of,
    hosts_of,
    queues_of,
    scheduled_validation,
    steps_of,
)
from kubeflow_volcano.rollout.plan.stores import judge_stores
from kubeflow_volcano.rollout.run import requirements
from kubeflow_volcano.rollout.settings.ceded import validate_ceded
from kubeflow_volcano.rollout.settings.settings import Settings

SCHEMA = "kfv.plan/v1"


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a roll-out will do.

    `kustomize` is the version that built it, empty where there is none; `seconds` is how long planning took.
    """

    settings: Settings
    kustomize: str
    nodes: tuple[str, ...]
    desired: Desired
    images: ImagesReport
    waves: tuple[Wave, ...]
    requests: Requests
    claims: tuple[Claimed, ...]
    findings: tuple[Finding, ...]
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """The worst of the findings."""
        return worst(self.findings)

    @property
    def exit_code(self) -> Exit:
        """The exit code of the verdict."""
        return exit_code(self.verdict)

    def as_dict(self) -> dict[str, Any]:
        """The document as plain values, without secrets."""
        settings, parts = self.settings, self.desired.parts
        return {
            "schema": SCHEMA,
            "version": __version__,
            "verdict": str(self.verdict),
            "exit_code": int(self.exit_code),
            "seconds": round(self.seconds, 2),
            "release": settings.release.version,
            "kubernetes": settings.plan.kubernetes,
            "kustomize": self.kustomize,
            "source": without_credentials(settings.source),
            "remote_sources": {
                item.name: without_credentials(settings.sources.get(item.name, ""))
                for item in settings.release.remote_sources
            },
            "objects": sum(map(len, parts.values())),
            "hosts": hosts_of(self.nodes),
            "steps": list(steps_of(settings, parts)),
            "waves": [_wave(item) for item in self.waves],
            "gang": gang_of(settings, parts),
            "queues": queues_of(settings, parts),
            "existing": list(settings.existing),
            "ceded": list(ceded_fields(settings, parts)),
            "account": account_of(settings),
            "teams": list(teams_of(settings)),
            "validation": scheduled_validation(settings),
            "resources": self._resources(),
            "images": self.images.as_dict(),
            "defects": [_defect(item) for item in defects_of(settings)],
            "findings": [_finding(item) for item in self.findings],
            "notes": list(self.desired.notes),
        }

    def _resources(self) -> dict[str, Any]:
        asked, storage = self.requests, sum((claim.size for claim in self.claims), Decimal(0))
        known = {(item.namespace, item.name): item for part in self.settings.components for item in part.claims}
        return {
            "pods": asked.pods,
            "cpu": float(asked.cpu),
            "memory_gb": float(asked.memory / judging.GB),
            "storage_gb": float(storage / judging.GB),
            "sidecars": {
                "pods": asked.sidecars,
                "cpu": float(asked.sidecar_cpu),
                "memory_gb": float(asked.sidecar_memory / judging.GB),
            },
            "claims": [
                {
                    "claim": str(item.ref),
                    "gb": float(item.size / judging.GB),
                    **describe(known.get((item.ref.namespace, item.ref.name))),
                }
                for item in self.claims
            ],
        }


def plan(settings: Settings, progress: Progress, nodes: Sequence[str] = ()) -> Plan:
    """Render and judge everything that the settings choose; `nodes` are hosts of the inventory.

    Contacts no cluster and changes nothing but the cache.

    Raises:
        InvalidInput: everything that is wrong with sources, manifests and settings.
    """
    started = time.monotonic()
    planned = desired(settings, settings.components, progress)
    objects = planned.objects
    if problems := [*validate_ceded(settings.ceded, objects, whole=True)]:
        raise InvalidInput(problems)
    images = report(planned.images, settings)
    requests, claims = requests_of(objects), claims_of(objects)
    kustomize = version_of(settings) if settings.kustomize.is_file() else ""
    findings = [
        judging.judge_kubernetes(settings),
        judging.judge_upgrades(settings),
        *judging.judge_kustomize(settings.release, kustomize),
        judging.judge_apis(planned.parts, settings.plan.kubernetes),
        *judging.judge_images(images),
        *judging.judge_resources(settings, requests, claims),
        *judging.judge_pod_security(settings),
        judge_defects(defects_of(settings)),
    ]
    if account_of(settings):
        findings += [judge_account(settings), *judge_issuer(settings)]
    findings += [*judge_owners(settings), *judge_team_queues(settings), *judge_team_quotas(settings)]
    findings += [*judge_profile_logins(settings), *judge_culling(settings), *judge_stores(settings, objects)]
    findings.append(judge_published_secrets(objects, settings))
    return Plan(
        settings=settings,
        kustomize=kustomize,
        nodes=tuple(nodes),
        desired=planned,
        images=images,
        waves=waves(planned.parts, requirements(settings, settings.components), OPTIONAL_WEBHOOKS, MAKERS),
        requests=requests,
        claims=claims,
        findings=tuple(findings),
        seconds=time.monotonic() - started,
    )


def _wave(item: Wave) -> dict[str, Any]:
    return {
        "wave": item.number,
        "objects": item.objects,
        "kinds": dict(item.kinds),
        "components": list(item.components),
        "awaits": [str(ref) for ref in item.awaits],
    }


def _defect(item: Any) -> dict[str, Any]:
    return {
        "id": item.id,
        "title": item.title,
        "components": list(item.applies_to),
        "consequence": item.consequence,
        "handling": item.handling,
        "handled": item.handled,
    }


def _finding(item: Finding) -> dict[str, Any]:
    return {**asdict(item), "verdict": str(item.verdict), "details": list(item.details)}
