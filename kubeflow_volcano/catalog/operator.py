"""How each version of the training operator, and Trainer, is configured to create gangs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from kubeflow_volcano.catalog.data import load
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.decode import decode
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.ref import Ref

COMPONENT = "training-operator"
"""The training operator's component in every release, and its container."""

DEPLOYMENT = Ref("apps/v1", "Deployment", "kubeflow", COMPONENT)
"""The training operator of API version v1, in every release from 1.4 on."""

GANG_FLAGS = ("--enable-gang-scheduling", "--gang-scheduler-name")
"""Every gang scheduling flag of any version of the operator."""
_WRITES_QUEUE = version_key("1.8")[:2]


@dataclass(frozen=True, slots=True)
class GangEra:
    """Operator versions from `lowest` to the last patch of minor `highest`, and their gang scheduling flags.

    `forbidden_flags` end the process, with any value. `missing_crd` is what happens when the PodGroup CRD is missing
    at startup: tolerated, watch-skipped (jobs then do not start) or exits. `watches_groups`: it notices by itself that
    a PodGroup may run. `elects_leader`: several replicas can run. A memory limit below `least_memory` is known to be
    too small; empty where upstream sets none.
    """

    lowest: str
    highest: str
    required_arguments: tuple[str, ...]
    forbidden_flags: tuple[str, ...]
    missing_crd: str
    watches_groups: bool
    elects_leader: bool
    why: str
    least_memory: str = ""

    def covers(self, version: str) -> bool:
        """Whether that operator version belongs to this era."""
        key = version_key(version)
        return version_key(self.lowest) <= key and key[:2] <= version_key(self.highest)


def writes_default_queue(version: str) -> bool:
    """Whether that training operator writes the queue default into PodGroups of jobs that name none.

    pkg/controller.v1/common/job.go does since v1.8; v1.7.0, and kubeflow/common before it, leave the queue empty.
    """
    return bool(version) and version_key(version)[:2] >= _WRITES_QUEUE


@dataclass(frozen=True, slots=True)
class _Operators:
    eras: tuple[GangEra, ...]
    images: Mapping[str, str]


@cache
def _operators() -> _Operators:
    return decode(_Operators, load("operators"), "operators")


def eras() -> tuple[GangEra, ...]:
    """Every era, oldest first."""
    return _operators().eras


def era_of(operator_version: str) -> GangEra:
    """The era of an operator version such as "1.8.1".

    Raises:
        InvalidInput: the version is older than Volcano support, or it is Trainer 2, which has no gang scheduling flag.
    """
    for era in eras():
        if era.covers(operator_version):
            return era
    raise InvalidInput.problem(
        f"training operator {operator_version}, whose gang scheduling flags are not in the catalog.",
        f"a version from {eras()[0].lowest} to {eras()[-1].highest}; Trainer reads its runtimes instead of flags.",
        "choose a release whose operator is in that range.",
    )


def version_of_image(image: str) -> str | None:
    """The operator version of an image reference, on any mirror; None for other images and unknown tags."""
    parsed = ImageName.parse(image)
    if parsed is None or parsed.name not in {"training-operator", "tf-operator", "tf_operator"}:
        return None
    if re.fullmatch(r"v?\d+\.\d+\.\d+", parsed.tag):
        return parsed.tag.removeprefix("v")
    return _operators().images.get(parsed.tag)


def later_jobs(spec: Mapping[str, Any]) -> frozenset[str]:
    """Names of the replicated jobs in a JobSet spec that are created once others are ready or finished.

    Runtimes of Trainer are templates of JobSets. Rule: dependsOn, and startupPolicy InOrder, in pkg/controllers of
    JobSet v0.10.1.
    """
    jobs = spec.get("replicatedJobs") or ()
    if (spec.get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder":
        return frozenset(item["name"] for item in jobs[1:])
    return frozenset(item["name"] for item in jobs if item.get("dependsOn"))
