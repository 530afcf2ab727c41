"""Users and teams on a real API server with the real Volcano; profile controller and Dex are stood in for.

The rehearsal cluster simulates the pods of both. What the profile controller does to a Profile
(controllers/profile_controller.go of v1.9.2) is done here: namespace, ResourceQuota, and last the finalizer.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import bcrypt
import pytest
import yaml

from kubeflow_volcano.apply.result import Action, ApplyResult
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.account.sign_in import decoded
from kubeflow_volcano.rollout.people.by_hand import LIVE
from kubeflow_volcano.rollout.people.logins import SECRET
from kubeflow_volcano.rollout.settings.people.profiles import PROFILES as PROFILES_PART
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from kubeflow_volcano.rollout.state.inventory import read_inventory
from kubeflow_volcano.rollout.uninstall.run import uninstall
from kubeflow_volcano.rollout.way_in import way_in
from tests.integration.rolling import own_sources, roll_out
from tests.places import UPSTREAM
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(900)]

RELEASE = "1.9.1"
ARCHIVE = UPSTREAM / f"manifests-{RELEASE}.tar.gz"
OWN = ("volcano", "istio-crds", "kubeflow-namespace", "profiles", "dex")
PROFILES = "kubeflow.org/v1"
QUEUES = "scheduling.volcano.sh/v1beta1"
VISION, SPEECH = "kfv-vision", "kfv-speech"
ADA, BOB = "ada@example.org", "bob@example.org"
LOGIN = {"registry": "registry.example", "username": "puller", "password": "word", "profiles": True}


class Controller:
    """What the profile controller does, as long as the block lasts."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(0.5):
            try:
                for item in self.cluster.list(PROFILES, "Profile").items:
                    if item["metadata"]["name"] in {VISION, SPEECH} and not item["metadata"].get("finalizers"):
                        self._reconcile(item)
            except ApiError:
                continue  # above all, the kind is not served yet

    def _reconcile(self, profile: Object) -> None:
        name, owner = profile["metadata"]["name"], profile["spec"]["owner"]["name"]
        meta = {"name": name, "annotations": {"owner": owner}, "labels": {"istio-injection": "enabled"}}
        if self.cluster.get(Ref("v1", "Namespace", "", name)) is None:
            self.cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
        if hard := (profile["spec"].get("resourceQuotaSpec") or {}).get("hard"):
            self.cluster.apply(
                new_object("v1", "ResourceQuota", "kf-resource-quota", name, spec={"hard": hard}),
                manager="manager",
                force=True,
            )
        self.cluster.patch(Ref.of(profile), {"metadata": {"finalizers": ["profile-finalizer"]}})


@pytest.fixture(scope="module")
def given(kubeconfig: Path) -> dict[str, Any]:
    if not ARCHIVE.is_file():
        pytest.skip(f"{ARCHIVE} is not there")
    return own_sources(kubeconfig) | {
        "kubeflow_release": RELEASE,
        "kubeflow_source": str(ARCHIVE),
        "kubeflow_components": ["volcano", "profiles", "dex"],
        "kubeflow_wait_timeout_seconds": 240,
        "kubeflow_user_password": "my-password",
        "kubeflow_users": [{"email": ADA, "password": "adas-password"}, {"email": BOB, "password": "bobs-password"}],
        "kubeflow_profiles": [
            {
                "name": VISION,
                "owner": ADA,
                "contributors": [{"user": BOB}],
                "quota": {"requests.cpu": "4", "pods": "20"},
                "queue": {"weight": 2, "capability": {"cpu": "4"}},
                "priority_class": {"value": 1000},
            },
            {"name": SPEECH, "owner": BOB, "queue": {}},
        ],
    }


