"""Manifests to objects: plain YAML is parsed, kustomizations are built side by side; builds are cached by content."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from kubeflow_volcano import strict_yaml
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.garbage import collection_paused
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.manifests.kustomizations import Kustomizations
from kubeflow_volcano.rollout.manifests.trees import file_sum

__all__ = ["Renderer"]

_BUILD_SECONDS = 300
_NOWHERE = "http://127.0.0.1:9"
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), _NOWHERE),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), ""),
}
"""A build that would ask another machine fails at once, in place of bringing what nobody has checked."""

_GARBAGE = "800"
"""GOGC: a build lives for a second, and collecting garbage at Go's default of 100 takes a quarter of it."""


class Renderer:
    """Builds with one kustomize, and keeps what it built under `cache`."""

    def __init__(self, kustomize: Path, cache: Path, progress: Progress, known: Kustomizations | None = None) -> None:
        self._kustomize = kustomize
        self._kept = cache / "renders"
        self._progress = progress
        self._known = known or Kustomizations()
        self._sums: dict[Path, str] = {}

    def render(self, places: Mapping[str, Path]) -> dict[str, tuple[Object, ...]]:
        """The objects of each YAML file or kustomization directory, in the order of the text, under the same names.

        Raises:
            InvalidInput: a text is no YAML, no Kubernetes object, names one object twice, or kustomize fails; all
                problems of all places.
        """
        problems: list[Problem] = []
        found: dict[str, tuple[Object, ...]] = {}
        keys: dict[str, str] = {}
        weights: dict[str, int] = {}
        for name, place in places.items():
            if place.is_dir():
                if not keys and not self._kustomize.is_file():
                    raise InvalidInput(_no_kustomize(self._kustomize, place))
                files = self._known.files(place)
                keys[name] = self._key(place, files)
                weights[name] = sum(path.stat().st_size for path in files)

        def one(name: str) -> tuple[Object, ...]:
            place = places[name]
            return self._built(name, place, keys[name]) if name in keys else _objects(place.read_bytes(), str(place))

        # One more than processors: while one parses, which no two can do at a time, the others' builds go on.
        with collection_paused(), ThreadPoolExecutor(len(os.sched_getaffinity(0)) + 1, "render") as pool:
            # The largest first: one that is started last would end alone.
            order = sorted(places, key=lambda name: -weights.get(name, 0))
            running = {name: pool.submit(one, name) for name in order}
            for name in places:
                try:
                    found[name] = running[name].result()
                except InvalidInput as error:
                    problems += error.problems
        if problems:
            raise InvalidInput(problems)
        return found

    def _built(self, name: str, place: Path, key: str) -> tuple[Object, ...]:
        kept = self._kept / f"{key}.json"
        try:
            return tuple(json.loads(kept.read_bytes()))
        except (FileNotFoundError, ValueError):
            pass
        self._progress(f"building {name} with kustomize")
        objects = _objects(_run(place, self._kustomize), f"kustomize build {place}")
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=kept.parent, delete=False) as partial:
            partial.write(json.dumps(objects))  # in one piece, which is C; json.dump encodes in Python
        Path(partial.name).replace(kept)
        return objects

    def _key(self, folder: Path, files: frozenset[Path]) -> str:
        """Sum over all that the build reads and what builds it, wherever they lie."""
        total = hashlib.sha256(self._sum(self._kustomize).encode())
        for near, path in sorted((os.path.relpath(path, folder.resolve()), path) for path in files):
            total.update(f"{near}\0{self._sum(path)}\n".encode())
        return total.hexdigest()

    def _sum(self, path: Path) -> str:
        if path not in self._sums:
            self._sums[path] = file_sum(path)
        return self._sums[path]


def _objects(text: bytes, origin: str) -> tuple[Object, ...]:
    found: list[Object] = []
    problems: list[Problem] = []
    for number, document in enumerate(strict_yaml.parse(text, origin), start=1):
        for item in _items(document):
            if trouble := _trouble(item):
                problems.append(
                    Problem(
                        f"{origin}, document {number}: {trouble}.",
                        "Kubernetes objects with apiVersion, kind and metadata.name.",
                        "correct the file, or the source that names it.",
                    )
                )
            else:
                found.append(item)
    seen: set[Ref] = set()
    for obj in found:
        ref = Ref.of(obj)
        if ref in seen:
            problems.append(Problem(f"{origin}: {ref} stands there twice.", "each object once.", "remove one of them."))
        seen.add(ref)
    if not found and not problems:
        problems.append(Problem(f"{origin} holds no object.", "the component's manifests.", "correct the source."))
    if problems:
        raise InvalidInput(problems)
    return tuple(found)


def _items(document: Any) -> Iterator[Any]:
    if isinstance(document, dict) and document.get("kind") == "List" and isinstance(document.get("items"), list):
        yield from document["items"]
    else:
        yield document


def _trouble(item: Any) -> str:
    if not isinstance(item, dict):
        return f"is {type(item).__name__}, no mapping"
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
    # Not by pipes: reading them would wait for the parser of another build, and kustomize for the reading.
    with tempfile.TemporaryFile() as text, tempfile.TemporaryFile() as complaints:
        try:
            done = subprocess.run(
                [kustomize, "build", folder],
                stdin=subprocess.DEVNULL,
                stdout=text,
                stderr=complaints,
                env=environment,
                timeout=_BUILD_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise InvalidInput(
                Problem(
                    f"kustomize build {folder} was still busy after {_BUILD_SECONDS} s.",
                    "a kustomization that builds.",
                    "see why kustomize takes so long there.",
                )
            ) from error
        except OSError as error:
            raise InvalidInput(
                Problem(f"{kustomize} does not run: {error}.", "a kustomize for this machine.", "set kustomize_binary.")
            ) from error
        text.seek(0)
        complaints.seek(0)
        if done.returncode:
            said = complaints.read().decode("utf-8", "replace").strip()
            raise InvalidInput(
                Problem(
                    f"kustomize build {folder} failed: {said}.", "a kustomization that builds.", "correct the source."
                )
            )
        return text.read()
