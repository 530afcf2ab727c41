"""The examples for users: what each manifest in `examples/` shows, and from which release on its kinds exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from kubeflow_volcano import foreign
from kubeflow_volcano.catalog.data import load
from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.decode import decode
from kubeflow_volcano.problems import InvalidInput, Problem

HOME = Path(str(files("kubeflow_volcano"))) / "examples"
"""The directory of the manifests: in a checkout a link to `examples/`, which the wheel has as files."""

PIPELINE, ARGO_PIPELINE = UPLOADS = "train_and_predict", "train_and_predict-argo"
"""One pipeline in two forms, which the API of Pipelines takes and kubectl does not: that of Pipelines 2, and Argo's."""

_PARTS = ("You see", "GPUs", "Images", "Started")
_NO_IMAGES = "argostub/"
"""Names of steps that the driver of Pipelines 2 carries out itself: no images, and known to it by these names."""


@dataclass(frozen=True, slots=True)
class ExampleKind:
    """A custom resource: the component that brings it, and the first release with it; None comes with Volcano."""

    api_version: str
    kind: str
    component: str
    since: str | None


@dataclass(frozen=True, slots=True)
class Example:
    """One manifest. `name` is its path without the suffix; `title` to `started` are of its header.

    `title` says what it shows, `sees` what its user sees when it works, and `started` on what it was tried by tests.
    """

    name: str
    title: str
    sees: str
    gpus: str
    images: str
    started: str
    objects: tuple[dict[str, Any], ...]

    @property
    def path(self) -> str:
        """Path of the file below `HOME`."""
        return f"{self.name}.yaml"

    @property
    def kinds(self) -> tuple[ExampleKind, ...]:
        """Its custom resources, each once, those of Katib's trials included."""
        kinds = {(obj["apiVersion"], obj["kind"]) for obj in self.with_trials}
        return tuple(item for item in example_kinds() if (item.api_version, item.kind) in kinds)

    @property
    def with_trials(self) -> tuple[dict[str, Any], ...]:
        """Its objects, and the job that each of Katib's trials is, with the placeholders of its parameters."""
        trials = [item["spec"]["trialTemplate"]["trialSpec"] for item in self.objects if item["kind"] == "Experiment"]
        return (*self.objects, *trials)

    @property
    def since(self) -> str | None:
        """The first release that has all of its kinds; None where Volcano alone has them."""
        return max(filter(None, (item.since for item in self.kinds)), key=version_key, default=None)


@cache
def example_kinds() -> tuple[ExampleKind, ...]:
    """Every custom resource of the examples."""
    return decode(tuple[ExampleKind, ...], load("examples")["kinds"], "kinds")


@cache
def examples() -> tuple[Example, ...]:
    """Every example, by name; those of the folder itself before those of folders in it."""
    names = [path.relative_to(HOME).with_suffix("").as_posix() for path in HOME.glob("**/*.yaml")]
    ordered = sorted(set(names) - {*UPLOADS}, key=lambda name: (name.count("/"), name))
    return tuple(map(load_example, ordered))


def load_upload(name: str) -> tuple[dict[str, Any], ...]:
    """The documents of one of `UPLOADS`."""
    path = f"{name}.yaml"
    return tuple(foreign.parse((HOME / path).read_text(encoding="utf-8"), f"examples/{path}"))


def load_example(name: str) -> Example:
    """The example of that name, such as `jobs/tfjob`.

    Raises:
        InvalidInput: its header lacks a part.
    """
    text = (HOME / f"{name}.yaml").read_text(encoding="utf-8")
    header = dict(_header(text))
    if missing := [part for part in ("", *_PARTS) if not header.get(part)]:
        named = ", ".join(f"`# {part}: …`" if part else "a first line that says what it shows" for part in missing)
        problem = Problem(f"examples/{name}.yaml without {named}.", f"a title, {', '.join(_PARTS)}.", "add it.")
        raise InvalidInput(problem)
    title, sees, gpus, images, started = (header[part] for part in ("", *_PARTS))
    return Example(name, title, sees, gpus, images, started, tuple(foreign.parse(text, f"examples/{name}.yaml")))


def _header(text: str) -> Iterator[tuple[str, str]]:
    """The parts of the comment at the head of a manifest, by name; the title has none."""
    lines = re.match(r"---\n((?:#.*\n)+)", text)
    blocks = re.split(r"\n#\n|\n(?=# [A-Z][A-Za-z ]*: )", lines[1].rstrip("\n") if lines else "")
    for block in blocks:
        words = " ".join(line.lstrip("#").strip() for line in block.splitlines())
        name, mark, rest = words.partition(": ")
        yield (name, rest) if mark and name in _PARTS else ("", words) if block is blocks[0] else ("about", words)


def example_images() -> tuple[str, ...]:
    """Every image that the examples and the pipelines to upload name, each once."""
    written = (*(example.objects for example in examples()), *map(load_upload, UPLOADS))
    named = dict.fromkeys(image for objects in written for image in _images(objects))
    return tuple(image for image in named if not image.startswith(_NO_IMAGES))


def _images(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("image"), str):
            yield value["image"]
        value = value.values()
    for item in () if isinstance(value, str | float | int | None) else value:
        yield from _images(item)
