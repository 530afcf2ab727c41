"""What has to change on a node, by what was seen of it. containerd's dump is made here; tests/hosts asks real ones."""

from __future__ import annotations

import base64
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from kubeflow_volcano.hosts.containerd.check import candidate_files, require_accepted
from kubeflow_volcano.hosts.containerd.hosts_toml import Host, hosts_of, with_mirror
from kubeflow_volcano.hosts.containerd.look import Directory, Look
from kubeflow_volcano.hosts.containerd.mirrors import MirrorHost
from kubeflow_volcano.hosts.containerd.plan import CA_FILE, Choice, Plan, directories, plan, unread_imports
from kubeflow_volcano.problems import InvalidInput

CONFIG = "/etc/containerd/config.toml"
CERTS = "/etc/containerd/certs.d"
SERVICE = {"LoadState": "loaded", "ActiveState": "active", "KillMode": "process", "Delegate": "yes", "MainPID": "7"}
CHOICE = Choice(CERTS, "", extend=False)
MIRROR = Host("https://m.x/v2/gcr.io", override_path=True)
WANTED = {"gcr.io": MirrorHost(MIRROR, upstream=False)}
V2 = 'version = 2\n[plugins."io.containerd.grpc.v1.cri"]\n  sandbox_image = "pause:3.9"\n'
V3 = "version = 3\n"
LEGACY = (
    V2
    + """
[plugins."io.containerd.grpc.v1.cri".registry.mirrors."gcr.io"]
  endpoint = ["https://near.lan"]
[plugins."io.containerd.grpc.v1.cri".registry.mirrors."quay.io"]
  endpoint = ["https://near.lan/v2/quay"]
[plugins."io.containerd.grpc.v1.cri".registry.configs."near.lan".auth]
  password = "p"
[plugins."io.containerd.grpc.v1.cri".registry.configs."near.lan".tls]
  ca_file = "/etc/near.crt"
"""
)


def dump_of(*texts: str, release: str = "1.7.28") -> str:
    """What containerd would make of files of version 2 or 3 that it loads in this order."""
    plugins: dict[str, Any] = {}
    for text in texts:
        for name, table in tomllib.loads(text).get("plugins", {}).items():
            plugins[name] = {**plugins.get(name, {}), **table} if release >= "2" else table
    if release < "2":
        registry = {"config_path": "", **plugins.get("io.containerd.grpc.v1.cri", {}).get("registry", {})}
        cri = {"containerd": {"default_runtime_name": "runc", "runtimes": {"runc": {"options": {}}}}}
        plugins["io.containerd.grpc.v1.cri"] = {
            **cri,
            **plugins.get("io.containerd.grpc.v1.cri", {}),
            "registry": registry,
        }
        return tomlkit.dumps({"version": 2, "imports": ["x"], "plugins": plugins})
    images = {**plugins.get("io.containerd.cri.v1.images", {}), **plugins.pop("io.containerd.grpc.v1.cri", {})}
    images["registry"] = {"config_path": "", **images.get("registry", {})}
    return tomlkit.dumps({"version": 3, "plugins": {**plugins, "io.containerd.cri.v1.images": images}})


def look(
    text: str | None = V2, release: str = "1.7.28", files: Mapping[str, str] | None = None, **changes: Any
) -> Look:
    """A node with that configuration file (None: without one) and others that it imports."""
    others = files or {}
    own = {} if text is None else {CONFIG: text}
    values: dict[str, Any] = {
        "config": CONFIG,
        "version": release,
        "service": SERVICE,
        "files": {path: content.encode() for path, content in (own | dict(others)).items()},
        "matching": {"/etc/containerd/conf.d/*.toml": sorted(others)},
        "dump": dump_of(*([text] if text else []), *others.values(), release=release),
        "trees": {CERTS: {}, "/etc/docker/certs.d": {}},
    }
    return Look(**values | changes)


def tree(**files: str) -> dict[str, dict[str, Directory]]:
    return {CERTS: {name.replace("_dot_", "."): Directory(text.encode()) for name, text in files.items()}}


def written(found: Plan) -> dict[str, str | None]:
    return {item.path: item.after for item in found.writes}


def refused(seen: Look, wanted: Mapping[str, MirrorHost] = WANTED, choice: Choice = CHOICE) -> str:
    with pytest.raises(InvalidInput) as error:
        plan(seen, wanted, choice)
    return error.value.describe()


