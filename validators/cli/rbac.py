"""The least rights of a run as objects for `kubectl apply`: a ClusterRole, Roles where these do, and bindings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

import yaml

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput, Problem
from validators.checks import CHECKS
from validators.core.expectations import Expectations
from validators.core.rights import Rule
from validators.reading.permissions import for_gang, placed
from validators.run.options import AUTO, Options, expectations_of
from validators.run.selection import select
from validators.subjects.gang.operators import OPERATORS

__all__ = ["NAME", "manifests", "render"]

NAME = "kubeflow-volcano-validators"
"""Of every role and binding."""

_OPERATORS = Rule("list", "apps", "deployments")
"""By which the release is known: the image of the operator of training jobs tells it."""
_API = "rbac.authorization.k8s.io/v1"
_HEAD = """\
# The least rights of this validation of Kubeflow {release}, for ServiceAccount {account}.
# Gang scheduler {gang} ({gang_from}); another one needs other rights: --gang-scheduler.
# They add to what every cluster grants to all who sign in: system:basic-user, system:discovery and
# system:public-info-viewer. A Role for a namespace that this cluster does not have is refused, and not missed.
"""
_OWN_SPACE = """\
# Probes make a namespace of their own, whose name nobody knows beforehand: what they do in it is granted everywhere.
# --probe-namespace NAME keeps all of it to one namespace that exists; --read-only needs none of it.
"""


def render(options: Options, account: str) -> str:
    """YAML of what a run with these options needs, for the ServiceAccount `namespace/name`.

    The cluster is asked only for its release and gang scheduler, and only where the options leave the release open.

    Raises:
        InvalidInput: the options make no sense, or `account` is not of that form.
        Unreachable: the cluster has to be asked and does not answer.
    """
    namespace, _, name = account.partition("/")
    if not namespace or not name or "/" in name:
        raise InvalidInput(
            Problem(f"--service-account {account}.", "NAMESPACE/NAME.", "name the ServiceAccount that validates.")
        )
    chosen = [item for item in select(CHECKS, options.select) if not item.opt_in or item.opt_in in options.asked]
    cluster = Cluster.connect(options.kubeconfig, options.context) if options.release == AUTO else None
    expectations, _ = expectations_of(options, cluster)
    checks = for_gang(chosen, expectations.gang)
    rules = placed(checks, expectations, probe_namespace=options.probe_namespace, read_only=options.read_only)
    if cluster is not None:
        rules = _and_to_know_the_release(rules, expectations)
    head = _HEAD.format(
        release=expectations.release,
        account=account,
        gang=expectations.gang_scheduler,
        gang_from=expectations.gang_from,
    )
    if not (options.probe_namespace or options.read_only) and any(item.probe for item in checks):
        head += _OWN_SPACE
    return head + yaml.safe_dump_all(manifests(rules, namespace, name), sort_keys=False, explicit_start=True, width=120)


def _and_to_know_the_release(
    rules: Mapping[str, AbstractSet[Rule]], expectations: Expectations
) -> Mapping[str, AbstractSet[Rule]]:
    """The rules, with what the run needs that asks for the release by itself."""
    homes = expectations.namespaces & {item.ref.namespace for item in OPERATORS.values()}
    if _OPERATORS in rules[""]:
        return rules
    return {**rules, **{home: {*rules.get(home, ()), _OPERATORS} for home in homes}}


def manifests(rules: Mapping[str, AbstractSet[Rule]], namespace: str, name: str) -> Iterator[Object]:
    """Roles and bindings of rules by namespace, for the ServiceAccount of that namespace and name."""
    for where, wanted in rules.items():
        if not wanted:
            continue
        kind = "Role" if where else "ClusterRole"
        meta = {"name": NAME} | ({"namespace": where} if where else {})
        yield {"apiVersion": _API, "kind": kind, "metadata": dict(meta), "rules": list(_policies(wanted))}
        yield {
            "apiVersion": _API,
            "kind": f"{kind}Binding",
            "metadata": dict(meta),
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": NAME},
            "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": name}],
        }


def _policies(rules: Iterable[Rule]) -> Iterator[Object]:
    """The rules, those of one group with the same verbs as one."""
    verbs: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for rule in rules:
        verbs[rule.group, rule.resource].add(rule.verb)
    resources: defaultdict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (group, resource), words in sorted(verbs.items()):
        resources[group, tuple(sorted(words))].append(resource)
    for (group, allowed), names in resources.items():
        yield {"apiGroups": [group], "resources": names, "verbs": list(allowed)}
