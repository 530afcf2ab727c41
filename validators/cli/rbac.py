"""The least permissions of a run as objects for `kubectl apply`: a ClusterRole, Roles where they suffice, bindings."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

import yaml

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.core.check import Check, natural
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.reading.permissions import for_gang, uses
from kubeflow_volcano.validators.run.options import AUTO, Options, expectations_of
from kubeflow_volcano.validators.run.selection import select
from kubeflow_volcano.validators.subjects.gang.operators import OPERATORS

NAME = "kubeflow-volcano-validators"
"""Name of every role and binding that is printed."""

_OPERATORS = Rule("list", "apps", "deployments")
"""Detects the release: the version is in the image of the training operator."""
_API = "rbac.authorization.k8s.io/v1"
_HEAD = """\
# The least permissions to validate Kubeflow {release}, for ServiceAccount {account}.
# Gang scheduler {gang} ({gang_from}); another one needs other permissions: --gang-scheduler.
# Every cluster also grants system:basic-user, system:discovery and system:public-info-viewer to all authenticated
# users. The API server refuses a Role for a namespace that this cluster does not have; such a Role is not needed.
"""
_OWN_SPACE = """\
# Probes create a namespace with a random name, so their permissions are granted in all namespaces.
# --probe-namespace NAME limits them to one existing namespace; --read-only needs none of them.
"""


def render(options: Options, account: str) -> str:
    """YAML of the permissions that a run with these options needs, for the ServiceAccount `namespace/name`.

    The cluster is read only for its release and gang scheduler, and only if the options do not set the release.

    Raises:
        InvalidInput: the options are invalid, or `account` does not have that form.
        Unreachable: the cluster has to be read and does not answer.
    """
    namespace, _, name = account.partition("/")
    if not namespace or not name or "/" in name:
        raise InvalidInput.problem(
            f"--service-account {account}.", "NAMESPACE/NAME.", "name the ServiceAccount of the validation."
        )
    cluster = Cluster.connect(options.kubeconfig, options.context) if options.release == AUTO else None
    expectations, _ = expectations_of(options, cluster)
    checks, rules = _needed(options, expectations)
    if cluster is not None:
        rules = _with_release_detection(rules, expectations)
    head = _HEAD.format(
        release=expectations.release,
        account=account,
        gang=expectations.gang_scheduler,
        gang_from=expectations.gang_from,
    )
    if not (options.probe_namespace or options.read_only) and any(item.probe for item in checks):
        head += _OWN_SPACE
    head += "".join(f"{line}\n" for line in _what_for(rules))
    return head + yaml.safe_dump_all(manifests(rules, namespace, name), sort_keys=False, explicit_start=True, width=120)


def rules_of(options: Options) -> Mapping[str, AbstractSet[Rule]]:
    """The rules of a run whose options name release and gang scheduler, by namespace; no cluster is asked.

    Raises:
        InvalidInput: the options are invalid.
    """
    expectations, _ = expectations_of(options, None)
    return {where: rules.keys() for where, rules in _needed(options, expectations)[1].items()}


def _needed(
    options: Options, expectations: Expectations
) -> tuple[Sequence[Check], Mapping[str, Mapping[Rule, Sequence[str]]]]:
    """The checks of a run, and the rules that they need, each with the checks that need it."""
    chosen = [item for item in select(CHECKS, options.select) if not item.opt_in or item.opt_in in options.asked]
    checks = for_gang(chosen, expectations)
    rules = uses(checks, expectations, probe_namespace=options.probe_namespace, read_only=options.read_only)
    return checks, rules


def _with_release_detection(
    rules: Mapping[str, Mapping[Rule, Sequence[str]]], expectations: Expectations
) -> Mapping[str, Mapping[Rule, Sequence[str]]]:
    """The rules, with those that a run needs to detect the release."""
    homes = expectations.namespaces & {item.ref.namespace for item in OPERATORS.values()}
    if _OPERATORS in rules[""]:
        return rules
    return {**rules, **{home: {**rules.get(home, {}), _OPERATORS: ()} for home in homes}}


def manifests(
    rules: Mapping[str, Collection[Rule]], namespace: str, name: str, *, role: str = NAME
) -> Iterator[Object]:
    """Roles and bindings named `role` for rules by namespace, for the ServiceAccount of that namespace and name."""
    for where, wanted in rules.items():
        if not wanted:
            continue
        kind = "Role" if where else "ClusterRole"
        meta = {"name": role} | ({"namespace": where} if where else {})
        yield {"apiVersion": _API, "kind": kind, "metadata": dict(meta), "rules": list(_policies(wanted))}
        yield {
            "apiVersion": _API,
            "kind": f"{kind}Binding",
            "metadata": dict(meta),
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
            "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": name}],
        }


def _policies(rules: Iterable[Rule]) -> Iterator[Object]:
    """The rules; those of one API group with the same verbs are joined, and those of named objects by these names."""
    verbs: defaultdict[tuple[str, str, bool], set[str]] = defaultdict(set)
    single: defaultdict[tuple[str, str, bool], set[str]] = defaultdict(set)
    for rule in rules:
        verbs[rule.group, rule.resource, bool(rule.names)].add(rule.verb)
        single[rule.group, rule.resource, bool(rule.names)].update(rule.names)
    resources: defaultdict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = defaultdict(list)
    for key, words in sorted(verbs.items()):
        group, resource, _ = key
        resources[group, tuple(sorted(words)), tuple(sorted(single[key]))].append(resource)
    for (group, allowed, names), plurals in resources.items():
        named = {"resourceNames": list(names)} if names else {}
        yield {"apiGroups": [group], "resources": plurals, **named, "verbs": list(allowed)}


def _what_for(rights: Mapping[str, Mapping[Rule, Sequence[str]]]) -> Iterator[str]:
    """Comments that say which checks need which rule."""
    yield "# What each right is for, by check:"
    for where, rules in rights.items():
        if rules:
            yield f"# - in {f'namespace {where}' if where else 'all namespaces'}"
        for rule, ids in sorted(rules.items(), key=lambda item: (item[0].plural_group, item[0].verb, item[0].names)):
            yield from textwrap.wrap(
                f"{rule}: {' '.join(sorted(ids, key=natural)) or 'every run'}",
                width=118,
                initial_indent="#     ",
                subsequent_indent="#       ",
                break_long_words=False,
                break_on_hyphens=False,
            )
