"""One thing that the caller must be allowed to do, in the words of RBAC."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BACKENDS", "HOMES", "Rule"]

BACKENDS = "the namespaces of webhook backends"
"""Stands in a rule for the namespaces from which the chosen components answer the API server's webhooks."""

HOMES = "the namespaces of the release"
"""Stands in a rule for the namespaces of the chosen components; kube-system is not theirs."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that the caller must be allowed to do, in the words of RBAC; the core group is empty.

    `namespace` is where, when that is known beforehand, or `BACKENDS` or `HOMES`. Without one it is everywhere, but for
    what a probe or a dry run does: that is needed in the namespace of probes, where there is one.
    """

    verb: str
    group: str
    resource: str
    namespace: str = ""

    @property
    def plural_group(self) -> str:
        """The resource as one word, such as jobs.batch; the key of what is read."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    def __str__(self) -> str:
        return f"{self.verb} {self.plural_group}" + (f" in {self.namespace}" if self.namespace else "")
