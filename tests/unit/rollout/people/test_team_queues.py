"""Which policy gives jobs of teams their queue, and where there is none."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.rollout.people.team_queues import NAME, with_queue_policy
from tests.unit.rollout.settings.people.test_profiles import settings, team

STABLE, BETA = "admissionregistration.k8s.io/v1", "admissionregistration.k8s.io/v1beta1"
KINDS = ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
TEAMS = (team(queue={}), team("speech", queue={"name": "shared"}), team("plain"))


class Server:
    """An API server that serves these kinds."""

    def __init__(self, **served: tuple[str, ...]) -> None:
        self.served = {f"admissionregistration.k8s.io/{version}": kinds for version, kinds in served.items()}

    def kinds(self, api_version: str) -> dict[str, None]:
        return dict.fromkeys(self.served.get(api_version, ()))


def made(server: Server, *teams: Any) -> list[Any]:
    cluster: Any = server
    return [*with_queue_policy(cluster, [], settings(*teams).profiles)]


@pytest.mark.parametrize(
    ("served", "api"),
    [({"v1": KINDS, "v1beta1": KINDS}, STABLE), ({"v1": ("ValidatingAdmissionPolicy",), "v1beta1": KINDS}, BETA)],
)
def test_the_policy_has_the_newest_api_and_names_the_teams_with_a_queue(served: Any, api: str) -> None:
    policy, binding = made(Server(**served), *TEAMS)
    assert [(item["apiVersion"], item["kind"], item["metadata"]["name"]) for item in (policy, binding)] == [
        (api, kind, NAME) for kind in KINDS
    ]
    (selector,) = policy["spec"]["matchConstraints"]["namespaceSelector"]["matchExpressions"]
    assert selector["values"] == ["speech", "vision"]
    assert policy["spec"]["failurePolicy"] == "Ignore"
    assert binding["spec"] == {"policyName": NAME}


def test_there_is_none_without_teams_that_have_a_queue_or_without_the_api() -> None:
    assert made(Server(v1=KINDS), team("plain")) == []
    assert made(Server(v1=("ValidatingAdmissionPolicy",), v1beta1=KINDS[:1]), *TEAMS) == []
