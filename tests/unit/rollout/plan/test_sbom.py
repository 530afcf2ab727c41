"""The bill of materials is CycloneDX, and has what a roll-out brings: no more, no less."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from kubeflow_volcano.rollout.images.rename.rewrite import ImageUse
from kubeflow_volcano.rollout.images.report.entry import Entry
from kubeflow_volcano.rollout.images.report.image_list import ImagesReport
from kubeflow_volcano.rollout.images.report.judge import Judgement
from kubeflow_volcano.rollout.plan.sbom import bill_of_materials
from kubeflow_volcano.rollout.settings.settings import parse

DIGEST = "sha256:" + "0a" * 32
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

_TEXT = {"type": "string", "minLength": 1}
_HASH = {
    "type": "object",
    "required": ["alg", "content"],
    "properties": {"alg": {"const": "SHA-256"}, "content": {"type": "string", "pattern": "^[a-f0-9]{64}$"}},
    "additionalProperties": False,
}
_COMPONENT = {
    "type": "object",
    "required": ["type", "name"],
    "properties": {
        "type": {"enum": ["application", "container", "platform"]},
        "bom-ref": _TEXT,
        "name": _TEXT,
        "version": _TEXT,
        "description": _TEXT,
        "purl": {"type": "string", "pattern": "^pkg:oci/"},
        "hashes": {"type": "array", "items": _HASH},
        "externalReferences": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["url", "type"],
                "properties": {
                    "url": {"type": "string", "format": "uri"},
                    "type": {"const": "distribution"},
                    "hashes": {"type": "array", "items": _HASH},
                },
                "additionalProperties": False,
            },
        },
        "properties": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": _TEXT, "value": _TEXT}, "additionalProperties": False},
        },
    },
    "additionalProperties": False,
}
SCHEMA = {
    "type": "object",
    "required": ["bomFormat", "specVersion", "version"],
    "properties": {
        "$schema": {"const": "http://cyclonedx.org/schema/bom-1.5.schema.json"},
        "bomFormat": {"const": "CycloneDX"},
        "specVersion": {"const": "1.5"},
        "serialNumber": {
            "type": "string",
            "pattern": "^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
        },
        "version": {"const": 1},
        "metadata": {
            "type": "object",
            "properties": {
                "timestamp": {"type": "string", "format": "date-time"},
                "tools": {
                    "type": "object",
                    "properties": {"components": {"type": "array", "items": _COMPONENT, "uniqueItems": True}},
                    "additionalProperties": False,
                },
                "component": _COMPONENT,
            },
            "additionalProperties": False,
        },
        "components": {"type": "array", "items": _COMPONENT, "uniqueItems": True},
        "dependencies": {
            "type": "array",
            "uniqueItems": True,
            "items": {
                "type": "object",
                "required": ["ref"],
                "properties": {"ref": _TEXT, "dependsOn": {"type": "array", "items": _TEXT, "uniqueItems": True}},
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}
"""What this project uses of CycloneDX 1.5, with the types and patterns of its schema."""


def entry(final: str, *components: str, original: str = "", kind: str = "pod") -> Entry:
    original = original or final
    use = ImageUse(original, None, final, final, final != original, None, (original,), (kind,), components, ("x",))
    return Entry(use, Judgement("", None, (), ()))


def bill(*entries: Entry, now: datetime = NOW, **variables: Any) -> dict[str, Any]:
    found = bill_of_materials(parse(variables), ImagesReport(entries, (), (), ()), "5.8.1", now)
    Draft202012Validator(SCHEMA, format_checker=FormatChecker()).validate(found)
    refs = [item["bom-ref"] for item in found["components"]]
    assert len(refs) == len(set(refs))
    named = {ref for item in found["dependencies"] for ref in (item["ref"], *item.get("dependsOn", ()))}
    assert named == {*refs, found["metadata"]["component"]["bom-ref"]}
    return found


def images(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {item["bom-ref"]: item for item in found["components"] if item["type"] == "container"}


def test_the_release_its_components_and_tools_are_named() -> None:
    found = bill(kubeflow_release="1.10.2")
    assert found["metadata"]["component"] | {"bom-ref": ""} == {
        "type": "platform",
        "bom-ref": "",
        "name": "Kubeflow",
        "version": "1.10.2",
    }
    assert found["metadata"]["timestamp"] == "2026-01-02T03:04:05Z"
    assert [tool["name"] for tool in found["metadata"]["tools"]["components"]] == ["kubeflow-volcano", "kustomize"]
    parts = {item["name"]: item for item in found["components"]}
    assert set(parts) == {part.name for part in parse({"kubeflow_release": "1.10.2"}).components}
    (reference,) = parts["volcano"]["externalReferences"]
    assert reference["url"].startswith("https://")
    assert "#" not in reference["url"]
    assert len(reference["hashes"][0]["content"]) == 64


@pytest.mark.parametrize(
    ("name", "purl"),
    [
        ("docker.io/library/nginx:1.27", "pkg:oci/nginx?repository_url=docker.io/library/nginx&tag=1.27"),
        (
            f"ghcr.io/a/b@{DIGEST}",
            f"pkg:oci/b@{DIGEST.replace(':', '%3A')}?repository_url=ghcr.io/a/b",
        ),
        (
            f"registry.lan:5000/a/b:v1@{DIGEST}",
            f"pkg:oci/b@{DIGEST.replace(':', '%3A')}?repository_url=registry.lan:5000/a/b&tag=v1",
        ),
        ("quay.io/a/b", "pkg:oci/b?repository_url=quay.io/a/b&tag=latest"),
    ],
)
def test_images_have_package_urls_and_the_digests_that_are_known(name: str, purl: str) -> None:
    found = images(bill(entry(name, "volcano")))[name]
    assert found["purl"] == purl
    known = [{"alg": "SHA-256", "content": DIGEST.removeprefix("sha256:")}] if DIGEST in name else None
    assert found.get("hashes") == known


def test_an_image_is_listed_once_under_the_name_that_nodes_pull() -> None:
    found = bill(
        entry("m.lan/a:1", "volcano", original="docker.io/x/a:1"),
        entry("m.lan/a:1", "training-operator", original="quay.io/x/a:1"),
    )
    image = images(found)["m.lan/a:1"]
    originals = [item["value"] for item in image["properties"] if item["name"] == "kubeflow-volcano:original"]
    assert originals == ["docker.io/x/a:1", "quay.io/x/a:1"]
    uses = {item["ref"]: item.get("dependsOn", []) for item in found["dependencies"]}
    users = {ref for ref, needs in uses.items() if "m.lan/a:1" in needs}
    assert users == {"component:volcano", "component:training-operator"}


def test_images_of_the_validation_are_not_brought() -> None:
    assert not images(bill(entry("docker.io/library/busybox:1.37", "validation", kind="probe")))


def test_no_credentials_are_repeated() -> None:
    source = f"https://me:secret@example.com/v.yaml#sha256={'a' * 64}"
    assert "secret" not in str(bill(volcano_source=source))


def test_the_serial_number_follows_from_the_content() -> None:
    first, later = bill(entry("a.io/b:1", "volcano")), bill(entry("a.io/b:1", "volcano"), now=NOW + timedelta(days=1))
    assert first["serialNumber"] == later["serialNumber"]
    assert first["serialNumber"] != bill(entry("a.io/b:2", "volcano"))["serialNumber"]
