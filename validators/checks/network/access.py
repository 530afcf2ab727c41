"""Family E, access: may an account that has no business in a profile look into it, or act in it."""

from __future__ import annotations

from collections.abc import Mapping

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, failed, passed, skipped
from kubeflow_volcano.validators.core.resources import NAMESPACES, PROFILES
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.reading.permissions import allowed
from kubeflow_volcano.validators.subjects.issues import judged

_MOST_PROFILES = 30
"""More profiles than these are not asked about in one run."""

TRIED = (
    Rule("get", "", "secrets"),
    Rule("list", "", "pods"),
    Rule("create", "", "pods"),
    Rule("create", "", "pods/exec"),
    Rule("list", "kubeflow.org", "notebooks"),
    Rule("create", "rbac.authorization.k8s.io", "rolebindings"),
)
"""Rules that give access to the Secrets, the data or the rights of a profile."""

_DEFAULT = "system:serviceaccount:default:default"
_EDITOR = "system:serviceaccount:{}:default-editor"
"""As whom the notebooks and jobs of a profile run (kubeflow/dashboard, profile controller)."""


def _foreign_access(cluster: Cluster, facts: Facts) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """By profile and by ServiceAccount of another namespace, the rules of `TRIED` that the server would allow.

    It tries the default ServiceAccount of namespace default, and the editor of the next profile.
    """
    names = sorted(item["metadata"]["name"] for item in judged(facts, PROFILES))
    names = [name for name in names if facts.get(NAMESPACES, "", name)][:_MOST_PROFILES]
    access: dict[str, Mapping[str, tuple[str, ...]]] = {}
    for name, following in zip(names, [*names[1:], *names[:1]], strict=True):
        accounts = [_DEFAULT] + ([_EDITOR.format(following)] if following != name else [])
        access[name] = {user: _allowed(cluster, name, user) for user in accounts}
    return access


def _allowed(cluster: Cluster, namespace: str, user: str) -> tuple[str, ...]:
    return tuple(str(rule) for rule, yes in allowed(cluster, TRIED, namespace=namespace, user=user).items() if yes)


FOREIGN_ACCESS = Fact[Mapping[str, Mapping[str, tuple[str, ...]]]](
    "foreign-access",
    _foreign_access,
    {},
    reads=(PROFILES, NAMESPACES),
    needs=(Rule("create", "authorization.k8s.io", "subjectaccessreviews"),),
)
"""By profile and by account of another namespace, which of the rules that are tried the server would allow."""


@check(
    "E7",
    "profile-isolated",
    severity=Severity.MAJOR,
    reads=(PROFILES, NAMESPACES, FOREIGN_ACCESS),
)
def profile_isolated(facts: Facts) -> Outcome:
    """No ServiceAccount of another namespace can read or change a profile.

    The API server reviews what the ServiceAccount of another profile, and that of namespace default, may do: read
    Secrets, list and start pods, create notebooks, grant rights. The usual cause is a binding for all ServiceAccounts
    or for all authenticated users; the command finds the binding.
    """
    profiles = facts.read(FOREIGN_ACCESS)
    if not profiles:
        return skipped("NoProfile", "there is no profile with a namespace.")
    refs = [Ref("v1", "Namespace", "", name) for name in profiles]
    ways = [(name, user, rules) for name, users in profiles.items() for user, rules in users.items() if rules]
    accounts = {user for users in profiles.values() for user in users}
    if not ways:
        number, places = counted(len(accounts), "ServiceAccount"), counted(len(refs), "profile")
        return passed(f"{number} of other namespaces denied in {places}.", objects=refs)
    name, user, rules = ways[0]
    return failed(
        "StrangerAllowed",
        f"{user} may {', '.join(rules)} in profile {name}."
        + (f" And so in {counted(len(ways) - 1, 'other case')}." if len(ways) > 1 else ""),
        expected="every access review denied",
        observed={f"{user} in {name}": list(rules) for name, user, rules in ways},
        objects=[Ref("v1", "Namespace", "", name) for name in dict.fromkeys(name for name, _, _ in ways)],
        todo="find the binding that allows it, and bind whom you mean instead.",
        commands=[f"kubectl auth can-i --list -n {name} --as {user}" for name, user, _ in ways[:3]],
    )
