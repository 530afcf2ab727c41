"""The files of a plan."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kubeflow_volcano.cluster import applied_objects
from kubeflow_volcano.files import write_texts
from kubeflow_volcano.rollout.plan import markdown
from kubeflow_volcano.rollout.plan.build import Plan
from kubeflow_volcano.rollout.plan.sbom import bill_of_materials

MARKDOWN = "plan.md"


def texts_of(plan: Plan, document: Mapping[str, Any]) -> dict[str, str]:
    """Texts by file name: the plan, its objects, its images in several forms, and its bill of materials.

    `kubeflow-volcano validate --expected objects.json` checks that all of these objects exist.
    """
    images = plan.images
    objects = {name: applied_objects.lasting_objects(part) for name, part in plan.desired.parts.items()}
    return {
        "plan.json": _json(document),
        MARKDOWN: markdown.render(document),
        "objects.json": _json(applied_objects.to_document(objects, plan.settings.release.version)),
        "images.txt": images.text(),
        "images.json": _json(images.as_dict()),
        "images-skopeo.yaml": images.skopeo(),
        "images-crane.txt": images.crane(),
        "sbom.cdx.json": _json(bill_of_materials(plan.settings, images, plan.kustomize, datetime.now(UTC))),
    }


def write(directory: Path, texts: Mapping[str, str]) -> dict[str, str]:
    """Write each text to its file below `directory`; returns the path of each by name.

    Raises:
        NotWritten: it cannot be written.
    """
    return write_texts(directory, texts, "the plan", "plan_directory")


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
