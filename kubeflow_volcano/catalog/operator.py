"""How each version of the training operator is told to gang its pods with Volcano."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.catalog.read import load
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.ref import Ref

__all__ = ["COMPONENT", "DEPLOYMENT", "GANG_FLAGS", "GangEra", "era_of", "eras", "trainer_gangs", "version_of_image"]

COMPONENT = "training-operator"
"""Name of the training operator's component in every release, and of its container."""

DEPLOYMENT = Ref("apps/v1", "Deployment", "kubeflow", COMPONENT)
"""Where every release from 1.4 on keeps the training operator of API version v1."""

GANG_FLAGS = ("--enable-gang-scheduling", "--gang-scheduler-name")
"""Every flag about gangs that any version of the operator has known."""


@dataclass(frozen=True, slots=True)
class GangEra:
    """Versions `lowest` to the last patch of minor `highest`, and what they want.

    `forbidden_flags` end the process, with any value. `missing_crd` says what happens when the PodGroup CRD is absent
    at the operator's start: tolerated, watch-skipped (jobs then do not advance) or exits. `watches_groups` says whether
    it sees by itself that a PodGroup may run, `elects_leader` whether several of it can share the work. A limit of
    memory below `least_memory` is known to be too small; empty where upstream sets none.
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
        """Whether that operator version is of this era."""
        key = version_key(version)
        return version_key(self.lowest) <= key and key[:2] <= version_key(self.highest)


@cache
def eras() -> tuple[GangEra, ...]:
    """All eras, oldest first."""
    return tuple(
        GangEra(
            **{
                **item,
                "required_arguments": tuple(item["required_arguments"]),
                "forbidden_flags": tuple(item["forbidden_flags"]),
            }
        )
        for item in load("operators.yaml", "operators")["eras"]
    )


def era_of(operator_version: str) -> GangEra:
    """The era of an operator version such as "1.8.1".

    Raises:
        InvalidInput: a version before Volcano support, or of Trainer 2, which has no gang flag.
    """
    for era in eras():
        if era.covers(operator_version):
            return era
    raise InvalidInput(
        Problem(
            f"training operator {operator_version}, whose gang scheduling flags the catalog does not know.",
            f"a version from {eras()[0].lowest} to {eras()[-1].highest}; Trainer is told by its runtimes instead.",
            "choose a release whose operator is in that range.",
        )
    )


def trainer_gangs(trainer_version: str) -> bool:
    """Whether a runtime of that Trainer can ask Volcano for a gang (`podGroupPolicy.volcano`)."""
    return version_key(trainer_version) >= version_key(load("operators.yaml", "operators")["trainer"]["volcano_since"])


def version_of_image(image: str) -> str | None:
    """Operator version of an image reference, on any mirror; None for another image or an unknown tag."""
    name, _, tag = image.partition("@")[0].rpartition("/")[2].partition(":")
    if name not in {"training-operator", "tf-operator", "tf_operator"}:
        return None
    if re.fullmatch(r"v?\d+\.\d+\.\d+", tag):
        return tag.removeprefix("v")
    found: str | None = load("operators.yaml", "operators")["images"].get(tag)
    return found
