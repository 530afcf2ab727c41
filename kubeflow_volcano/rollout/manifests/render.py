"""Manifests to objects: plain YAML is parsed, kustomizations are built in parallel; builds are cached by content."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from kubeflow_volcano import foreign
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.directories import require_private
from kubeflow_volcano.files import write_file
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.garbage import collection_paused
from kubeflow_volcano.problems import InvalidInput, Problem, collecting
from kubeflow_volcano.programs import ProgramError, run_program
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.retries import naming_full_disks
from kubeflow_volcano.rollout.manifests.kustomizations import Kustomizations
from kubeflow_volcano.rollout.manifests.pruning import mark_used
from kubeflow_volcano.rollout.manifests.trees import file_sum

_BUILD_SECONDS = 300
_NOWHERE = "http://127.0.0.1:9"
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), _NOWHERE),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), ""),
}
"""A build that needs another machine fails at once instead of using files without a known sum."""

_GARBAGE = "800"
"""GOGC: a build takes a second, and Go's default of 100 spends a quarter of it on collecting garbage."""


class Renderer:
    """Builds with one kustomize, and keeps the results below `cache`.

    `verify` is called before the program is run for the first time, and raises what forbids that; without it the
    program is one that the caller trusts.
    """

    def __init__(
        self,
        kustomize: Path,
        cache: Path,
        progress: Progress,
        known: Kustomizations | None = None,
        *,
        verify: Callable[[], None] | None = None,
    ) -> None:
        self._kustomize = kustomize
        self._verify = verify
        self._verifying = threading.Lock()
        self._kept = cache / "renders"
        self._progress = progress
        self._known = known or Kustomizations()
        self._sums: dict[Path, str] = {}

    def render(self, places: Mapping[str, Path]) -> dict[str, tuple[Object, ...]]:
        """The objects of each YAML file or kustomization directory, in the order of the text, under the same names.

        Raises:
            InvalidInput: a text is no YAML, no Kubernetes object, names one object twice, or kustomize fails or is not
                the one that it must be; all problems of all places.
        """
        problems: list[Problem] = []
        objects: dict[str, tuple[Object, ...]] = {}
        keys: dict[str, str] = {}
        weights: dict[str, int] = {}
        for name, place in places.items():
            if place.is_dir():
                if not keys and not self._kustomize.is_file():
                    raise InvalidInput(_no_kustomize(self._kustomize, place))
                files = self._known.files(place)
                keys[name] = self._key(place, files)
                weights[name] = sum(path.stat().st_size for path in files)

        if keys:
            require_private(self._kept)  # what is kept there is used as it is
            if not all((self._kept / f"{key}.json").is_file() for key in keys.values()):
                self._require_known()

        def one(name: str) -> tuple[Object, ...]:
            place = places[name]
            return self._built(name, place, keys[name]) if name in keys else objects_in(place.read_bytes(), str(place))

        # One more than processors: while one parses, which no two can do at a time, the others' builds go on.
        with collection_paused(), ThreadPoolExecutor(len(os.sched_getaffinity(0)) + 1, "render") as pool:
            # The largest first: one that is started last would end alone.
            order = sorted(places, key=lambda name: -weights.get(name, 0))
            running = {name: pool.submit(one, name) for name in order}
            for name in places:
                with collecting(problems):
                    objects[name] = running[name].result()
        if problems:
            raise InvalidInput(dict.fromkeys(problems))
        return objects

    def _built(self, name: str, place: Path, key: str) -> tuple[Object, ...]:
        kept = self._kept / f"{key}.json"
        try:
            objects = tuple(read_json(kept.read_bytes()))
        except (FileNotFoundError, ValueError):
            pass
        else:
            mark_used(kept)
            return objects
        self._progress(f"building {name} with kustomize")
        self._require_known()
        objects = objects_in(_run(place, self._kustomize), f"kustomize build {place}")
        # In one piece, which is C: json.dump encodes in Python. Sources of your own may have Secrets.
        with naming_full_disks(self._kept):
            write_file(kept, json.dumps(objects), 0o600)
        return objects

    def _require_known(self) -> None:
        with self._verifying:
            if self._verify:
                self._verify()
            self._verify = None

    def _key(self, folder: Path, files: frozenset[Path]) -> str:
        """Sum over kustomize and all files that the build reads, independent of their place."""
        total = hashlib.sha256(self._sum(self._kustomize).encode())
        for near, path in sorted((os.path.relpath(path, folder.resolve()), path) for path in files):
            total.update(f"{near}\0{self._sum(path)}\n".encode())
        return total.hexdigest()

    def _sum(self, path: Path) -> str:
        if path not in self._sums:
            self._sums[path] = file_sum(path)
        return self._sums[path]


def objects_in(text: bytes, origin: str) -> tuple[Object, ...]:
    """The objects of a manifest, in its order; those of a List are its items.

    Raises:
        InvalidInput: it is no YAML, has none, something else, or one object twice.
    """
    objects: list[Object] = []
    problems: list[Problem] = []
    for number, document in enumerate(foreign.parse(text, origin), start=1):
        for item in _items(document):
            if defect := _defect(item):
                problems.append(
                    Problem(
                        f"{origin}, document {number}: {defect}.",
                        "Kubernetes objects with apiVersion, kind and metadata.name.",
                        "correct the file, or the source that names it.",
                    )
                )
            else:
                objects.append(item)
    seen: set[Ref] = set()
    for obj in objects:
        ref = Ref.of(obj)
        if ref in seen:
            problems.append(Problem(f"{origin} has {ref} twice.", "each object once.", "remove one of them."))
        seen.add(ref)
    if not objects and not problems:
        problems.append(Problem(f"{origin} has no object.", "the component's manifests.", "correct the source."))
    if problems:
        raise InvalidInput(problems)
    return tuple(objects)


def _items(document: Any) -> Iterator[Any]:
    if isinstance(document, dict) and document.get("kind") == "List" and isinstance(document.get("items"), list):
        yield from document["items"]
    else:
        yield document


def _defect(item: Any) -> str:
    if not isinstance(item, dict):
        return f"is a {type(item).__name__}, not a mapping"
    meta = item.get("metadata")
    fields = {
        "apiVersion": item.get("apiVersion"),
        "kind": item.get("kind"),
        "metadata.name": meta.get("name") if isinstance(meta, dict) else None,
    }
    missing = [name for name, value in fields.items() if not isinstance(value, str) or not value]
    return f"has no {', '.join(missing)}" if missing else ""


def _no_kustomize(kustomize: Path, place: Path) -> Problem:
    return Problem(
        f"no kustomize at {kustomize}.",
        f"kustomize, which builds {place}.",
        "run the role kustomize first, or set kustomize_binary.",
    )


def _run(folder: Path, kustomize: Path) -> bytes:
    environment = {"GOGC": _GARBAGE, **os.environ, **_ENVIRONMENT}
    try:
        done = run_program(kustomize, "build", folder, seconds=_BUILD_SECONDS, environment=environment)
    except ProgramError as error:
        raise InvalidInput.problem(
            f"kustomize build {folder}: {error}.",
            f"a kustomization that builds within {_BUILD_SECONDS} s, and a kustomize for this machine.",
            "correct the source, or set kustomize_binary.",
        ) from error
    if done.code:
        raise InvalidInput.problem(
            f"kustomize build {folder} failed: {done.complaint}.",
            "a kustomization that builds.",
            "correct the source.",
        )
    return done.stdout
