"""kfv_bundle: what an installation needs, in one directory. The step of the role bundle."""

from __future__ import annotations

from typing import Any

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.action import (
    Action,
    display,
    failed,
    show,
    warn,
)
from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.rollout.bundle.sums import size_of
from kubeflow_volcano.rollout.packing.pack import Packed, pack
from kubeflow_volcano.text import counted, table


class ActionModule(Action):
    """Fill the bundle of the inventory."""

    def answer(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return what was fetched; fail with everything that keeps the bundle from being complete."""
        packed = pack(self.settings_with_secrets(arguments["settings"]), show, check=self.check_mode)
        for warning in packed.warnings:
            warn(warning)
        display(_summary(packed, check=self.check_mode))
        result = {
            "changed": bool(packed.fetched),
            "directory": str(packed.directory),
            "fetched": packed.fetched,
            "kept": packed.kept,
            "sizes": packed.sizes,
            "sum": packed.sum,
        }
        return result | (failed(ProblemsError(packed.problems)) if packed.problems else {})


def _summary(packed: Packed, *, check: bool) -> str:
    verb = "to fetch" if check else "fetched"
    rows = [[name, size_of(size)] for name, size in packed.sizes.items()]
    lines = [f"{packed.directory}: {counted(len(packed.fetched), 'item')} {verb}, {len(packed.kept)} there already"]
    lines += [f"  {line}" for line in table(rows, {1})] if rows else []
    lines += [f"sha256 of SHA256SUMS, to compare where the bundle arrives: {packed.sum}"] if packed.sum else []
    return "\n".join(["", *lines])