def test_a_fresh_node_gets_files_then_the_key_and_a_restart() -> None:
    found = plan(look(), WANTED, CHOICE)
    assert list(written(found)) == [f"{CERTS}/gcr.io/hosts.toml", CONFIG]
    assert found.restart
    assert (
        written(found)[CONFIG] == f'{V2}\n[plugins."io.containerd.grpc.v1.cri".registry]\n  config_path = "{CERTS}"\n'
    )


def test_a_node_that_has_all_of_it_gets_nothing() -> None:
    first = plan(look(), WANTED, CHOICE)
    done = look(written(first)[CONFIG], trees=tree(gcr_dot_io=with_mirror("", [MIRROR], upstream=False)))
    again = plan(done, WANTED, CHOICE)
    assert (again.writes, again.restart, again.expected, again.notes) == ((), False, None, ())


def test_a_node_that_is_to_ask_no_mirror_is_left_alone() -> None:
    for text in (V2, LEGACY):
        found = plan(look(text), {}, CHOICE)
        assert (found.writes, found.restart) == ((), False)


def test_files_alone_need_no_restart() -> None:
    seen = look(V2 + f'[plugins."io.containerd.grpc.v1.cri".registry]\nconfig_path = "{CERTS}"\n')
    found = plan(seen, WANTED, CHOICE)
    assert (list(written(found)), found.restart) == ([f"{CERTS}/gcr.io/hosts.toml"], False)


def test_the_directory_that_a_node_has_is_kept() -> None:
    seen = look(V2 + '[plugins."io.containerd.grpc.v1.cri".registry]\nconfig_path = "/own"\n', trees={"/own": {}})
    assert list(written(plan(seen, WANTED, CHOICE))) == ["/own/gcr.io/hosts.toml"]


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("1.6.36", 'version = 2\n\n[plugins."io.containerd.grpc.v1.cri".registry]\n'),
        ("2.2.1", 'version = 3\n\n[plugins."io.containerd.cri.v1.images".registry]\n'),
    ],
)
def test_a_node_without_a_file_gets_one_that_its_containerd_reads(release: str, text: str) -> None:
    found = plan(look(None, release), WANTED, CHOICE)
    (write,) = [item for item in found.writes if item.path == CONFIG]
    assert (write.before, write.after) == (None, f'{text}  config_path = "{CERTS}"\n')


def test_the_authority_comes_first() -> None:
    found = plan(look(), WANTED, Choice(CERTS, "pem", extend=False))
    assert next(iter(written(found))) == f"{CERTS}/{CA_FILE}"
    same = look(authority=b"pem")
    assert f"{CERTS}/{CA_FILE}" not in written(plan(same, WANTED, Choice(CERTS, "pem", extend=False)))


def test_an_authority_that_is_no_longer_named_goes_last() -> None:
    found = plan(look(authority=b"pem"), WANTED, CHOICE)
    assert [*written(found).items()][-1] == (f"{CERTS}/{CA_FILE}", None)


def test_old_mirrors_move_without_loss_and_the_new_one_goes_before_them() -> None:
    found = written(plan(look(LEGACY), WANTED, CHOICE))
    near = Host("https://near.lan", ca=("/etc/near.crt",))
    assert hosts_of(str(found[f"{CERTS}/gcr.io/hosts.toml"])) == (MIRROR, near)
    quay = Host("https://near.lan/v2/quay", override_path=True, ca=("/etc/near.crt",))
    assert hosts_of(str(found[f"{CERTS}/quay.io/hosts.toml"])) == (quay,)
    assert hosts_of(str(found[f"{CERTS}/near.lan/hosts.toml"])) == (near,)
    left = tomllib.loads(str(found[CONFIG]))["plugins"]["io.containerd.grpc.v1.cri"]["registry"]
    assert left == {"config_path": CERTS, "configs": {"near.lan": {"auth": {"password": "p"}}}}


def test_certificates_that_newer_ones_pass_over_are_not_lost_either() -> None:
    silent = dump_of(LEGACY, release="2.2.1").replace('ca_file = "/etc/near.crt"', "")
    found = written(plan(look(LEGACY, "2.2.1", dump=silent), WANTED, CHOICE))
    near = Host("https://near.lan", ca=("/etc/near.crt",))
    assert hosts_of(str(found[f"{CERTS}/near.lan/hosts.toml"])) == (near,)
    assert near in hosts_of(str(found[f"{CERTS}/gcr.io/hosts.toml"]))
    assert "near.crt" not in str(found[CONFIG])


