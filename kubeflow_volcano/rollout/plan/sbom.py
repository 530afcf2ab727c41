"""The bill of materials of a roll-out: its components and the images of their pods, as CycloneDX 1.5."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from kubeflow_volcano import __version__
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.rollout.images.rename.rewrite import ImageUse
from kubeflow_volcano.rollout.images.report.image_list import ImagesReport
from kubeflow_volcano.rollout.plan.steps import source_of
from kubeflow_volcano.rollout.settings.settings import Settings

_SCHEMA = "http://cyclonedx.org/schema/bom-1.5.schema.json"
_NAMESPACE = uuid.UUID("6b5a2f0e-6c0b-5d0e-9a43-0f7b3d0c6a51")
_PREFIX = "kubeflow-volcano"
_RELEASE = "kubeflow"
_OF_VALIDATION = {"probe"}


def bill_of_materials(settings: Settings, images: ImagesReport, kustomize: str, now: datetime) -> dict[str, Any]:
    """The document. Its serial number follows from the content: the same roll-out has the same one at any time.

    Images that only the validation uses are left out: no roll-out brings them. An image has its digest if the
    manifests or the overrides name it; no registry is asked.
    """
    uses = [item.use for item in images.entries if set(item.use.kinds) - _OF_VALIDATION]
    pulled: dict[str, list[ImageUse]] = {}
    for use in uses:
        pulled.setdefault(use.final, []).append(use)
    content = {
        "components": [
            *(_component(settings, part) for part in settings.components),
            *(_image(name, pulled[name]) for name in sorted(pulled)),
        ],
        "dependencies": list(_dependencies(settings, pulled)),
    }
    tools = [_tool(_PREFIX, __version__)]
    tools += [_tool("kustomize", kustomize)] if kustomize else []
    release = {"type": "platform", "bom-ref": _RELEASE, "name": "Kubeflow", "version": settings.release.version}
    serial = uuid.uuid5(_NAMESPACE, json.dumps([release, tools, content], sort_keys=True))
    return {
        "$schema": _SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {
            "timestamp": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "tools": {"components": tools},
            "component": release,
        },
        **content,
    }


def _tool(name: str, version: str) -> dict[str, Any]:
    return {"type": "application", "name": name, "version": version}


def _component(settings: Settings, part: Component) -> dict[str, Any]:
    """One component of the release, with the place of its manifests."""
    source = source_of(settings, part)
    component: dict[str, Any] = {
        "type": "application",
        "bom-ref": _ref(part.name),
        "name": part.name,
        "version": part.version,
        "description": part.title,
        "properties": _properties({"manifests": [source]}),
    }
    if match := re.search(r"(https?://[^#\s]+)(?:#sha256=([0-9a-f]{64}))?", source):
        reference: dict[str, Any] = {"type": "distribution", "url": match[1]}
        if match[2]:
            reference["hashes"] = [_sha256(match[2])]
        component["externalReferences"] = [reference]
    return component


def _image(name: str, uses: Sequence[ImageUse]) -> dict[str, Any]:
    """One image under the name that nodes pull, with its names before overrides and mirror rules."""
    originals = sorted({use.original for use in uses} - {name})
    component: dict[str, Any] = {"type": "container", "bom-ref": name, "name": name}
    if image := ImageName.parse(name):
        component |= {"name": image.repository, "version": image.version, "purl": _purl(image)}
        if image.digest:
            component["hashes"] = [_sha256(image.digest.removeprefix("sha256:"))]
    kinds = sorted({kind for use in uses for kind in use.kinds} - _OF_VALIDATION)
    component["properties"] = _properties({"original": originals, "used-by": kinds})
    return component


def _purl(image: ImageName) -> str:
    """The package URL of type oci: the name is the last step of the path, the version the digest alone."""
    version = f"@{quote(image.digest, safe='')}" if image.digest else ""
    tag = image.tag or ("" if image.digest else "latest")
    qualifiers = [f"repository_url={quote(image.repository, safe='/:')}", *([f"tag={quote(tag)}"] if tag else [])]
    return f"pkg:oci/{quote(image.name)}{version}?{'&'.join(qualifiers)}"


def _dependencies(settings: Settings, pulled: Mapping[str, Sequence[ImageUse]]) -> Iterator[dict[str, Any]]:
    """The release needs its components, each of them others and its images."""
    chosen = {part.name for part in settings.components}
    yield {"ref": _RELEASE, "dependsOn": sorted(map(_ref, chosen))}
    for part in settings.components:
        required = {settings.stands_in(name) for name in part.requires} & chosen
        own = {name for name, uses in pulled.items() if any(part.name in use.components for use in uses)}
        yield {"ref": _ref(part.name), "dependsOn": [*sorted(map(_ref, required)), *sorted(own)]}
    for name in sorted(pulled):
        yield {"ref": name}


def _ref(component: str) -> str:
    return f"component:{component}"


def _sha256(text: str) -> dict[str, str]:
    return {"alg": "SHA-256", "content": text}


def _properties(values: Mapping[str, Iterable[str]]) -> list[dict[str, str]]:
    return [{"name": f"{_PREFIX}:{name}", "value": value} for name, texts in values.items() for value in texts]
