"""The arguments of the training operator, and their faults for gang scheduling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubeflow_volcano.catalog.operator import GANG_FLAGS, GangEra
from kubeflow_volcano.cluster.go_flags import read_flags
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.subjects.kubectl import patch, pointer


def container_of(deployment: Object) -> Object:
    """The container with the name of the Deployment, else the first."""
    containers: list[Object] = deployment["spec"]["template"]["spec"]["containers"]
    named = [item for item in containers if item["name"] == deployment["metadata"]["name"]]
    return (named or containers)[0]


def flags_of(container: Object) -> Mapping[str, str]:
    """Values by flag of a container's command and arguments."""
    return read_flags([*(container.get("command") or ()), *(container.get("args") or ())])


def faults(
    flags: Mapping[str, str], era: GangEra, required: Sequence[str] | None = None
) -> tuple[tuple[str, str], ...]:
    """Reason and text of each fault of the flags for operators of this era; those that end the process come first.

    `required` are the arguments that it needs, by default those for Volcano.
    """
    gone = [
        ("UnknownFlag", f"this version does not know {name}, and exits at its start")
        for name in era.forbidden_flags
        if name in flags
    ]
    missing = []
    for argument in era.required_arguments if required is None else required:
        name, _, wanted = argument.partition("=")
        given = flags.get(name)
        if given is None:
            missing.append(("GangOff", f"{argument} is missing, so the operator creates no PodGroups"))
        elif given.lower() != wanted:
            missing.append(("GangOther", f"{name} is {given!r}, not {wanted!r}"))
    return (*gone, *missing)


def correction(deployment: Object, required: Sequence[str]) -> str:
    """The command that gives the operator these gang flags and no others."""
    containers, container = deployment["spec"]["template"]["spec"]["containers"], container_of(deployment)
    where = ("spec", "template", "spec", "containers", containers.index(container))
    command, args = container.get("command") or [], [*_others(container.get("args") or ()), *required]
    operations = [{"op": "add", "path": pointer(*where, "args"), "value": args}]
    if len(kept := _others(command)) < len(command):
        operations.append({"op": "replace", "path": pointer(*where, "command"), "value": kept})
    return patch("deployment", Ref.of(deployment), operations)


def _others(words: Sequence[str]) -> list[str]:
    """The words without gang flags and their values."""
    kept: list[str] = []
    value_follows = False
    for word in words:
        name, mark, _ = word.lstrip("-").partition("=")
        is_flag = word.startswith("-")
        is_gang = is_flag and f"--{name}" in GANG_FLAGS
        if not (is_gang or (value_follows and not is_flag)):
            kept.append(word)
        value_follows = is_gang and not mark
    return kept


def gang_flags(flags: Mapping[str, str]) -> Mapping[str, str]:
    """The flags that configure gang scheduling."""
    return {name: value for name, value in flags.items() if name in GANG_FLAGS}