def test_what_moved_stays_when_the_mirror_changes_and_when_no_rule_names_it_any_more() -> None:
    first = written(plan(look(LEGACY), WANTED, CHOICE))
    text = str(first[f"{CERTS}/gcr.io/hosts.toml"])
    done = look(first[CONFIG], trees=tree(gcr_dot_io=text))
    other = {"gcr.io": MirrorHost(Host("https://b.x"), upstream=True)}
    changed = str(written(plan(done, other, CHOICE))[f"{CERTS}/gcr.io/hosts.toml"])
    assert [host.url for host in hosts_of(changed)] == ["https://b.x", "https://near.lan"]
    left = str(written(plan(done, {}, CHOICE))[f"{CERTS}/gcr.io/hosts.toml"])
    assert [host.url for host in hosts_of(left)] == ["https://near.lan"]


def test_a_move_that_was_interrupted_is_gone_on_with() -> None:
    first = written(plan(look(LEGACY), WANTED, CHOICE))
    files = {path.split("/")[-2]: Directory(str(text).encode()) for path, text in first.items() if "hosts.toml" in path}
    again = plan(look(LEGACY, trees={CERTS: files}), WANTED, CHOICE)
    assert list(written(again)) == [CONFIG]


def test_files_that_were_not_read_and_say_something_else_are_told() -> None:
    told = refused(look(LEGACY, trees=tree(quay_dot_io='[host."https://elsewhere"]')))
    assert re.search(f"{CERTS}/quay.io/hosts.toml .*registry.mirrors", told)


def test_a_registry_without_a_rule_any_more_loses_its_file() -> None:
    own = with_mirror("", [MIRROR], upstream=False)
    theirs = '[host."https://t"]\n'
    seen = look(V2 + f'[plugins."io.containerd.grpc.v1.cri".registry]\nconfig_path = "{CERTS}"\n')
    seen = Look(**{**_fields(seen), "trees": tree(quay_dot_io=own, ghcr_dot_io=theirs)})
    found = plan(seen, {}, CHOICE)
    assert written(found) == {f"{CERTS}/quay.io/hosts.toml": None}


def test_a_file_of_somebody_else_is_refused_or_extended() -> None:
    theirs = '[host."https://theirs"]\n'
    seen = look(trees=tree(gcr_dot_io=theirs))
    told = refused(seen)
    assert re.search(f"{CERTS}/gcr.io/hosts.toml .*https://theirs", told)
    assert "image_mirror_containerd_existing: extend" in told
    (write, _) = plan(seen, WANTED, Choice(CERTS, "", extend=True)).writes
    assert write.foreign
    assert [host.url for host in hosts_of(str(write.after))] == [MIRROR.url, "https://theirs"]


def test_a_file_of_somebody_else_that_says_the_same_is_left_alone() -> None:
    same = f'server = "{MIRROR.url}"\n[host."{MIRROR.url}"]\noverride_path = true\n'
    assert list(written(plan(look(trees=tree(gcr_dot_io=same)), WANTED, CHOICE))) == [CONFIG]


def test_a_broken_file_and_certificates_in_the_manner_of_docker_are_told() -> None:
    assert "containerd cannot read" in refused(look(trees=tree(gcr_dot_io="= x")))
    docker = {CERTS: {"gcr.io": Directory(None, ("ca.crt", "readme"))}}
    assert "certificates (ca.crt)" in refused(look(trees=docker))


def test_a_port_in_the_name_of_a_directory_may_be_written_in_two_ways() -> None:
    wanted = {"reg.lan:5000": MirrorHost(Host("https://reg.lan:5000"), upstream=False)}
    seen = look(trees={CERTS: {"reg.lan_5000_": Directory(None)}})
    assert f"{CERTS}/reg.lan_5000_/hosts.toml" in written(plan(seen, wanted, CHOICE))
    assert f"{CERTS}/reg.lan:5000/hosts.toml" in written(plan(look(), wanted, CHOICE))


def test_a_list_of_directories_is_one_name_to_newer_ones_only() -> None:
    table = f'[plugins."io.containerd.cri.v1.images".registry]\nconfig_path = "{CERTS}:/etc/docker/certs.d"\n'
    assert CONFIG not in written(plan(look(V3 + table, "2.0.5"), WANTED, CHOICE))
    found = plan(look(V3 + table, "2.1.5"), WANTED, CHOICE)
    assert f'config_path = "{CERTS}"\n' in str(written(found)[CONFIG])
    other = {CERTS: {}, "/etc/docker/certs.d": {"reg.lan": Directory(None, ("ca.crt",))}}
    told = refused(look(V3 + table, "2.1.5", trees=other))
    assert re.search(f"{CERTS} and then /etc/docker/certs.d, .*reg.lan", told)


