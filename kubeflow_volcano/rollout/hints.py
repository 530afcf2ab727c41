"""Which variables help against problems that are found where variables are not known."""

from __future__ import annotations

from collections.abc import Mapping

from kubeflow_volcano.apply.problems import CONFLICT, CONFLICTING_FIELDS, NOT_ALONE
from kubeflow_volcano.apply.schedule import OUT_OF_TIME
from kubeflow_volcano.cluster.api.credentials import NO_CREDENTIALS

_ADOPT = "kubeflow_adopt with the name of its component takes over an object that others brought"

HINTS: Mapping[str, str] = {
    CONFLICT: f"{_ADOPT}.",
    CONFLICTING_FIELDS: f"{_ADOPT}, and this leaves the fields to that manager: kubeflow_ceded_fields: {{fields}}",
    NOT_ALONE: "Fields that are left to others are named in kubeflow_ceded_fields.",
    NO_CREDENTIALS: "The variables are kubeflow_kubeconfig and kubeflow_context.",
    OUT_OF_TIME: "Raise kubeflow_wait_timeout_seconds if this repeats.",
}
"""A sentence for each reason of a problem, with its details as placeholders."""
