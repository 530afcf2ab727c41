"""Every release is whole and its parts fit together, as far as the data files alone can tell."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kubeflow_volcano.catalog import operator, read
from kubeflow_volcano.catalog.model import Component, Release, version_key
from kubeflow_volcano.catalog.served_apis import served_apis
from kubeflow_volcano.problems import InvalidInput

OBJECTS = {
    "1.6.1": 594,
    "1.7.0": 611,
    "1.8.1": 634,
    "1.9.1": 569,
    "1.10.2": 611,
    "1.11.0": 653,
    "26.03": 675,
    "26.03.1": 703,
}
"""What `kustomize build example` makes of each, counted in the whole archives; of 26.03.1 without the 24 objects of the
Model Registry in the first user's namespace."""

TUTORIAL = [
    "cert-manager", "kubeflow-issuer", "istio-crds", "istio-namespace", "istio", "dex", "oidc-authservice",
    "kubeflow-namespace", "knative-serving", "knative-eventing", "cluster-local-gateway", "centraldashboard",
    "admission-webhook", "kubeflow-roles", "kubeflow-istio-resources", "notebook-controller", "jupyter-web-app",
    "profiles", "volumes-web-app", "katib", "tensorboard-controller", "tensorboards-web-app", "training-operator",
    "kserve", "models-web-app", "pipelines", "user-namespace",
]  # fmt: skip
"""The builds of the tutorial for Kubeflow 1.6, each a component of its own."""

ALL = [read.load_release(version) for version in read.releases()]

OWN = {"volcano": "1.10.0", "local-path": "0.0.30"}

releases = pytest.mark.parametrize("release", ALL, ids=lambda item: item.version)


def own(release: Release) -> dict[str, str]:
    return {"volcano": release.volcano_versions[0], "local-path": release.local_path_version}


def chosen(release: Release, *names: str) -> tuple[Component, ...]:
    return read.components(release, names, own(release))


def full(release: Release) -> tuple[Component, ...]:
    return read.components(release, "full", own(release))


def test_the_releases_are_those_that_are_supported() -> None:
    assert read.releases() == tuple(OBJECTS)


@releases
def test_the_example_of_a_release_has_as_many_objects_as_upstreams(release: Release) -> None:
    assert sum(part.objects for part in release.components.values() if part.example) == OBJECTS[release.version]


@releases
def test_the_profile_full_is_upstreams_example_with_storage_and_volcano(release: Release) -> None:
    names = {part.name for part in release.components.values() if part.example}
    assert {part.name for part in full(release)} == names | {"local-path", "volcano"}


@releases
def test_the_profile_training_runs_jobs_and_little_else(release: Release) -> None:
    parts = read.components(release, "training", own(release))
    assert release.operator.component in [part.name for part in parts]
    assert len(parts) <= 4


@releases
def test_every_component_comes_with_what_it_requires_and_after_it(release: Release) -> None:
    for name in release.components:
        parts = chosen(release, name)
        order = [part.name for part in parts]
        assert order[-1] == name
        assert all(order.index(need) < order.index(part.name) for part in parts for need in part.requires)


@releases
def test_what_a_component_brings_no_other_brings(release: Release) -> None:
    parts = full(release)
    for brought in (
        [name for part in parts for name in part.crds],
        [ref for part in parts for ref in part.workloads],
        [ref for part in parts for ref in part.webhooks],
        [part.path for part in parts],
    ):
        assert len(brought) == len(set(brought))


@releases
def test_claims_belong_to_workloads_of_their_component_which_needs_storage(release: Release) -> None:
    claims = [(part, claim) for part in release.components.values() for claim in part.claims]
    assert {part.name for part, _ in claims} >= {"katib", "pipelines"}
    for part, claim in claims:
        assert claim.consumer in part.workloads
        assert claim.namespace == claim.consumer.namespace
        assert "local-path" in part.requires


@releases
def test_namespaces_of_a_component_are_those_of_its_workloads_or_more(release: Release) -> None:
    for part in release.components.values():
        assert {ref.namespace for ref in part.workloads} <= set(part.namespaces)


@releases
def test_whoever_lives_in_kubeflow_brings_its_namespace_along(release: Release) -> None:
    """But for the training operator, which is content with a bare one, until the namespace carries Pod Security."""
    secured = version_key(release.version) >= version_key("1.10.2")
    for part in release.components.values():
        if "kubeflow" in part.namespaces and (secured or part.name != "training-operator"):
            assert "kubeflow-namespace" in [item.name for item in chosen(release, part.name)]


@releases
def test_versions_that_a_release_names_exist(release: Release) -> None:
    assert set(release.volcano_versions) <= set(read.versions_of("volcano"))
    assert release.local_path_version in read.versions_of("local-path")
    assert release.kubernetes.covers(release.kubernetes_tested)


@releases
def test_an_api_is_replaced_by_its_successor_where_all_kubernetes_of_the_range_serve_that(release: Release) -> None:
    for old, new in release.replaced_apis.items():
        assert {api.successor for api in served_apis() if api.api_version == old} == {new}
        assert all(api.kubernetes.covers(release.kubernetes.lowest) for api in served_apis() if api.api_version == new)


@releases
def test_a_volcano_of_each_release_is_made_for_the_kubernetes_that_it_was_tested_with(release: Release) -> None:
    ranges = [read.load_component("volcano", version).kubernetes for version in release.volcano_versions]
    assert any(limits.covers(release.kubernetes_tested) for limits in ranges if limits)