@pytest.fixture(scope="module", autouse=True)
def clean(cluster: Cluster, given: dict[str, Any], installed_again: None) -> Iterator[None]:  # noqa: ARG001  that comes last
    """Nothing of this module stays: components that it brought would be expected, and Dex judged, in later tests."""
    brought, namespaces = read_inventory(cluster).keys(), names(cluster, "v1", "Namespace")
    yield
    for name in (VISION, SPEECH):
        gone(cluster, Ref(PROFILES, "Profile", "", name))
    fewer = {**given, "kubeflow_users": [], "kubeflow_profiles": [], "uninstall_running_jobs": "allow"}
    own = sorted(read_inventory(cluster).keys() - brought)
    if own:
        done = uninstall(cluster, parse({**fewer, "uninstall_components": own}), check=False, progress=silent)
        assert not done.problems
    for kind in (("scheduling.k8s.io/v1", "PriorityClass"), (QUEUES, "Queue")):
        for name in (VISION, SPEECH):
            gone(cluster, Ref(*kind, "", name))
    for name in names(cluster, "v1", "Namespace") - namespaces:
        gone(cluster, Ref("v1", "Namespace", "", name))


def names(cluster: Cluster, api_version: str, kind: str) -> set[str]:
    return {item["metadata"]["name"] for item in cluster.list(api_version, kind).items}


def gone(cluster: Cluster, ref: Ref) -> None:
    """Deleted, a Profile without its finalizer, and waited for."""
    if live := cluster.get(ref):
        if ref.kind == "Profile":
            cluster.patch(ref, {"metadata": {"finalizers": None}})
        cluster.delete(ref, uid=live["metadata"]["uid"])
        until(lambda: cluster.get(ref) is None)


def run(cluster: Cluster, settings: Settings, names: Collection[str] = OWN, *, check: bool = False) -> ApplyResult:
    parts = [part for part in settings.components if part.name in names]
    done = roll_out(cluster, settings, parts, check=check, progress=silent)
    assert done.problems == ()
    return done


def actions(done: ApplyResult) -> dict[Ref, str]:
    return {item.ref: str(item.action) for item in done.outcomes if item.action is not Action.UNCHANGED}


def pod_group(namespace: str, **spec: Any) -> Object:
    return new_object(QUEUES, "PodGroup", "", namespace, meta={"generateName": "job-"}, spec={"minMember": 1, **spec})


def lone_pod(namespace: str) -> Object:
    container = {"name": "main", "image": "registry.example/none", "resources": {"requests": {"cpu": "10m"}}}
    spec = {"schedulerName": "volcano", "containers": [container]}
    return new_object("v1", "Pod", "lone", namespace, spec=spec)


def test_users_and_teams_from_the_first_run_to_their_leaving(cluster: Cluster, given: dict[str, Any]) -> None:
    settings = parse(given)
    foreseen = actions(run(cluster, settings, check=True))
    assert cluster.get(Ref("v1", "Namespace", "", VISION)) is None
    with Controller(cluster):
        first = run(cluster, settings)
    assert actions(first) == foreseen
    own = {ref.kind for ref, action in foreseen.items() if VISION in {ref.name, ref.namespace} and action == "created"}
    assert own == {
        *("AuthorizationPolicy", "LimitRange", "Namespace", "PriorityClass", "Profile", "Queue", "RoleBinding"),
    }
    quota = cluster.get(Ref("v1", "ResourceQuota", VISION, "kf-resource-quota"))
    assert quota
    assert quota["spec"]["hard"] == {"requests.cpu": "4", "pods": "20"}
    assert actions(run(cluster, settings, check=True)) == {}
    assert actions(run(cluster, settings)) == {}

    for name in (VISION, SPEECH):
        made = cluster.create(pod_group(name))
        assert made["spec"]["queue"] == name
        cluster.create(lone_pod(name))
    assert cluster.create(pod_group(VISION, queue="default"))["spec"]["queue"] == "default"

    def queues_of_pods() -> bool:
        groups = cluster.list(QUEUES, "PodGroup").items
        found = {
            item["metadata"]["namespace"]: item["spec"]["queue"]
            for item in groups
            if item["metadata"]["name"].startswith("podgroup-") and item["metadata"]["namespace"] in {VISION, SPEECH}
        }
        return found == {VISION: VISION, SPEECH: SPEECH}

    until(queues_of_pods)
    assert f"{VISION} ({VISION}), {SPEECH} ({SPEECH})" in way_in(cluster, settings)[-1]

    without_requests(cluster)
    signing_in(cluster, parse({**given, "image_mirror_credentials": [LOGIN]}))
    by_hand(cluster, settings)
    leaving(cluster, given)


