"""One image of the list, and what is known about it."""

from __future__ import annotations

from dataclasses import dataclass

from kubeflow_volcano.rollout.images.rename.rewrite import ImageUse
from kubeflow_volcano.rollout.images.report.judge import Judgement


@dataclass(frozen=True, slots=True)
class Entry:
    """One image, its new name and what is known about it."""

    use: ImageUse
    judgement: Judgement

    @property
    def source(self) -> str:
        """The image in its original registry: its override, or itself."""
        return self.use.override or self.use.original
