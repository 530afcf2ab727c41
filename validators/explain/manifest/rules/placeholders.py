"""Placeholders of a text about jobs that were not replaced: {name}, {{ name }}, ${NAME} or <name>.

Rules: none of its own: no program reads them; they are marks of templates (Jinja, Go, shell) and of documentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kubeflow_volcano.text import few
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.manifest.model import Flaw, Manifest, flaw
from kubeflow_volcano.validators.explain.manifest.templates import Path, shown

_MARK = re.compile(r"\{\{?-?\s*[$.\w][\w. -]*\}?\}|\$\{?[A-Za-z_]\w*\}?|<[A-Za-z][\w ./-]*>")
_WORD = re.compile(r"[A-Za-z_][\w.-]*")
_VALUES = frozenset(
    {
        *("claimName", "image", "name", "namespace", "nodeName", "persistentVolumeClaim", "priorityClass"),
        *("priorityClassName", "queue", "schedulerName", "secretName", "serviceAccountName", "storageClassName"),
        *("cpu", "memory", "minAvailable", "minMember", "parallelism", "replicas", "slotsPerWorker"),
    }
)
"""Fields whose values no API server takes with braces, a dollar sign or angle brackets in them."""
_TEXTS = frozenset({"annotations", "args", "command", "data", "env", "envFrom", "labels", "stringData", "trialSpec"})
"""Fields below which such characters are right: texts of people, of shells, and of Katib."""
_DEVICES = re.compile(r"[\w.-]+/[\w.-]+")


def placeholder(value: Any) -> str:
    """The placeholder that a value is or contains; empty if it does not. YAML reads `{name}` as a mapping."""
    if isinstance(value, dict) and len(value) == 1:
        ((key, inside),) = value.items()
        return f"{{{key}}}" if inside is None and isinstance(key, str) and _WORD.fullmatch(key) else ""
    found = _MARK.search(value) if isinstance(value, str) else None
    return found[0] if found else ""


def template_mark(text: str) -> str:
    """What a template tool would replace in a file that is no YAML, such as `{{ image }}` as a value; empty if none."""
    found = re.search(r"(?m)^[\s-]*(?:[\w./-]+:\s*)?(\{\{.*?\}\}|\{%.*?%\})", text)
    return found[1] if found else ""


def placeholders(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """Placeholders in fields that name something or say how many; the texts of kinds with templates are theirs."""
    if not (manifest.is_known or manifest.kind in {"PodGroup", "Queue"}):
        return
    if places := [*_places(manifest.obj, ())]:
        texts = list(dict.fromkeys(text for _, text in places))
        yield flaw(
            "Placeholder",
            f"{few([f'{shown(path)}: {text}' for path, text in places])}, a placeholder in place of a value.",
            needed="values; nothing else was judged in this manifest.",
            todo=f"write what you have in place of {few(texts)}.",
        )


def _places(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key in _TEXTS:
                continue
            in_amounts = bool(path) and path[-1] in {"limits", "requests"} and _DEVICES.fullmatch(str(key))
            text = placeholder(item) if key in _VALUES or in_amounts else ""
            yield from [((*path, key), text)] if text else _places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _places(item, (*path, index))
