"""What may be done in a profile's namespace by somebody who has no business there."""

from __future__ import annotations

from collections.abc import Mapping

from kubeflow_volcano.cluster.api.client import Cluster
from validators.core.facts import Facts
from validators.core.rights import Rule
from validators.reading.permissions import allowed
from validators.subjects.troubles import judged

__all__ = ["MOST_PROFILES", "TRIED", "stranger_access"]

MOST_PROFILES = 30
"""More profiles than these are not asked about in one run."""

TRIED = (
    Rule("get", "", "secrets"),
    Rule("list", "", "pods"),
    Rule("create", "", "pods"),
    Rule("create", "", "pods/exec"),
    Rule("list", "kubeflow.org", "notebooks"),
    Rule("create", "rbac.authorization.k8s.io", "rolebindings"),
)
"""What gives a stranger the secrets, the data or the rights of a profile."""

_NOBODY = "system:serviceaccount:default:default"
_EDITOR = "system:serviceaccount:{}:default-editor"
"""As whom the notebooks and jobs of a profile run (kubeflow/dashboard, profile controller)."""


def stranger_access(cluster: Cluster, facts: Facts) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """By profile and by stranger, which of `TRIED` the server would allow; in the words of a rule.

    Strangers are the default service account of the namespace default, and the editor of the next profile.
    """
    names = sorted(item["metadata"]["name"] for item in judged(facts, "profiles.kubeflow.org"))
    names = [name for name in names if facts.get("namespaces", "", name)][:MOST_PROFILES]
    found: dict[str, Mapping[str, tuple[str, ...]]] = {}
    for name, following in zip(names, [*names[1:], *names[:1]], strict=True):
        strangers = [_NOBODY] + ([_EDITOR.format(following)] if following != name else [])
        found[name] = {user: _allowed(cluster, name, user) for user in strangers}
    return found


def _allowed(cluster: Cluster, namespace: str, user: str) -> tuple[str, ...]:
    return tuple(str(rule) for rule, yes in allowed(cluster, TRIED, namespace=namespace, user=user).items() if yes)
