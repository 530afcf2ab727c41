"""In which order objects are removed."""

from __future__ import annotations

from kubeflow_volcano.apply.removing.order import UNINSTALLING, Wave, waves
from kubeflow_volcano.cluster.objects import Ref


def test_what_intercepts_goes_first_and_controllers_go_after_their_custom_resources() -> None:
    hook = Ref("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "h")
    custom = Ref("serving.knative.dev/v1", "Service", "n", "s")
    crd = Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "services.serving.knative.dev")
    controller, service = Ref("apps/v1", "Deployment", "n", "c"), Ref("v1", "Service", "n", "s")
    role, space = Ref("rbac.authorization.k8s.io/v1", "ClusterRole", "", "r"), Ref("v1", "Namespace", "", "n")
    objects = [space, crd, role, service, controller, custom, hook]
    pruned = [members for _, members in waves(objects, {"serving.knative.dev"})]
    assert pruned == [[hook], [custom], [controller], [role, service], [crd], [space]]
    uninstalled = [members for _, members in waves(objects, {"serving.knative.dev"}, UNINSTALLING)]
    assert uninstalled == [[custom], [hook], [controller], [role, service], [crd], [space]]


def test_waves_without_objects_are_left_out() -> None:
    role = Ref("rbac.authorization.k8s.io/v1", "ClusterRole", "", "r")
    assert waves([role], ()) == [(Wave.OTHERS, [role])]