def without_requests(cluster: Cluster) -> None:
    """The quota of the team counts CPU, and a pod that does not name any is admitted with the default."""
    pod = lone_pod(VISION)
    del pod["spec"]["containers"][0]["resources"]
    made = cluster.create({**pod, "metadata": {**pod["metadata"], "name": "plain"}})
    assert made["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "100m"}}


def signing_in(cluster: Cluster, settings: Settings) -> None:
    """The accounts of profiles name their login, beside what others let them name; check mode foretells it."""
    account = Ref("v1", "ServiceAccount", VISION, "default")
    cluster.patch(account, {"imagePullSecrets": [{"name": "theirs"}]})
    own = ("kubeflow-namespace", PROFILES_PART)  # alone, it would declare its namespace without the labels
    foreseen = actions(run(cluster, settings, own, check=True))
    assert foreseen[account] == "changed"
    assert actions(run(cluster, settings, own)) == foreseen
    live = cluster.get(account)
    assert live
    assert live["imagePullSecrets"] == [{"name": "theirs"}, {"name": SECRET}]
    assert actions(run(cluster, settings, own)) == {}


def by_hand(cluster: Cluster, settings: Settings) -> None:
    """A user that somebody adds to Dex's configuration is refused, in check mode, too, and nothing is written."""
    live = cluster.get(LIVE)
    assert live
    config = yaml.safe_load(live["data"]["config.yaml"])
    config["staticPasswords"].append({"email": "eve@example.org", "hash": "$2y$12$abc", "username": "eve"})
    cluster.patch(LIVE, {"data": {"config.yaml": yaml.safe_dump(config)}})
    for check in (True, False):
        with pytest.raises(InvalidInput, match="has the user eve@example"):
            run(cluster, settings, check=check)
    assert yaml.safe_load((cluster.get(LIVE) or {})["data"]["config.yaml"]) == config
    cluster.patch(LIVE, {"data": {"config.yaml": live["data"]["config.yaml"]}})


def leaving(cluster: Cluster, given: dict[str, Any]) -> None:
    """A user and a team that leave the inventory: the login goes, the namespace stays."""
    fewer = parse(
        {**given, "kubeflow_users": given["kubeflow_users"][:1], "kubeflow_profiles": given["kubeflow_profiles"][:1]}
    )
    done = run(cluster, fewer)
    assert {ref.kind for ref in actions(done)} == {"ClusterRole", "ConfigMap", "Deployment", "Secret"}
    secret = cluster.get(Ref("v1", "Secret", "auth", "dex-passwords"))
    assert secret
    hashes = decoded(secret).values()
    assert len(hashes) == 2
    assert not any(bcrypt.checkpw(b"bobs-password", text.encode()) for text in hashes)
    config = yaml.safe_load((cluster.get(LIVE) or {})["data"]["config.yaml"])
    assert [item["email"] for item in config["staticPasswords"]] == ["user@example.com", ADA]
    for ref in (Ref(PROFILES, "Profile", "", SPEECH), Ref("v1", "Namespace", "", SPEECH)):
        live = cluster.get(ref)
        assert live
        assert "deletionTimestamp" not in live["metadata"]
    warned = " ".join(item.found for item in done.warnings)
    assert f"Namespace {SPEECH}" in warned
    assert f"Profile {SPEECH}" in warned
    assert actions(run(cluster, fewer)) == {}
