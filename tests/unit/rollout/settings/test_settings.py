"""Wrong inventories are told whole, before anything is touched."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from kubeflow_volcano.decode import SAME, Key, decode
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from kubeflow_volcano.rollout.settings.variables import PREFIXES, complete, defaults, is_public, schema, unread
from tests.samples.refusals import problems

SUM = "a" * 64


def test_an_empty_inventory_is_the_training_profile() -> None:
    settings = parse({})
    assert [part.name for part in settings.components] == ["local-path", "volcano", "training-operator"]
    assert settings.gang_scheduler == "volcano"
    assert settings.kubeconfig is None
    assert settings.context is None


def test_names_of_others_are_ignored() -> None:
    assert parse({"ansible_connection": "local", "inventory_hostname": "x", "kube_version": 1.1}) == parse({})


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_misspelt_name_is_refused_with_each_prefix(prefix: str) -> None:
    name = next(name for name in schema()["properties"] if name.startswith(prefix))
    (problem,) = problems(**{f"{name}x": 1})
    assert re.search(rf"\b{name}x,.* mean {name}\?", problem.found)
    assert name in problem.needed


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("kubeflow_relase", "kubeflow_release"),
        ("volcano_verison", "volcano_version"),
        ("volcano_queue", "volcano_queues"),
        ("plan_directories", "plan_directory"),
        ("validation_readonly", "validation_read_only"),
        ("validation_waiver", "validation_waivers"),
        ("local_path_base_dir", "local_path_base_directory"),
        ("uninstall_component", "uninstall_components"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_right_one(name: str, meant: str) -> None:
    (problem,) = problems(**{name: "1.9.1"})
    assert f"Did you mean {meant}?" in problem.found


@pytest.mark.parametrize(
    "name",
    [
        "backup_password",
        "backup_retention",
        "kubeflow_team",
        "plan_date",
        "plan_owner",
        "preflight_skip",
        "restore_from",
        "upgrade_window",
        "validation_host",
        "validation_token",
        "volcano_enabled",
    ],
)
def test_variables_of_others_that_only_begin_like_ours_are_not_read(name: str) -> None:
    assert parse({name: object()}) == parse({})
    assert unread([name, "plan_directory", "kubeflow_relase", "ansible_user"]) == [name]


@pytest.mark.parametrize(
    ("name", "value", "todo"),
    [
        ("kubeflow_release", 1.10, "put it in quotes"),
        ("kustomize_version", 5.4, "put it in quotes"),
        ("rehearsal_cluster_generation", 1.30, "put it in quotes"),
        ("validation_strict", "yes", "true or false without quotes"),
        ("validation_strict", 1, "true or false without quotes"),
        ("rehearsal_cluster_gpu_nodes", "4", "a whole number without quotes"),
        ("rehearsal_cluster_gpu_nodes", True, "a whole number without quotes"),
        ("kubeflow_components", "volcano", "write a list: kubeflow_components: [volcano]"),
        ("gang_scheduling_scheduler", "volcan", "Did you mean volcano?"),
        ("volcano_source", "https://example.com/v.yaml", "#sha256="),
        ("volcano_version", None, "remove it"),
    ],
)
def test_type_traps_get_their_own_advice(name: str, value: Any, todo: str) -> None:
    (problem,) = problems(**{name: value})
    assert problem.found.startswith(name)
    assert todo in problem.todo


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kubeflow_wait_timeout_seconds", 0),
        ("kubeflow_wait_timeout_seconds", 86401),
        ("rehearsal_cluster_gpus_per_node", -1),
        ("local_path_base_directory", "relative"),
        ("local_path_base_directory", "/"),
        ("validation_probe_namespace", "Upper"),
        ("kubeflow_sources", {"training-operator": "https://example.com/x.tar.gz"}),
        ("validation_waivers", {"D6": ""}),
        ("local_path_storage_mode", "nfs"),
        ("volcano_version", "w1.10.0"),
    ],
)
def test_values_out_of_bounds_are_refused(name: str, value: Any) -> None:
    (problem,) = problems(**{name: value})
    assert problem.found.startswith(name)


@pytest.mark.parametrize(
    ("variables", "found"),
    [
        ({"kubeflow_sources": {1: "x"}}, "kubeflow_sources has the key 1"),
        ({"volcano_queues": [{"name": "a", True: 1}]}, "volcano_queues[0] has the key true"),
        ({"image_mirror_overrides": {None: "x"}}, "image_mirror_overrides has the key null"),
        ({"kubeflow_namespace_labels": {(1, 2): "x"}}, "kubeflow_namespace_labels has the key [1, 2]"),
    ],
)
def test_keys_that_are_not_text_are_refused(variables: dict[str, Any], found: str) -> None:
    (problem,) = problems(**variables)
    assert problem.found.startswith(f"{found}, ")
    assert "quotes" in problem.todo


def test_versions_may_have_the_v_of_a_tag() -> None:
    plain = {"kubeflow_release": "1.10.2", "volcano_version": "1.10.0", "plan_kubernetes": "1.30.2"}
    assert parse({name: f"v{value}" for name, value in plain.items()}) == parse(plain)
    (problem,) = problems(plan_kubernetes="vv1.30")
    assert "plan_kubernetes" in problem.found


def test_every_error_is_told_at_once() -> None:
    found = problems(kubeflow_relase="x", validation_strict="no", volcano_version="9.9.9", local_path_version=0.30)
    assert len(found) == 4


def test_credentials_in_an_address_are_not_repeated() -> None:
    (problem,) = problems(volcano_source="https://me:secret@example.com/v.yaml")
    assert "secret" not in str(problem)


def test_sources_are_upstreams_unless_given() -> None:
    settings = parse({"volcano_source": f"https://example.com/v.yaml#sha256={SUM}"})
    assert settings.sources["volcano"].startswith("https://example.com")
    assert "local-path-provisioner" in settings.sources["local-path"]
    assert "training-operator" not in settings.sources


def test_source_of_an_unknown_component_is_refused() -> None:
    first, second = problems(kubeflow_sources={"trainig-operator": "/x", "volcano": "/y"})
    assert "mean training-operator?" in first.found
    assert "volcano_source" in second.todo


def test_unknown_component_and_release_pair() -> None:
    (problem,) = problems(kubeflow_components=["volcanoo"])
    assert "mean volcano?" in problem.found


def test_paths_are_completed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    settings = parse({"kubeflow_kubeconfig": "~/k"})
    assert settings.kubeconfig == Path("~/k").expanduser()
    assert settings.kustomize == tmp_path / "kubeflow-volcano/kustomize/5.2.1/kustomize"
    assert parse({"kustomize_binary": "/bin/kustomize"}).kustomize == Path("/bin/kustomize")


def test_without_gang_scheduling_nothing_requires_volcano() -> None:
    operator = parse({}).component("training-operator")
    assert [part.name for part in parse({}).requirements(operator)] == ["volcano"]
    assert parse({"gang_scheduling_scheduler": "none"}).requirements(operator) == ()


def test_scheduler_plugins_take_volcanos_place_for_those_that_require_it() -> None:
    settings = parse({"gang_scheduling_scheduler": "scheduler-plugins"})
    assert [part.name for part in settings.components] == ["local-path", "scheduler-plugins", "training-operator"]
    operator = settings.component("training-operator")
    assert [part.name for part in settings.requirements(operator)] == ["scheduler-plugins"]
    assert [settings.stands_in(name) for name in operator.requires] == ["scheduler-plugins"]
    assert "scheduler-plugins" not in [part.name for part in parse({}).components]


def test_volcano_by_name_comes_beside_scheduler_plugins() -> None:
    settings = parse(
        {"kubeflow_components": ["volcano", "training-operator"], "gang_scheduling_scheduler": "scheduler-plugins"}
    )
    assert [part.name for part in settings.components] == ["volcano", "scheduler-plugins", "training-operator"]


@pytest.mark.parametrize(("release", "operator"), [("1.6.1", "1.5.0"), ("1.7.0", "1.6.0")])
def test_an_operator_that_makes_no_such_gangs_is_refused(release: str, operator: str) -> None:
    (problem,) = problems(kubeflow_release=release, gang_scheduling_scheduler="scheduler-plugins")
    assert operator in problem.found
    assert "from 1.7 on" in problem.needed
    assert '"1.8.1"' in problem.todo


@pytest.mark.parametrize(
    ("variables", "version"),
    [
        ({}, "0.30.6"),  # 1.9.1 was tested with 1.31, of which that scheduler is one minor older
        ({"plan_kubernetes": "1.33"}, "0.32.7"),
        ({"plan_kubernetes": "1.40"}, "0.34.7"),
        ({"kubeflow_release": "1.8.1"}, "0.29.7"),
        ({"scheduler_plugins_version": "0.34.7"}, "0.34.7"),
    ],
)
def test_scheduler_plugins_go_with_the_kubernetes_that_is_planned_for(variables: dict[str, Any], version: str) -> None:
    assert parse(variables).scheduler_plugins.version == version


def test_manifests_of_scheduler_plugins_are_at_hand() -> None:
    place = Path(parse({}).sources["scheduler-plugins"])
    assert (place / "kustomization.yaml").is_file()
    assert parse({"scheduler_plugins_source": "/x"}).sources["scheduler-plugins"] == "/x"


@pytest.mark.parametrize(
    ("variables", "names"),
    [
        ({"kubeflow_components": ["training-operator"]}, ["volcano", "training-operator"]),
        (
            {"kubeflow_components": ["training-operator"], "gang_scheduling_scheduler": "none"},
            ["training-operator"],
        ),
        ({"gang_scheduling_scheduler": "none"}, ["local-path", "volcano", "training-operator"]),
    ],
)
def test_volcano_comes_along_where_it_is_needed_or_named(variables: dict[str, Any], names: list[str]) -> None:
    assert [part.name for part in parse(variables).components] == names


def test_versions_that_are_left_empty_are_the_releases_best() -> None:
    settings = parse({"kubeflow_release": "26.03"})
    assert settings.volcano.version == settings.release.volcano_versions[0]
    assert settings.local_path.version == settings.release.local_path_version
    assert settings.kustomize_version == settings.release.kustomize_version


def test_the_archive_is_upstreams_with_the_sum_of_its_content_unless_given() -> None:
    settings = parse({})
    assert settings.source == (
        f"{settings.release.source.address}#content-sha256={settings.release.source.content_sha256}"
    )
    assert parse({"kubeflow_source": "/archives/x.tar.gz"}).source == "/archives/x.tar.gz"


def test_remote_sources_are_upstreams_unless_given() -> None:
    sources = parse({"kubeflow_release": "26.03", "kubeflow_sources": {"jobset": "/jobset.yaml"}}).sources
    assert sources["argo-workflows"].startswith("https://github.com/argoproj/argo-workflows/")
    assert "#content-sha256=" in sources["argo-workflows"]
    assert sources["jobset"] == "/jobset.yaml"


def test_a_remote_source_of_another_release_is_refused() -> None:
    (problem,) = problems(kubeflow_sources={"jobset": "/jobset.yaml"})
    assert "of 1.9.1" in problem.found


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kubeflow_source", "https://example.com/x.tar.gz"),
        ("kubeflow_source", f"https://example.com/x.tar.gz#md5={SUM}"),
        ("kubeflow_user_email", "nobody"),
        ("kubeflow_user_namespace", "Mine"),
        ("image_mirror_mode", "rewrit"),
        ("image_mirror_preset", "dao"),
        ("image_mirror_rules", [{"source": "*"}]),
        ("image_mirror_rules", [{"source": "*", "prefix": "a.io", "host": "b.io"}]),
        ("image_mirror_rules", [{"source": "*", "prefix": "https://a.io"}]),
        ("image_mirror_probe_per_minute", 0),
        ("plan_architectures", ["s390x"]),
        ("plan_architectures", []),
        ("plan_minimum_cpu", 0),
    ],
)
def test_new_values_out_of_bounds_are_refused(name: str, value: Any) -> None:
    assert all(problem.found.startswith(name) for problem in problems(**{name: value}))


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"kubeflow_components": ["katib", "katib"]}, "uses the profile's; no duplicates."),
        ({"image_mirror_preset": "daocluod"}, "one of nothing, daocloud."),
        ({"image_mirror_rules": [{"source": "gcr.io", "hst": "a.b"}]}, "is the mapping {"),
        ({"kubeflow_profile": "ful"}, "Do: correct the name."),
    ],
)
def test_messages_read_as_sentences(variables: dict[str, Any], words: str) -> None:
    (problem,) = problems(**variables)
    assert words in str(problem)


def test_a_registry_is_no_address() -> None:
    (problem,) = problems(image_mirror_rules=[{"source": "*", "prefix": "https://a.io"}])
    assert "https:// from image_mirror_rules[0].prefix" in problem.todo


@pytest.mark.parametrize("password", ["short", "x" * 73, "\u00e4" * 40, "12341234"])
def test_a_password_that_cannot_be_used_is_refused_and_not_repeated(password: str) -> None:
    (problem,) = problems(kubeflow_user_password=password)
    assert password not in str(problem)
    assert "kubeflow_user_password" in problem.found


def test_the_published_password_is_asked_for_by_name_and_alone() -> None:
    assert parse({"kubeflow_published_password": True}).user.published_password
    (problem,) = problems(kubeflow_published_password=True, kubeflow_user_password="a good one")  # noqa: S106  a test
    assert "of the two" in problem.todo


def test_a_password_is_not_shown_with_the_settings() -> None:
    settings = parse({"kubeflow_user_password": "a good one"})
    assert settings.user.password == "a good one"  # noqa: S105  a test
    assert "a good one" not in repr(settings)


def test_the_first_user_is_upstreams_unless_given() -> None:
    user = parse({}).user
    assert (user.email, user.namespace, user.password) == ("user@example.com", "kubeflow-user-example-com", "")


def test_the_model_registry_is_in_the_namespace_that_its_manifests_name() -> None:
    chosen = {"kubeflow_release": "26.03.1", "kubeflow_profile": "full", "kubeflow_include": ["model-registry"]}
    own = "kubeflow-user-example-com"
    for namespace in ("", own):
        found = parse({**chosen, "kubeflow_user_namespace": namespace})
        assert "model-registry" in [part.name for part in found.components]
    (problem,) = problems(**chosen, kubeflow_user_namespace="ada")
    assert re.fullmatch("kubeflow_user_namespace is ada, .*model-registry .*", problem.found)
    assert own in problem.needed
    assert parse({**chosen, "kubeflow_include": [], "kubeflow_user_namespace": "ada"}).user.namespace == "ada"


@pytest.mark.parametrize(("name", "whose"), [("kubeflow", "Katib"), ("default", "Kubernetes itself")])
def test_the_first_user_gets_no_namespace_of_others(name: str, whose: str) -> None:
    (problem,) = problems(kubeflow_user_namespace=name)
    assert whose in problem.found


def test_mirror_rules_keep_their_order() -> None:
    rules = [{"source": "gcr.io", "host": "gcr.m.daocloud.io"}, {"source": "*", "prefix": "m.daocloud.io"}]
    mirror = parse({"image_mirror_mode": "rewrite", "image_mirror_rules": rules}).mirror
    assert [(rule.source, rule.host, rule.prefix) for rule in mirror.rules] == [
        ("gcr.io", "gcr.m.daocloud.io", ""),
        ("*", "", "m.daocloud.io"),
    ]


def test_the_plan_is_for_the_newest_tested_kubernetes_unless_given() -> None:
    assert parse({"kubeflow_release": "1.8.1"}).plan.kubernetes == "1.27"
    assert parse({"plan_kubernetes": "1.29"}).plan.kubernetes == "1.29"


def test_a_full_release_leaves_out_what_is_excluded() -> None:
    settings = parse({"kubeflow_profile": "full", "kubeflow_exclude": ["user-namespace"]})
    assert "user-namespace" not in [part.name for part in settings.components]
    assert settings.excluded == ("user-namespace",)


def test_a_profile_has_what_is_included_and_what_that_requires() -> None:
    full = {"kubeflow_release": "26.03", "kubeflow_profile": "full"}
    names = [part.name for part in parse({**full, "kubeflow_include": ["training-operator"]}).components]
    assert {*names} - {part.name for part in parse(full).components} == {"training-operator"}
    training = {"kubeflow_release": "26.03", "kubeflow_include": ["katib", "trainer"]}
    assert [part.name for part in parse(training).components].count("trainer") == 1
    assert {"katib", "kubeflow-namespace", "trainer"} <= {part.name for part in parse(training).components}


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"kubeflow_include": ["katib"], "kubeflow_exclude": ["katib"]}, "katib both requested and excluded"),
        ({"kubeflow_include": ["katb"]}, "Did you mean katib?"),
        ({"kubeflow_include": ["spark-operator"]}, "It comes with 1.10.2, 1.11.0, 26.03, 26.03.1."),
        ({"kubeflow_include": ["pipelines-pns"]}, "upstream removed it in 1.9.0"),
        (
            {"kubeflow_include": ["cert-manager"], "kubeflow_existing": ["cert-manager"]},
            "cert-manager is in kubeflow_existing and in kubeflow_include",
        ),
    ],
)
def test_what_cannot_be_included_is_refused(variables: dict[str, Any], words: str) -> None:
    (problem,) = problems(**variables)
    assert words in str(problem)
    assert problem.needed
    assert problem.todo


def test_storage_of_the_cluster_itself_takes_the_place_of_the_provisioner() -> None:
    settings = parse({"kubeflow_components": ["katib"], "local_path_storage_mode": "existing"})
    assert "local-path" not in [part.name for part in settings.components]


OWN = {"image_mirror_mode": "registry", "image_mirror_registry": "own.lan:5000"}


@pytest.mark.parametrize(
    ("variables", "found"),
    [
        ({"image_mirror_registry": "own.lan:5000"}, "image_mirror_mode is none"),
        ({"image_mirror_mode": "registry"}, "image_mirror_registry is empty"),
        ({**OWN, "image_mirror_rules": [{"source": "*", "prefix": "own.lan:5000"}]}, "image_mirror_registry itself"),
        ({**OWN, "image_mirror_registry_step": "export"}, "image_mirror_registry_archive is empty"),
        ({**OWN, "image_mirror_registry_archive": "/carried"}, "image_mirror_registry_step is copy"),
        ({**OWN, "image_mirror_registry_insecure": True, "image_mirror_registry_ca": "/ca"}, "_insecure is true"),
        ({**OWN, "image_mirror_probe": True}, "image_mirror_probe is true"),
        ({**OWN, "image_mirror_registry_images": ["quay.io/a/b"]}, "'quay.io/a/b'"),
        ({**OWN, "image_mirror_registry": "https://own.lan"}, "https://own.lan"),
        ({**OWN, "image_mirror_mode": "rewrite"}, "image_mirror_mode is rewrite"),
    ],
)
def test_settings_of_an_own_registry_that_make_no_sense_together_are_refused(
    variables: dict[str, Any], found: str
) -> None:
    (problem,) = problems(**variables)
    assert found in problem.found


def test_with_an_own_registry_rules_say_where_it_is_filled_from() -> None:
    for mode in ("registry", "containerd"):
        settings = parse({**OWN, "image_mirror_mode": mode, "image_mirror_preset": "daocloud"})
        assert [(rule.source, rule.prefix) for rule in settings.mirror.rules] == [("*", "own.lan:5000")]
        assert (settings.mirror.preset, settings.registry.preset) == ("", "daocloud")


def test_nodes_get_the_authority_of_an_own_registry_unless_another_is_named() -> None:
    own = {**OWN, "image_mirror_mode": "containerd", "image_mirror_registry_ca": "/own.crt"}
    assert parse(own).mirror.containerd.ca == Path("/own.crt")
    assert parse({**own, "image_mirror_containerd_ca": "/nodes.crt"}).mirror.containerd.ca == Path("/nodes.crt")


def keys(kind: type) -> dict[str, Any]:
    """What a dataclass and its groups read: the types of fields, by key."""
    found: dict[str, Any] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        notes = getattr(hint, "__metadata__", ())
        key = next((note.name for note in notes if isinstance(note, Key)), name)
        found |= keys(get_args(hint)[0]) if SAME in notes else {key: hint}
    return found


def test_every_key_of_the_settings_is_a_public_variable_or_made_of_several() -> None:
    made = {
        *("account", "added", "cache_directory", "cluster_addresses", "components", "kustomize", "kustomize_sum"),
        *(
            "local_path",
            "of_profiles",
            "passwords",
            "release",
            "scheduler_plugins",
            "source",
            "sources",
            "training_operator",
        ),
        "volcano",
    }
    assert set(keys(Settings)) - set(schema()["properties"]) == made


def test_the_default_of_every_variable_that_settings_read_has_the_type_of_its_field() -> None:
    defaults = {name: rule["default"] for name, rule in schema()["properties"].items()}
    for name, kind in keys(Settings).items():
        if name in defaults:
            decode(kind, defaults[name], name)


def test_every_variable_has_one_of_the_prefixes() -> None:
    assert [name for name in defaults() if not name.startswith(PREFIXES)] == []


def test_every_default_is_valid() -> None:
    assert complete(defaults())[1] == []


@pytest.mark.parametrize(("value", "example"), [("15", 15), ("4", 120), ("soon", 120), (True, 120), ("5000", 120)])
def test_the_example_of_a_number_is_one_that_the_rule_takes(value: Any, example: int) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse({"uninstall_wait_seconds": value})
    assert f'{{"uninstall_wait_seconds": {example}}}' in refused.value.describe()
    assert parse({"uninstall_wait_seconds": example}).uninstall.wait_seconds == example


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("kubflow_profile", "kubeflow_profile"),
        ("kubeflowprofile", "kubeflow_profile"),
        ("Kubeflow_Profile", "kubeflow_profile"),
        ("vulcano_version", "volcano_version"),
        ("image_miror_mode", "image_mirror_mode"),
        ("local_paths_base_directory", "local_path_base_directory"),
        ("gang_schedulig_scheduler", "gang_scheduling_scheduler"),
        ("scheduler_plugin_version", "scheduler_plugins_version"),
        ("validaton_select", "validation_select"),
    ],
)
def test_a_prefix_that_is_misspelt_is_noticed_too(name: str, meant: str) -> None:
    assert is_public(name)
    (problem,) = problems(**{name: "x"})
    assert problem.found.endswith(f"Did you mean {meant}?")
    assert meant in problem.needed


@pytest.mark.parametrize(
    "name",
    [
        "kubernetes_version",
        "kube_version",
        "backups_directory",
        "cluster_name",
        "nfs_path",
        "plans_directory",
        "harbor_mode",
    ],
)
def test_variables_of_others_are_not_taken_for_misspelt_ones(name: str) -> None:
    assert not is_public(name)
