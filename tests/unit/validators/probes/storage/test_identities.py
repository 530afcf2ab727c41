"""As whom containers write, and the lowest level that admits it."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.experiment.spaces import Level
from kubeflow_volcano.validators.probes.storage.identities import Identity, of_container


def container(**security: Any) -> dict[str, Any]:
    return {"name": "main", "securityContext": security}


def pod(status: Any = None, **security: Any) -> Object:
    return {"spec": {"securityContext": security}, "status": status or {}}


def test_the_containers_own_context_wins_over_the_pods() -> None:
    found = of_container(pod(runAsUser=1, runAsGroup=2, fsGroup=3, supplementalGroups=[4]), container(runAsUser=999))
    assert found == Identity(user=999, group=2, fs_group=3, supplemental=(4,))


def test_a_null_in_the_container_hides_nothing() -> None:
    found = of_container(pod(runAsUser=7), container(runAsUser=None))
    assert found
    assert found.user == 7


def test_policy_and_labels_belong_to_the_identity() -> None:
    found = of_container(
        pod(runAsUser=7, fsGroup=7, fsGroupChangePolicy="OnRootMismatch"), container(seLinuxOptions={"level": "s0"})
    )
    assert found
    assert (found.fs_group_change_policy, found.selinux) == ("OnRootMismatch", (("level", "s0"),))
    assert found.pod_security["seLinuxOptions"] == {"level": "s0"}


def test_whom_a_newer_kubelet_reports_is_known() -> None:
    status = {"containerStatuses": [{"name": "main", "user": {"linux": {"uid": 101, "gid": 102}}}]}
    found = of_container(pod(status), container())
    assert found == Identity(user=101, group=102)


def test_groups_that_the_image_gives_a_user_are_its_own_and_root_needs_none() -> None:
    def status(uid: int) -> Object:
        user = {"linux": {"uid": uid, "gid": 102, "supplementalGroups": [102, 5, 44, 7]}}
        return {"containerStatuses": [{"name": "main", "user": user}]}

    found = of_container(pod(status(101), fsGroup=5, supplementalGroups=[7]), container())
    assert found == Identity(user=101, group=102, fs_group=5, supplemental=(7, 44))
    assert of_container(pod(status(0), fsGroup=5), container()) == Identity(user=0, group=102, fs_group=5)


def test_what_pod_and_kubelet_say_outranks_the_image() -> None:
    status = {"containerStatuses": [{"name": "main", "user": {"linux": {"uid": 101, "gid": 102}}}]}
    assert of_container(pod(status), container(), (999, 999)) == Identity(user=101, group=102)
    assert of_container(pod(runAsGroup=3), container(), (999, 998)) == Identity(user=999, group=3)
    assert of_container(pod(runAsNonRoot=True), container(), (999, None)) == Identity(user=999)


def test_an_image_whose_user_must_not_be_root_is_nobody_we_could_be() -> None:
    assert of_container(pod(runAsNonRoot=True), container()) is None


def test_nothing_said_is_the_images_own_user() -> None:
    assert of_container(pod(), container()) == Identity()


def test_capabilities_count_for_root_only() -> None:
    root = of_container(pod(), container(runAsUser=0, capabilities={"drop": ["DAC_OVERRIDE"]}))
    user = of_container(pod(), container(runAsUser=5, capabilities={"drop": ["ALL"]}))
    assert root
    assert user
    assert (root.dropped, user.dropped) == (("DAC_OVERRIDE",), ())
    assert user.container_security["capabilities"] == {"drop": ["ALL"], "add": []}


@pytest.mark.parametrize(
    ("identity", "level"),
    [
        (Identity(user=999, fs_group=999), Level.RESTRICTED),
        (Identity(user=999, selinux=(("type", "container_t"),)), Level.RESTRICTED),
        (Identity(user=999, selinux=(("type", "spc_t"),)), Level.PRIVILEGED),
        (Identity(user=0), Level.BASELINE),
        (Identity(), Level.BASELINE),
        (Identity(user=0, added=("CHOWN",)), Level.BASELINE),
        (Identity(user=0, added=("SYS_ADMIN",)), Level.PRIVILEGED),
        (Identity(user=0, privileged=True), Level.PRIVILEGED),
    ],
)
def test_the_lowest_level_that_admits_it(identity: Identity, level: Level) -> None:
    assert identity.level is level


@pytest.mark.parametrize(
    ("identity", "owner", "text"),
    [
        (Identity(user=999, group=998, fs_group=1), "999:998", "uid 999 gid 998 fsGroup 1"),
        (Identity(user=999, fs_group=5), "999:5", "uid 999 fsGroup 5"),
        (Identity(user=999), "999", "uid 999"),
        (Identity(user=0), "0", "root"),
        (Identity(fs_group=111), "0:111", "the image's own user fsGroup 111"),
    ],
)
def test_the_owner_that_a_directory_needs(identity: Identity, owner: str, text: str) -> None:
    assert (identity.owner, str(identity)) == (owner, text)
