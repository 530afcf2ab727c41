"""What the page for new notebooks offers: `kubeflow_notebooks`.

Its fields are those of `spawner_ui_config.yaml`, which the web app reads at each request (apps/common/utils.py and
form.py of jupyter-web-app, v1.6.1 to v1.11.0); what is left out stays as upstream has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.cluster.pods.quantities import is_positive
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.text import did_you_mean

WEB_APP, CONTROLLER, POD_DEFAULTS = "jupyter-web-app", "notebook-controller", "admission-webhook"
"""The components that read the images and sizes, stop idle notebooks, and apply PodDefaults."""
_VARIABLE = "kubeflow_notebooks"


@dataclass(frozen=True, slots=True)
class Amount:
    """What a notebook requests of CPU or memory, and the limit as a factor of it, or `none`."""

    request: Any = None
    limit_factor: str | None = None


@dataclass(frozen=True, slots=True)
class Workspace:
    """The volume of a new notebook."""

    size: str | None = None
    storage_class: str | None = None
    mount: str | None = None


@dataclass(frozen=True, slots=True)
class Vendor:
    """A kind of GPU: the resource that its device plugin offers, and its name on the page."""

    key: str
    name: str


@dataclass(frozen=True, slots=True)
class Gpus:
    """The kinds of GPUs, which one is chosen at first, and how many of it; empty and `none` for none."""

    vendors: tuple[Vendor, ...]
    vendor: str = ""
    count: str = "none"


@dataclass(frozen=True, slots=True)
class Choice:
    """An entry of a list on the page: its name there, and the affinity or tolerations that it gives the notebook."""

    key: str
    name: str
    affinity: Mapping[str, Any] | None = None
    tolerations: tuple[Mapping[str, Any], ...] | None = None
    default: bool = False


@dataclass(frozen=True, slots=True)
class PodDefault:
    """What notebooks get that choose it; `default` chooses it for new ones. `spec` is that of the kind's CRD."""

    name: str
    title: str
    spec: Mapping[str, Any]
    default: bool = False


@dataclass(frozen=True, slots=True)
class Culling:
    """When idle notebooks are stopped, and how often that is looked for, in minutes."""

    idle_minutes: int = 1440
    check_minutes: int = 1


@dataclass(frozen=True, slots=True)
class NotebookSettings:
    """None of a field leaves what upstream has."""

    images: Mapping[str, tuple[str, ...]] | None = None
    custom_images: bool | None = None
    cpu: Amount | None = None
    memory: Amount | None = None
    workspace: Workspace | None = None
    gpus: Gpus | None = None
    affinities: tuple[Choice, ...] | None = None
    tolerations: tuple[Choice, ...] | None = None
    pod_defaults: tuple[PodDefault, ...] = ()
    culling: Culling | None = None

    @property
    def changes_page(self) -> bool:
        """Whether something of it is on the page for new notebooks."""
        rest = (self.images, self.custom_images, self.cpu, self.memory, self.workspace, self.gpus)
        groups = (self.affinities, self.tolerations)
        return any(item is not None for item in (*rest, *groups)) or any(item.default for item in self.pod_defaults)

    @property
    def offered(self) -> tuple[str, ...]:
        """Every image that it offers, each once."""
        return tuple(dict.fromkeys(image for images in (self.images or {}).values() for image in images))


def validate_notebooks(given: NotebookSettings, chosen: Collection[str]) -> Iterator[Problem]:
    """Problems of what notebooks are offered, with these components."""
    needed = {
        WEB_APP: given.changes_page,
        CONTROLLER: given.culling is not None,
        POD_DEFAULTS: bool(given.pod_defaults),
    }
    for component, needs in needed.items():
        if needs and component not in chosen:
            yield Problem(
                f"{_VARIABLE} is set, and {component} is not installed by this inventory.",
                f"{component}, whose manifests it changes.",
                f"choose {component}, or remove what is for it: {_parts_for(component)}.",
            )
    for image in given.offered:
        if ImageName.parse(image) is None:
            yield Problem(f"{_VARIABLE}.images has {image!r}.", "names of images, as registry/name:tag.", "correct it.")
    yield from _amounts(given)
    yield from _lists(given)


def _lists(given: NotebookSettings) -> Iterator[Problem]:
    """Entries with one key, and choices at first that contradict each other or are none."""
    vendors = [item.key for item in given.gpus.vendors] if given.gpus else []
    lists: Mapping[str, Iterable[str]] = {
        "gpus.vendors": vendors,
        "affinities": [item.key for item in given.affinities or ()],
        "tolerations": [item.key for item in given.tolerations or ()],
        "pod_defaults": [item.name for item in given.pod_defaults],
    }
    for where, keys in lists.items():
        for key, count in Counter(keys).items():
            if count > 1:
                yield Problem(f"{_VARIABLE}.{where} has {key} {count} times.", "each once.", "rename or remove one.")
    for where, choices in (("affinities", given.affinities), ("tolerations", given.tolerations)):
        if len([item for item in choices or () if item.default]) > 1:
            yield Problem(f"{_VARIABLE}.{where} has several with default.", "one that is chosen at first.", "keep one.")
    for item in given.pod_defaults:
        if set_here := sorted({"selector", "desc"} & item.spec.keys()):
            yield Problem(
                f"{_VARIABLE}.pod_defaults: the spec of {item.name} has {' and '.join(set_here)}.",
                "its other fields: name and title make these two.",
                "remove them.",
            )
    if given.gpus and (name := given.gpus.vendor) and name not in vendors:
        yield Problem(
            f"{_VARIABLE}.gpus.vendor is {name}, which no vendor has.{did_you_mean(name, vendors)}",
            f"one of: {', '.join(vendors)}.",
            "correct it, or add the vendor.",
        )


def _amounts(given: NotebookSettings) -> Iterator[Problem]:
    texts = {
        "cpu.request": given.cpu and given.cpu.request,
        "memory.request": given.memory and given.memory.request,
        "workspace.size": given.workspace and given.workspace.size,
    }
    for where, text in texts.items():
        if text is not None and not is_positive(text):
            yield Problem(f"{_VARIABLE}.{where} is {text}.", 'a quantity above 0, such as "0.5" or 2Gi.', "correct it.")
    for where, amount in (("cpu", given.cpu), ("memory", given.memory)):
        factor = amount.limit_factor if amount else None
        if factor not in {None, "none"} and float(str(factor)) < 1:
            yield Problem(
                f"{_VARIABLE}.{where}.limit_factor is {factor}: the limit would be below the request.",
                "none, or a factor of at least 1.",
                "raise it.",
            )


def _parts_for(component: str) -> str:
    return {CONTROLLER: "culling", POD_DEFAULTS: "pod_defaults"}.get(component, "all but culling and pod_defaults")
