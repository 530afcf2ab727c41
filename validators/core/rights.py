"""RBAC rules that a run needs."""

from __future__ import annotations

from dataclasses import dataclass

HOMES = "the namespaces of the release"
"""Placeholder in a rule for the namespaces of the chosen components, without kube-system."""

VOLCANO_HOME = "the namespace of Volcano"
"""Placeholder in a rule, and in a kind that is read there only, for the namespace of Volcano's scheduler."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One RBAC rule that the caller must be granted; the core group is empty.

    `namespace` is the namespace in which it applies, `HOMES` or `VOLCANO_HOME`. A rule without one applies
    cluster-wide; for probes and dry runs it applies in the probe namespace, where one is given. With `names` only the
    objects of these names are meant.
    """

    verb: str
    group: str
    resource: str
    namespace: str = ""
    names: tuple[str, ...] = ()

    @property
    def plural_group(self) -> str:
        """The resource with its group, such as jobs.batch."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    def __str__(self) -> str:
        named = f" {', '.join(self.names)}" if self.names else ""
        return f"{self.verb} {self.plural_group}{named}" + (f" in {self.namespace}" if self.namespace else "")