def test_the_default_of_newer_ones_counts_where_nothing_is_set() -> None:
    assert directories(look(V3, "2.2.1"), CHOICE) == (CERTS, "/etc/docker/certs.d")
    assert directories(look(V3, "2.1.1"), CHOICE) == (CERTS,)
    assert CONFIG in written(plan(look(V3, "2.2.1"), WANTED, CHOICE))


def test_a_drop_in_that_has_the_table_alone_is_changed_in_its_place() -> None:
    main = 'imports = ["/etc/containerd/conf.d/*.toml"]\n' + V2
    drop_in = {"/etc/containerd/conf.d/gpu.toml": V2.replace("pause:3.9", "pause:3.10")}
    found = plan(look(main, files=drop_in), WANTED, CHOICE)
    assert list(found.files) == ["/etc/containerd/conf.d/gpu.toml"]
    assert any("conf.d/gpu.toml, an imported" in note for note in found.notes)
    newer = plan(look(main, "2.2.1", files=drop_in), WANTED, CHOICE)
    assert list(newer.files) == [CONFIG]


def test_the_files_to_ask_containerd_about_are_all_of_them_in_its_order() -> None:
    main = 'imports = ["/etc/containerd/conf.d/*.toml"] # all\n' + V2
    drop_in = {"/etc/containerd/conf.d/gpu.toml": 'version = 2\nimports = ["x"]\noom_score = 1\n'}
    seen = look(main, files=drop_in)
    found = candidate_files(seen, plan(seen, WANTED, CHOICE))
    assert tomllib.loads(found["0.toml"])["imports"] == ["1.toml"]
    registry = tomllib.loads(found["0.toml"])["plugins"]["io.containerd.grpc.v1.cri"]["registry"]
    assert registry == {"config_path": CERTS}
    assert tomllib.loads(found["1.toml"]) == {"version": 2, "oom_score": 1}


def test_imports_are_looked_up_until_none_is_new() -> None:
    assert unread_imports(look('imports = ["more.toml"]\n' + V2)) == ("/etc/containerd/more.toml",)
    assert unread_imports(look('imports = ["conf.d/*.toml"]\n' + V2)) == ()


def test_a_configuration_that_containerd_reads_as_meant_is_accepted() -> None:
    found = plan(look(LEGACY), WANTED, CHOICE)
    require_accepted(found, dump_of(str(written(found)[CONFIG])), "", CONFIG)


@pytest.mark.parametrize(
    ("dump", "error", "told"),
    [
        ("", "unknown field", "containerd cannot read the new configuration: unknown field"),
        (dump_of(V2), "", "registry.config_path in containerd's configuration; nothing was written"),
        (
            dump_of(
                V2.replace("pause:3.9", "other")
                + f'[plugins."io.containerd.grpc.v1.cri".registry]\nconfig_path = "{CERTS}"'
            ),
            "",
            "sandbox_image in containerd's configuration; nothing was written",
        ),
        ("= no", "", "is not TOML"),
    ],
)
def test_a_configuration_that_containerd_reads_otherwise_is_not_written(dump: str, error: str, told: str) -> None:
    found = plan(look(), WANTED, CHOICE)
    with pytest.raises(InvalidInput) as problem:
        require_accepted(found, dump, error, CONFIG)
    assert told in problem.value.describe()


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        (look(dump_error="unsupported config version `3`"), "cannot read its own configuration: unsupported"),
        (look(V3, files={}, dump="= x"), "is not TOML"),
        (look(V2, service={**SERVICE, "KillMode": "mixed"}), "KillMode=mixed: a restart may kill"),
        (look(V2, service={}), "containerd.service is unknown to systemd"),
        (look(V2.removeprefix("version = 2")), "which containerd ignores in such a"),
        (look("version = 1\n", "2.2.1"), "containerd 2.2.1 ignores the CRI tables"),
        (
            look(LEGACY + f'[plugins."io.containerd.grpc.v1.cri".registry]\nconfig_path = "{CERTS}"\n'),
            f"both registry.config_path ({CERTS}) and configs.near.lan.tls, mirrors.gcr.io, mirrors.quay.io.",
        ),
        (
            look(
                V2
                + '[plugins."io.containerd.grpc.v1.cri".registry]\nconfig_path = "/x"\n'
                + '[plugins."io.containerd.grpc.v1.cri".registry.configs.a.tls]\nca_file = "/ca"\n',
                trees={"/x": {}},
            ),
            "both registry.config_path (/x) and configs.a.tls.",
        ),
        (
            look(V2 + '[plugins."io.containerd.grpc.v1.cri".containerd]\ndefault_runtime_name = "nvidia"\n'),
            "has default_runtime_name 'nvidia', and the runtimes none",
        ),
        (
            look(info={"containerd": {"runtimes": {"runc": {"options": {"SystemdCgroup": True}}}}}),
            "containerd runs with SystemdCgroup = true for the runtime runc",
        ),
    ],
)
def test_what_a_restart_would_break_is_refused(seen: Look, told: str) -> None:
    assert told in refused(seen)


