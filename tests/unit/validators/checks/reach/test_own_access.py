"""Which of the rules that a run needs are asked for."""

from __future__ import annotations

from typing import Any

from kubeflow_volcano.validators.checks.reach.api_server import OWN_ACCESS
from kubeflow_volcano.validators.core.rights import Rule
from tests.samples.facts import facts, obj

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def test_nothing_is_asked_for_in_a_namespace_that_does_not_exist_but_for_the_one_of_probes(api: Any) -> None:
    kind = {"kind": "SelfSubjectAccessReview", "name": "selfsubjectaccessreviews", "namespaced": False}
    api.on("GET", "/apis/authorization.k8s.io/v1", api.reply(200, {"resources": [kind]}))
    api.on("POST", REVIEWS, api.reply(201, {"status": {"allowed": True}}))
    rights = {where: {Rule("list", "", "events")} for where in ("", "kubeflow", "volcano-monitoring", "team")}
    known = facts(obj("Namespace", "kubeflow"), rights=rights, probe_namespace="team")
    asked = OWN_ACCESS.fetch(api.connect(), known)
    assert {rule.namespace for rule in asked} == {"", "kubeflow", "team"}
