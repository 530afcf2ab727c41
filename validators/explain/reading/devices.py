"""Reads ResourceClaims and what they need, in the version that is served; nothing for jobs that name none."""

from __future__ import annotations

from dataclasses import replace

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.validators.core.facts import Unread
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.explain.model import Situation
from kubeflow_volcano.validators.explain.placement.device_claims import names_claims
from kubeflow_volcano.validators.explain.placement.devices import names_unoffered
from kubeflow_volcano.validators.explain.placement.dynamic_resources import API, EVERY_CLAIM, TEMPLATES
from kubeflow_volcano.validators.explain.reading.queries import Query, list_objects, newest_served
from kubeflow_volcano.validators.reading.devices import CLAIMS, CLASSES, SLICES, VERSIONS

_PARALLEL = 4


def rules(namespace: str) -> tuple[Rule, ...]:
    """Permissions to read all of it for jobs of the namespace."""
    return tuple(query.rule for query in _queries(namespace))


def with_devices(cluster: Cluster, situation: Situation) -> Situation:
    """The situation with claims, templates, classes and slices, if a pod or pod template of the job names claims.

    With classes alone if one requests a resource that no node has, which a class may have: where classes may not be
    read, nothing is said of them.

    Where claims of all namespaces may not be listed, those of the job's are: which devices others have is unknown.
    """
    facts = situation.facts
    if not names_claims(situation):
        version = newest_served(cluster, VERSIONS, "DeviceClass")[0] if names_unoffered(situation) else ""
        classes = list_objects(cluster, Query(CLASSES, version=version)) if version else ()
        found = () if isinstance(classes, Unread) else classes
        return replace(situation, facts=replace(facts, objects={**facts.objects, CLASSES: found}))
    version = newest_served(cluster, VERSIONS, "ResourceClaim")[0]
    objects: dict[str, tuple[Object, ...]] = {}
    unread: dict[str, Unread] = {}
    if version:
        queries = [replace(query, version=version) for query in _queries(situation.job.ref.namespace)]
        answers = in_parallel(lambda query: list_objects(cluster, query), queries, _PARALLEL)
        for query, answer in zip(queries, answers, strict=True):
            if not isinstance(answer, Unread):
                objects[query.resource] = answer
                continue
            unread[query.resource] = answer
            if query.resource == CLAIMS:
                own = list_objects(cluster, replace(query, namespace=situation.job.ref.namespace))
                if not isinstance(own, Unread):
                    objects[CLAIMS] = own
                    unread[EVERY_CLAIM] = unread.pop(CLAIMS)
    more = replace(
        facts,
        objects={**facts.objects, **objects},
        unread={**facts.unread, **unread},
        found={**facts.found, API: version},
    )
    return replace(situation, facts=more)


def _queries(namespace: str) -> tuple[Query, ...]:
    return Query(CLAIMS), Query(TEMPLATES, namespace), Query(CLASSES), Query(SLICES)