def test_a_cri_that_docker_switched_off_is_told() -> None:
    seen = look(dump='disabled_plugins = ["cri"]\n' + dump_of(V2))
    assert "disabled_plugins with cri" in refused(seen)


def test_everything_is_told_at_once() -> None:
    told = refused(look(trees=tree(gcr_dot_io='[host."https://t"]'), service={**SERVICE, "KillMode": "mixed"}))
    assert told.count("Found:") == 2


def test_what_a_restart_puts_into_use_as_well_is_told() -> None:
    seen = look(newer=[CONFIG], unfinished=[CONFIG], trees=tree(quay_dot_io='[host."https://t"]'))
    notes = "\n".join(plan(seen, WANTED, CHOICE).notes)
    assert f"{CONFIG} changed " in notes
    assert "interrupted" in notes
    assert re.search(f"{CERTS} [^.]*: quay.io.", notes)


def test_a_unit_that_does_not_delegate_is_told() -> None:
    seen = look(service={**SERVICE, "Delegate": "no"})
    assert any("no Delegate=yes" in note for note in plan(seen, WANTED, CHOICE).notes)


def test_an_unfinished_change_is_made_up_for_by_a_restart_where_it_needs_one() -> None:
    text = V2 + f'[plugins."io.containerd.grpc.v1.cri".registry]\nconfig_path = "{CERTS}"\n'
    found = plan(look(text, unfinished=[CONFIG]), {}, CHOICE)
    assert (found.writes, found.restart, found.expected) == ((), True, None)
    assert not plan(look(text, unfinished=[f"{CERTS}/gcr.io/hosts.toml"]), {}, CHOICE).restart


def test_a_default_of_somebody_else_no_longer_counts_where_a_registry_has_its_own() -> None:
    seen = look(trees=tree(_default='[host."https://t"]'))
    assert any(re.search("_default .*to gcr.io", note) for note in plan(seen, WANTED, CHOICE).notes)


def test_a_change_is_shown_without_credentials() -> None:
    (write,) = [item for item in plan(look(LEGACY), WANTED, CHOICE).writes if item.path == CONFIG]
    diff = write.diff()
    assert 'password = "p"' not in diff["before"] + diff["after"]
    assert "password = [redacted]" in diff["before"]
    assert diff["after_header"] == CONFIG


def test_an_answer_is_decoded() -> None:
    encoded = base64.b64encode(b"x").decode()
    seen = Look.decode(
        {
            "config": CONFIG,
            "version": "v1.7.28",
            "files": {CONFIG: encoded},
            "trees": {CERTS: {"a": {"hosts": encoded, "others": ["b"]}, "c": {"hosts": None, "others": []}}},
            "authority": encoded,
            "invocation": {},
        }
    )
    assert (seen.files, seen.authority, seen.release) == ({CONFIG: b"x"}, b"x", (1, 7))
    assert seen.trees == {CERTS: {"a": Directory(b"x", ("b",)), "c": Directory(None)}}
    assert Look("x", version="devel").release == (0, 0)


def _fields(seen: Look) -> dict[str, Any]:
    return {name: getattr(seen, name) for name in Look.__dataclass_fields__}


def test_the_default_files_of_real_releases_are_planned_for() -> None:
    for version in ("1.6", "1.7", "2.2", "2.3"):
        text = Path(__file__).with_name(f"default-{version}.toml").read_text()
        seen = look(text, f"{version}.0", dump=text)
        found = plan(seen, WANTED, CHOICE)
        require_accepted(found, str(written(found)[CONFIG]), "", CONFIG)
