"""What is changed in upstream's text, and that doing it twice changes nothing more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import new_object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.patches.table import gang_arguments, patched
from kubeflow_volcano.rollout.settings.settings import parse
from kubeflow_volcano.rollout.settings.user import Account

NEW = "--gang-scheduler-name=volcano"
OLD = "--enable-gang-scheduling=true"


@pytest.mark.parametrize(
    ("arguments", "required", "wanted"),
    [
        ([], [NEW], [NEW]),
        ([NEW], [NEW], [NEW]),
        ([NEW, NEW], [NEW], [NEW]),
        ([OLD, "--x"], [NEW], ["--x", NEW]),
        (["-enable-gang-scheduling", "--x"], [NEW], ["--x", NEW]),
        (["--gang-scheduler-name", "volcano", "--x"], [], ["--x"]),
        (["-gang-scheduler-name=none"], [OLD], [OLD]),
        (["--gang-scheduler-name"], [], []),
        (["--enable-gang-scheduling", "--y"], [], ["--y"]),
        (
            ["--gang-scheduler-name-x=1", "gang-scheduler-name=2"],
            [],
            ["--gang-scheduler-name-x=1", "gang-scheduler-name=2"],
        ),
    ],
)
def test_gang_arguments(arguments: list[str], required: list[str], wanted: list[str]) -> None:
    assert gang_arguments(arguments, required) == wanted
    assert gang_arguments(wanted, required) == wanted


def operator(image: str, **container: Any) -> dict[str, Any]:
    main = {"name": "training-operator", "image": image, "command": ["/manager"], **container}
    return new_object(
        "apps/v1",
        "Deployment",
        "training-operator",
        "kubeflow",
        spec={"template": {"spec": {"containers": [{"name": "sidecar"}, main]}}},
    )


def main_container(obj: dict[str, Any], **variables: Any) -> dict[str, Any]:
    (result,) = patched([obj], "training-operator", parse(variables))
    assert result["spec"]["template"]["spec"]["containers"][0] == {"name": "sidecar"}
    found: dict[str, Any] = result["spec"]["template"]["spec"]["containers"][1]
    return found


@pytest.mark.parametrize(
    ("image", "argument"),
    [
        ("kubeflow/training-operator:v1-04f9f13", NEW),
        ("kubeflow/training-operator:v1-e1434f6", OLD),
        ("kubeflow/training-operator:v1-5a5f92d", NEW),
        ("kubeflow/training-operator:own-build", NEW),
    ],
)
def test_the_operator_gets_the_argument_of_its_era(image: str, argument: str) -> None:
    assert main_container(operator(image))["args"] == [argument]


def test_the_wrong_eras_argument_goes_wherever_it_stands() -> None:
    container = main_container(operator("training-operator:v1-04f9f13", command=["/manager", OLD], args=["--a", OLD]))
    assert container["command"] == ["/manager"]
    assert container["args"] == ["--a", NEW]


PLUGINS = {"gang_scheduling_scheduler": "scheduler-plugins"}


def test_the_operator_is_told_the_name_that_the_second_scheduler_answers_to() -> None:
    obj = operator("training-operator:v1-04f9f13", args=[NEW])
    assert main_container(obj, **PLUGINS)["args"] == ["--gang-scheduler-name=scheduler-plugins-scheduler"]


def test_an_image_of_an_operator_that_makes_no_such_gangs_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"operator is 1\.6\.0"):
        main_container(operator("training-operator:v1-5a5f92d"), **PLUGINS)


def test_none_declares_that_there_are_no_arguments() -> None:
    """Omitted arguments would keep what another manager has set."""
    obj = operator("training-operator:v1-04f9f13", args=[NEW])
    assert main_container(obj, gang_scheduling_scheduler="none")["args"] == []


def test_the_given_objects_stay_as_they_are() -> None:
    obj = operator("training-operator:v1-04f9f13")
    main_container(obj)
    assert "args" not in obj["spec"]["template"]["spec"]["containers"][1]


def test_manifests_without_the_operator_are_refused() -> None:
    with pytest.raises(InvalidInput, match="without its Deployment"):
        patched([], "training-operator", parse({}))


CLASS = new_object("storage.k8s.io/v1", "StorageClass", "local-path", provisioner="example.org/disk")


def test_components_without_patches_pass_unchanged() -> None:
    assert patched([CLASS], "volcano", parse({})) == (CLASS,)


RUNTIME = new_object(
    "trainer.kubeflow.org/v1alpha1",
    "ClusterTrainingRuntime",
    "torch-distributed",
    spec={
        "template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": {"spec": {}}}}}]}}
    },
)


def test_runtimes_are_ganged_only_where_volcano_is_asked_for() -> None:
    (ganged,) = patched([RUNTIME], "trainer", parse({}))
    assert ganged["spec"]["podGroupPolicy"] == {"volcano": {}}
    assert patched([RUNTIME], "trainer", parse({"gang_scheduling_scheduler": "none"})) == (RUNTIME,)


PROFILE = new_object(
    "kubeflow.org/v1beta1",
    "Profile",
    "kubeflow-user-example-com",
    spec={"owner": {"kind": "User", "name": "user@example.com"}},
)


def test_the_profile_is_the_accounts_with_and_without_a_cluster() -> None:
    settings = parse({"kubeflow_user_email": "me@example.org", "kubeflow_user_namespace": "team"})
    account = Account("me@example.org", "team", None, "hash", "secret")
    for known in (settings, replace(settings, account=account)):
        (profile,) = patched([PROFILE], "user-namespace", known)
        assert (profile["metadata"]["name"], profile["spec"]["owner"]["name"]) == ("team", "me@example.org")


@pytest.mark.parametrize("component", ["oauth2-proxy", "oidc-authservice", "dex"])
def test_whoever_signs_people_in_is_started_anew_with_a_new_account(component: str) -> None:
    container = {"name": component, "image": component}
    deployment = new_object(
        "apps/v1", "Deployment", component, "auth", spec={"template": {"spec": {"containers": [container]}}}
    )
    config = new_object("v1", "ConfigMap", component, "auth", data={"config.yaml": "{}"})
    sums = set()
    for password_hash in ("one", "two"):
        account = Account("me@example.org", "team", None, password_hash, "secret")
        result, _ = patched([deployment, config], component, replace(parse({}), account=account))
        sums.add(result["spec"]["template"]["metadata"]["annotations"]["kubeflow-volcano/sign-in"])
    assert len(sums) == 2
