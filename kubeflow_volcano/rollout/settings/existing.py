"""Components that others installed: which ones stay theirs, which ones are taken over, and what contradicts that."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.catalog.model import Component, Release
from kubeflow_volcano.problems import Problem

_OF_OTHERS = ("volcano_namespace",)
"""Variables that describe a Volcano of others."""

_OF_EVERY_VOLCANO = ("volcano_version", "volcano_source", "volcano_scheduler_extra_plugins")
"""Variables that a Volcano of others is judged by, or that leave it alone; a roll-out of Volcano applies all others."""


def validate_existing(
    values: Mapping[str, Any], defaults: Mapping[str, Any], release: Release, chosen: Collection[Component]
) -> Iterator[Problem]:
    """Problems of `kubeflow_existing`, `kubeflow_adopt` and of what only one of the two makes sense with.

    `values` are all variables, complete; `chosen` the components to install, empty if they are not known.
    """
    existing, adopted, excluded = (values[f"kubeflow_{name}"] for name in ("existing", "adopt", "exclude"))
    known = {*read.OWN_FILES, *release.components}
    for name in (item for item in adopted if item not in known):
        yield read.no_component(release, name)
    lists = {"kubeflow_existing": existing, "kubeflow_adopt": adopted, "kubeflow_exclude": excluded}
    lists["kubeflow_include"] = [name for name in values["kubeflow_include"] if name not in adopted]
    for name in dict.fromkeys((*existing, *adopted)):
        named = [variable for variable, names in lists.items() if name in names]
        if len(named) > 1:
            yield Problem(
                f"{name} is in {' and in '.join(named)}.",
                "one of them: an existing component stays with those who installed it, an adopted one is taken over, "
                "an included one is installed, an excluded one is not needed.",
                f"remove {name} from {' or from '.join(named)}.",
            )
        elif chosen and name in adopted and name in known and name not in {part.name for part in chosen}:
            yield Problem(
                f"kubeflow_adopt names {name}, which this inventory does not install.",
                f"components that are installed: {', '.join(part.name for part in chosen)}.",
                f"add {name} to kubeflow_components, or remove it from kubeflow_adopt.",
            )
    yield from _validate_volcano(values, defaults, theirs=VOLCANO.name in existing)


def _validate_volcano(values: Mapping[str, Any], defaults: Mapping[str, Any], *, theirs: bool) -> Iterator[Problem]:
    own = (name for name in defaults if name.startswith("volcano_") and name not in _OF_OTHERS + _OF_EVERY_VOLCANO)
    given = [name for name in (own if theirs else _OF_OTHERS) if values[name] != defaults[name]]
    if given and theirs:
        yield Problem(
            f"{', '.join(given)} with volcano in kubeflow_existing: no roll-out changes a Volcano of others.",
            "its configuration and its queues where it is administered.",
            f"remove {', '.join(given)}, or name volcano in kubeflow_adopt instead.",
        )
    elif given:
        yield Problem(
            f"{', '.join(given)} without volcano in kubeflow_existing: Volcano is installed into volcano-system.",
            "the namespace of a Volcano of others.",
            f"add volcano to kubeflow_existing, or remove {', '.join(given)}.",
        )
