"""The bill of materials of a release in CycloneDX: its files, and the libraries that requirements/run.txt locks."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, Property, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

_NAME = "kubeflow-volcano"
_NAMESPACE = uuid.UUID("0a3c4f1e-53b5-5f0c-8f6a-3d3b1d1f2b77")


class Locked(NamedTuple):
    """A library of a lock: what its files may be, who requires it, and where it applies (empty: everywhere)."""

    name: str
    version: str
    marker: str
    sums: tuple[str, ...]
    required_by: tuple[str, ...]


def locked(text: str) -> list[Locked]:
    """The entries of a lock as `uv pip compile --generate-hashes` writes it."""
    return [_locked(part) for part in re.split(r"(?m)^(?=[A-Za-z0-9])", text) if part.strip()]


def _locked(part: str) -> Locked:
    head, _, rest = part.partition("\n")
    name, version, marker = re.findall(r"^([\w.-]+)==([^\s;\\]+)(?: ; (.*?))? \\$", head)[0]
    _, _, users = rest.partition("    # via")
    names = re.findall(r"(?m)^(?: *#)? +([A-Za-z0-9][\w.-]*)(?! \(.*:)", users)
    return Locked(name, version, marker, tuple(re.findall(r"sha256:([0-9a-f]{64})", rest)), tuple(names))


def bill_of_materials(version: str, files: Sequence[Path], lock: str, epoch: int) -> str:
    """The document. It is the same for the same files, lock and time (in seconds since 1970)."""
    libraries = {entry: _library(entry) for entry in locked(lock)}
    root = Component(
        name=_NAME,
        version=version,
        type=ComponentType.APPLICATION,
        bom_ref=_NAME,
        licenses=[DisjunctiveLicense(id="Apache-2.0")],
        components=[_file(path) for path in files],
    )
    bom = Bom(components=libraries.values())
    bom.metadata.component = root
    bom.metadata.timestamp = datetime.fromtimestamp(epoch, UTC)
    contents = "\n".join([version, lock, *(component.bom_ref.value or "" for component in root.components)])
    bom.serial_number = uuid.uuid5(_NAMESPACE, contents)
    for entry, library in libraries.items():
        known = [other for each, other in libraries.items() if entry.name in each.required_by]
        bom.register_dependency(library, known)
    bom.register_dependency(root, [each for entry, each in libraries.items() if _NAME in entry.required_by])
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def _library(entry: Locked) -> Component:
    address = ExternalReference(
        type=ExternalReferenceType.DISTRIBUTION,
        url=XsUri(f"https://pypi.org/project/{entry.name}/{entry.version}/"),
        hashes=_hashes(entry.sums),
    )
    purl = PackageURL("pypi", name=entry.name, version=entry.version)
    return Component(
        name=entry.name,
        version=entry.version,
        type=ComponentType.LIBRARY,
        bom_ref=str(purl),
        purl=purl,
        external_references=[address],
        properties=[Property(name=f"{_NAME}:marker", value=entry.marker)] if entry.marker else [],
    )


def _file(path: Path) -> Component:
    found = sha256(path.read_bytes()).hexdigest()
    return Component(name=path.name, type=ComponentType.FILE, bom_ref=f"{path.name}@{found}", hashes=_hashes([found]))


def _hashes(sums: Sequence[str]) -> Iterator[HashType]:
    return (HashType(alg=HashAlgorithm.SHA_256, content=each) for each in sums)
