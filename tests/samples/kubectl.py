"""What a `kubectl patch --type=json` that a remedy prints makes of an object, without a cluster."""

from __future__ import annotations

import copy
import json
import shlex
from typing import Any

from kubeflow_volcano.cluster.objects import Object


def json_patched(command: str, obj: Object) -> Object:
    """The object as the command leaves it; only `add`, `replace` and `remove` of members of mappings."""
    words = shlex.split(command)
    assert "--type=json" in words
    changed = copy.deepcopy(obj)
    for operation in json.loads(words[-1]):
        *parents, last = (key.replace("~1", "/").replace("~0", "~") for key in operation["path"].split("/")[1:])
        at: Any = changed
        for key in parents:
            at = at[int(key) if isinstance(at, list) else key]
        if operation["op"] == "remove":
            del at[last]
        else:
            at[last] = operation["value"]
    return changed
