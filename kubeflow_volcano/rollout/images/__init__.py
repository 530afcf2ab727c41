"""Images: every reference found, renamed by override and mirror rule, judged without a registry, listed for tools."""

from __future__ import annotations

from kubeflow_volcano.rollout.images.find import Reference
from kubeflow_volcano.rollout.images.probe import Probe, ask_mirror
from kubeflow_volcano.rollout.images.report import ImagesReport, report
from kubeflow_volcano.rollout.images.rewrite import ImageUse, Rewritten, find, rewrite

__all__ = ["ImageUse", "ImagesReport", "Probe", "Reference", "Rewritten", "ask_mirror", "find", "report", "rewrite"]
