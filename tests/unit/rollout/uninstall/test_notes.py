"""What is said beside what goes and what stays."""

from __future__ import annotations

import re
from typing import Any

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.rollout.settings.settings import parse
from kubeflow_volcano.rollout.stale.find import Stale
from kubeflow_volcano.rollout.uninstall import notes
from kubeflow_volcano.rollout.uninstall.plan import Plan
from kubeflow_volcano.rollout.uninstall.survey import Survey

SERVICE = Ref("v1", "Service", "kubeflow", "hook")
GOING = Stale(SERVICE, {}, "katib", "1.9.1")
HOOK = Ref("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", "theirs")


def said(survey: Survey, **variables: Any) -> list[str]:
    return [*notes.notes_of(survey, Plan((GOING,), (), ()), parse(variables))]


def test_a_webhook_of_others_that_loses_its_service_is_named_with_the_command() -> None:
    (text,) = said(Survey({}, (GOING,), hooks={HOOK: frozenset({("kubeflow", "hook")})}))
    assert "Service kubeflow/hook, " in text
    assert "kubectl delete mutatingwebhookconfiguration.admissionregistration.k8s.io theirs" in text


def test_unfinished_pods_of_a_scheduler_that_goes_are_named() -> None:
    (text,) = said(Survey({}, (GOING,), pods={"volcano": ["Pod n/a", "Pod n/b"], "other": []}))
    assert re.search("2 unfinished .*volcano, ", text)
    assert "Pod n/a, Pod n/b" in text


def test_a_component_that_the_inventory_still_declares_is_named() -> None:
    (text,) = said(Survey({}, (GOING,)), kubeflow_profile="full", uninstall_components=["katib"])
    assert "still declares katib" in text
    assert said(Survey({}, (GOING,)), kubeflow_profile="training", uninstall_components=["katib"]) == []


class Api:
    """A cluster with one CRD, whose objects a Service converts."""

    def __init__(self, service: str) -> None:
        webhook = {"clientConfig": {"service": {"namespace": "kubeflow", "name": service}}}
        self.crd = {
            "spec": {
                "conversion": {"strategy": "Webhook", "webhook": webhook},
                "versions": [{"name": "v1"}, {"name": "v1beta1", "storage": True}],
            }
        }

    def get(self, _ref: Ref) -> Any:
        return self.crd


def test_a_crd_that_stays_without_its_conversion_says_which_version_is_left() -> None:
    crd = Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "things.example.org")
    lost: Any = Api("hook")
    assert "version v1beta1 " in notes.lost_conversion(lost, crd, [GOING])
    kept: Any = Api("another")
    assert notes.lost_conversion(kept, crd, [GOING]) == ""
