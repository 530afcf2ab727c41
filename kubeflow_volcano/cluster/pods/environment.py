"""Variables of containers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubeflow_volcano.cluster.objects import Object


def set_environment(container: Object, variables: Iterable[Object]) -> None:
    """Give a container these variables, in place of those with their names."""
    new = {item["name"]: item for item in variables}
    kept = [new.pop(item["name"], item) for item in container.get("env") or ()]
    container["env"] = [*kept, *new.values()]


def entries(values: Mapping[str, str]) -> list[Object]:
    """Variables with these values."""
    return [{"name": name, "value": text} for name, text in values.items()]
