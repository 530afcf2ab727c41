"""Manifests to objects: plain YAML is parsed, a kustomization is built by kustomize; builds are cached by content."""

from __future__ import annotations

import hashlib
import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kubeflow_volcano import strict_yaml
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.sources import KUSTOMIZATIONS

__all__ = ["render"]

_BUILD_SECONDS = 300


def render(place: Path, kustomize: Path, cache: Path, progress: Progress) -> tuple[Object, ...]:
    """The objects of a YAML file or of a kustomization directory, in the order of the text.

    Raises:
        InvalidInput: the text is no YAML, no Kubernetes object, names one object twice, or kustomize fails.
    """
    if not place.is_dir():
        return _objects(place.read_bytes(), str(place))
    _see_that_it_is_there(kustomize, place)
    key = _key(place, kustomize)
    kept = cache / "renders" / f"{key}.json"
    if key and kept.is_file():
        return tuple(json.loads(kept.read_bytes()))
    progress(f"building {place} with kustomize")
    objects = _objects(_run(place, kustomize), f"kustomize build {place}")
    if key:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=kept.parent, delete=False) as partial:
            json.dump(objects, partial)
        Path(partial.name).replace(kept)
    return objects


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


def _see_that_it_is_there(kustomize: Path, place: Path) -> None:
    if not kustomize.is_file():
        raise InvalidInput(
            Problem(
                f"no kustomize at {kustomize}.",
                f"kustomize, which builds {place}.",
                "run the role kustomize first, or set kustomize_binary.",
            )
        )


def _run(folder: Path, kustomize: Path) -> bytes:
    try:
        done = subprocess.run([kustomize, "build", folder], capture_output=True, timeout=_BUILD_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise InvalidInput(
            Problem(
                f"kustomize build {folder} was still busy after {_BUILD_SECONDS} s.",
                "a kustomization that builds; remote bases need the network.",
                "give a directory with everything in it.",
            )
        ) from error
    except OSError as error:
        raise InvalidInput(
            Problem(f"{kustomize} does not run: {error}.", "a kustomize for this machine.", "set kustomize_binary.")
        ) from error
    if done.returncode:
        text = done.stderr.decode("utf-8", "replace").strip()
        raise InvalidInput(
            Problem(f"kustomize build {folder} failed: {text}.", "a kustomization that builds.", "correct the source.")
        )
    return done.stdout


def _key(folder: Path, kustomize: Path) -> str:
    """Sum over all that the build reads; empty when a part of it is remote and so cannot be seen from here."""
    total = hashlib.sha256(hashlib.sha256(kustomize.read_bytes()).digest())
    try:
        inputs = sorted(_inputs(folder.resolve(), set()))
    except _RemoteError:
        return ""
    for path in inputs:
        total.update(f"{path}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


class _RemoteError(Exception):
    """A base lies on another machine."""


def _inputs(folder: Path, seen: set[Path]) -> set[Path]:
    """Every local file that the kustomization of `folder` may read: each text in it that is the path of something."""
    if folder in seen:
        return set()
    seen.add(folder)
    own = next((folder / name for name in KUSTOMIZATIONS if (folder / name).is_file()), None)
    if own is None:
        return {path for path in folder.rglob("*") if path.is_file()}
    found = {own}
    for document in strict_yaml.parse(own.read_bytes(), str(own)):
        for text in _texts(document):
            if "://" in text or text.startswith(("github.com/", "git@")):
                raise _RemoteError
            place = (folder / text.partition("=")[2]) if "=" in text else (folder / text)
            if "\n" in text or len(text) > 255 or not place.exists():  # noqa: PLR2004  no file name is longer
                continue
            found |= {place.resolve()} if place.is_file() else _inputs(place.resolve(), seen)
    return found


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
