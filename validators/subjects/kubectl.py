"""Commands that change a cluster, ready to paste into a shell."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from kubeflow_volcano.cluster.objects import Ref


def restart(deployment: Ref) -> str:
    """Restart the pods of a Deployment."""
    return f"kubectl -n {deployment.namespace} rollout restart deployment/{deployment.name}"


def look_again(job: Ref) -> str:
    """Change a job so that its controller reconciles it, as often as the command is run."""
    kind = f"{job.kind.lower()}.{job.group}"
    return f"kubectl -n {job.namespace} annotate {kind} {job.name} --overwrite kfv.io/look-again=$(date +%s)"


def patch(resource: str, ref: Ref, operations: Iterable[Mapping[str, Any]]) -> str:
    """Apply a JSON patch (RFC 6902) to an object; `resource` is the name of its kind."""
    where = f" -n {ref.namespace}" if ref.namespace else ""
    text = json.dumps(list(operations), separators=(",", ":"))
    return f"kubectl{where} patch {resource} {ref.name} --type=json -p {shlex.quote(text)}"


def pointer(*keys: str | int) -> str:
    """A JSON pointer (RFC 6901): `pointer("a", "b/c")` is `/a/b~1c`."""
    return "".join(f"/{str(key).replace('~', '~0').replace('/', '~1')}" for key in keys)