@releases
def test_the_operator_of_a_release_can_be_told_to_gang(release: Release) -> None:
    assert release.components[release.operator.component].version == release.operator_version
    if release.operator.kind != "trainer":
        assert operator.era_of(release.operator_version).required_arguments


@releases
def test_the_training_operator_is_there_where_it_is_no_longer_the_default(release: Release) -> None:
    assert release.components["training-operator"].example is (release.operator.kind == "training-operator")


@releases
def test_a_release_is_known_by_address_content_and_marker(release: Release) -> None:
    assert release.version in release.source.address
    assert release.source.marker is not None
    assert release.source.marker.path == "example/kustomization.yaml"


def test_no_two_releases_have_the_same_content_or_marker() -> None:
    sources = [read.load_release(version).source for version in read.releases()]
    assert len({source.content_sha256 for source in sources}) == len(sources)
    assert len({source.marker for source in sources}) == len(sources)


@releases
def test_defects_have_names_of_their_own_and_touch_what_is_there(release: Release) -> None:
    names = [defect.id for defect in release.defects]
    assert names
    assert len(names) == len(set(names))


@releases
def test_pipelines_without_emissary_are_refused_with_the_reason(release: Release) -> None:
    with pytest.raises(InvalidInput, match="emissary"):
        chosen(release, "pipelines-pns")


def test_the_steps_of_the_tutorial_are_components() -> None:
    release = read.load_release("1.6.1")
    assert len(TUTORIAL) == 27
    assert sorted(TUTORIAL) == sorted(release.components)


def test_remote_bases_are_in_sources_that_the_release_names() -> None:
    for version in ("1.11.0", "26.03"):
        release = read.load_release(version)
        assert [source.name for source in release.remote_sources] == ["argo-workflows", "jobset"]
        assert {base.source for base in release.remote_bases} == {"argo-workflows", "jobset"}
    assert all(not read.load_release(version).remote_bases for version in read.releases()[:5])


def test_the_consumers_of_claims_change_their_identity_with_the_releases() -> None:
    def of(version: str) -> dict[str, tuple[int | None, int | None]]:
        parts = read.load_release(version).components.values()
        return {claim.name: (claim.run_as_user, claim.fs_group) for part in parts for claim in part.claims}

    assert of("1.6.1") == {
        "authservice-pvc": (None, 111),
        "katib-mysql": (None, None),
        "minio-pvc": (None, None),
        "mysql-pv-claim": (None, None),
    }
    assert of("1.10.2") == {"katib-mysql": (None, None), "minio-pvc": (1000, 1000), "mysql-pv-claim": (999, 999)}
    assert of("26.03") == {"katib-mysql": (999, 999), "mysql-pv-claim": (999, 999), "seaweedfs-pvc": (1000, 1000)}


def test_a_user_needs_profiles_and_profiles_need_their_namespace() -> None:
    order = [part.name for part in chosen(read.load_release("26.03"), "user-namespace")]
    assert order == ["istio-crds", "kubeflow-namespace", "profiles", "user-namespace"]


def test_an_excluded_component_that_others_require_is_refused_with_their_names() -> None:
    release = read.load_release("1.9.1")
    with pytest.raises(InvalidInput, match=r"cert-manager is excluded.*: kubeflow-issuer") as caught:
        read.components(release, "full", OWN, excluded=("cert-manager",))
    (problem,) = caught.value.problems
    assert "katib" in problem.found


def test_exclusions_that_belong_together_are_left_out() -> None:
    release = read.load_release("1.9.1")
    parts = read.components(release, "full", OWN, excluded=("kserve", "models-web-app", "pipelines"))
    assert {part.name for part in full(release)} - {part.name for part in parts} == {
        "kserve",
        "models-web-app",
        "pipelines",
    }


def test_an_unknown_exclusion_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(InvalidInput, match=r"Did you mean kserve\?"):
        read.components(read.load_release("1.9.1"), "full", OWN, excluded=("kservee",))


def test_a_component_of_other_releases_is_answered_with_their_names() -> None:
    with pytest.raises(InvalidInput, match=r"'trainer', .*1\.9\.1 .*1\.11\.0, 26\.03"):
        chosen(read.load_release("1.9.1"), "trainer")


def test_what_is_unneeded_comes_only_where_it_is_named() -> None:
    release = read.load_release("1.9.1")
    parts = read.components(release, ("katib",), OWN, unneeded=("local-path",))
    assert "local-path" not in [part.name for part in parts]


def test_releases_are_sorted_by_age() -> None:
    assert all(version_key(old) < version_key(new) for old, new in pairwise(read.releases()))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"requires": ["katip"]}, "a requires unknown katip"),
        ({"requires": ["b"]}, "circular requirements among a, b"),
        ({"name": "b"}, "component b is defined twice"),
    ],
)
def test_a_release_whose_parts_do_not_fit_is_refused(change: dict[str, object], told: str) -> None:
    source = {"name": "manifests", "title": "t", "address": "https://a/b.tar.gz", "content_sha256": "0" * 64}
    data = {
        "version": "9.9",
        "source": source,
        "kubernetes": {"lowest": "1.29", "highest": None},
        "kubernetes_tested": "1.30",
        "kustomize_version": "5.2.1",
        "operator": {"component": "b", "version": "1.8.1", "kind": "training-operator"},
        "volcano_versions": ["1.10.0"],
        "local_path_version": "0.0.30",
        "profiles": {"training": ["b"]},
        "components": [
            {"name": "a", "title": "A", "path": "a", "objects": 1} | change,
            {"name": "b", "title": "B", "path": "b", "objects": 1, "requires": ["a"]},
        ],
    }
    with pytest.raises(InvalidInput, match=told):
        read.decode_release(data)
