"""Test hosts are what they claim to be; what uses them in `make test` fails where they are not.

Not openEuler there: Debian's userland under an RPM database, the machine's kernel, systemctl and crictl are stand-ins.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import testinfra

from tests.hosts.lab import Host, Lab, Registry
from tests.hosts.lab.programs import CONTAINERD

pytestmark = pytest.mark.long

RELEASES = {"22.03": ("LTS-SP4", "3.9"), "24.03": ("LTS", "3.11")}
PAIRS = (("22.03", "1.6"), ("24.03", "1.7"), ("24.03", "2.2"))


@pytest.fixture(scope="module")
def hosts(lab: Lab) -> Iterator[dict[str, Host]]:
    """One host per containerd, of both releases."""
    found = {containerd: lab.start(release, containerd) for release, containerd in PAIRS}
    yield found
    for host in found.values():
        host.remove()


@pytest.fixture(scope="module")
def inventory(lab: Lab, hosts: dict[str, Host], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lab.inventory(tmp_path_factory.mktemp("inventory"), list(hosts.values()))


@pytest.fixture(scope="module")
def registry(lab: Lab) -> Registry:
    return lab.registry()


@pytest.fixture(params=[containerd for _, containerd in PAIRS])
def target(request: pytest.FixtureRequest, hosts: dict[str, Host]) -> Host:
    return hosts[request.param]


EACH_RELEASE = pytest.mark.parametrize("target", ["1.6", "2.2"], indirect=True)


@pytest.fixture
def module(inventory: Path, target: Host) -> Callable[..., dict[str, Any]]:
    """Runs an Ansible module on a host, through the inventory."""
    connection = testinfra.get_host(f"ansible://{target.name}", ansible_inventory=str(inventory))

    def run(name: str, arguments: str = "") -> dict[str, Any]:
        result: dict[str, Any] = connection.ansible(f"ansible.builtin.{name}", arguments, check=False)
        return result

    return run


@EACH_RELEASE
def test_ansible_sees_openeuler(module: Callable[..., dict[str, Any]], target: Host) -> None:
    level, python = RELEASES[target.release]
    facts = module("setup", "gather_subset=!all,min,pkg_mgr,service_mgr")["ansible_facts"]
    assert facts["ansible_distribution"] == "openEuler"
    assert facts["ansible_distribution_version"] == target.release
    assert facts["ansible_distribution_release"] == level
    assert facts["ansible_os_family"] == "RedHat"
    assert facts["ansible_pkg_mgr"] == "dnf"
    assert facts["ansible_service_mgr"] == "systemd"
    assert facts["ansible_python_version"].startswith(f"{python}.")


def test_every_file_that_tells_the_release_tells_the_same(target: Host) -> None:
    level, _ = RELEASES[target.release]
    told = f"openEuler release {target.release} ({level})\n"
    assert target.run("cat /etc/openEuler-release /etc/system-release").stdout == told * 2
    assert "ID_LIKE" not in target.run("cat /etc/os-release").stdout


def test_containerd_of_that_version_answers_the_cri(target: Host) -> None:
    lines = target.run("crictl version").stdout.splitlines()
    assert f"RuntimeVersion:  {CONTAINERD[target.containerd]}" in lines
    assert "RuntimeApiVersion:  v1" in lines


def test_an_image_is_pulled_with_the_registrys_authority_only(target: Host, registry: Registry) -> None:
    digest = registry.put("team/image", "1.0")
    name = f"{registry.address}/team/image:1.0"
    refused = target.run(f"crictl pull {name}", check=False)
    assert refused.returncode == 1
    assert "unknown authority" in refused.stderr
    trusted = target.root / "etc/pki-lab.crt"
    trusted.write_bytes(registry.ca.read_bytes())
    target.run("cp /etc/pki-lab.crt /usr/local/share/ca-certificates/lab.crt && update-ca-certificates --fresh")
    target.run("systemctl restart containerd")
    assert target.run(f"crictl pull {name}").stdout.startswith("Image is up ")
    (image,) = json.loads(target.run("crictl images -o json").stdout)["images"]
    assert image["repoTags"] == [name]
    assert image["repoDigests"] == [f"{registry.address}/team/image@{digest}"]
    assert json.loads(target.run(f"crictl inspecti {name}").stdout)["status"] == image
    assert target.run(f"crictl rmi {name}").stdout == f"Deleted: {name}\n"
    assert target.run(f"crictl inspecti {name}", check=False).returncode == 1


@pytest.mark.parametrize("status", [403, 404, 429, 503])
def test_a_registry_refuses_as_it_is_told(lab: Lab, status: int) -> None:
    registry = lab.registry(tls=False, answers=[status])
    registry.put("a", "1")
    url = f"http://{registry.address}/v2/a/manifests/1"
    command = ["curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", url]
    answers = [subprocess.run(command, capture_output=True, text=True, check=False).stdout for _ in range(2)]
    assert answers == [str(status), "200"]
    registry.answer("hang")
    hanging = subprocess.run([*command, "--max-time", "3"], capture_output=True, text=True, check=False)
    assert hanging.returncode == 28  # curl's own for a time that is over
    assert [seen for _, _, seen in registry.requests] == [status, 200, 0]


@EACH_RELEASE
def test_dnf_installs_from_the_hosts_own_repository(module: Callable[..., dict[str, Any]], target: Host) -> None:
    assert module("dnf", "name=container-selinux,socat")["changed"]
    assert not module("dnf", "name=container-selinux,socat")["changed"]
    assert "socat" in target.run("rpm --query --all").stdout
    assert "no-such-package" in str(module("dnf", "name=no-such-package")["failures"])


@EACH_RELEASE
def test_services_are_restarted_and_refuse_a_broken_configuration(
    module: Callable[..., dict[str, Any]], target: Host
) -> None:
    before = target.run("systemctl show --property MainPID containerd").stdout
    assert module("systemd_service", "name=containerd state=restarted daemon_reload=true")["changed"]
    after = target.run("systemctl show --property MainPID containerd").stdout
    assert before != after
    assert not module("service", "name=containerd state=started enabled=true")["changed"]
    config = target.root / "etc/containerd/config.toml"
    good = config.read_text()
    config.write_text("version = \n")
    assert "control process exited" in module("systemd_service", "name=containerd state=restarted")["msg"]
    assert target.run("systemctl is-active containerd", check=False).stdout == "failed\n"
    config.write_text(good)
    assert module("systemd_service", "name=containerd state=started")["changed"]


def test_sudo_asks_the_user_ops_for_a_password(lab: Lab, host: Host, tmp_path: Path) -> None:
    def ping(password: str) -> subprocess.CompletedProcess[str]:
        inventory = lab.inventory(
            tmp_path, [host], ansible_user="ops", ansible_become=True, ansible_become_password=password
        )
        command = [
            str(Path(sys.executable).with_name("ansible")),
            "-i",
            str(inventory),
            "all",
            "-m",
            "ansible.builtin.command",
            "-a",
            "id -u",
        ]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert ping("ops-secret").stdout.splitlines()[-1] == "0"
    wrong = ping("wrong")
    assert wrong.returncode != 0
    assert "Incorrect sudo password" in wrong.stdout + wrong.stderr


def test_logins_have_the_hardened_umask(host: Host) -> None:
    assert host.run("umask").stdout == "0077\n"
    assert host.run("umask", user="ops").stdout == "0077\n"


def test_a_clock_can_be_moved(host: Host) -> None:
    host.stop()
    host.env(faketime="+3h").start()
    ahead = int(host.run("date +%s").stdout) - int(subprocess.check_output(["date", "+%s"], text=True))
    assert abs(ahead - 3 * 3600) < 60


def test_the_machines_clock_is_out_of_reach(host: Host) -> None:
    refused = host.run("date --set=now", check=False)
    assert refused.returncode == 1
    assert "Operation not permitted" in refused.stderr


def test_settings_of_the_kernel_stay_in_the_host(host: Host) -> None:
    here = Path("/proc/sys/fs/inotify/max_user_instances")
    before = here.read_text()
    host.run("sysctl --write fs.inotify.max_user_instances=4321 net.ipv4.ip_forward=1")
    assert host.run("cat /proc/sys/fs/inotify/max_user_instances").stdout == "4321\n"
    assert here.read_text() == before


def test_a_booting_host_reads_its_settings_in_the_order_of_systemd(host: Host) -> None:
    host.run("echo net.ipv4.ip_forward=0 >/etc/sysctl.conf; echo net.ipv4.ip_forward=1 >/etc/sysctl.d/zz.conf")
    host.stop()
    assert host.start().run("cat /proc/sys/net/ipv4/ip_forward").stdout == "1\n"
    host.run("mv /etc/sysctl.d/zz.conf /etc/sysctl.d/90.conf")  # sysctl.conf counts as 99-sysctl.conf
    host.stop()
    assert host.start().run("cat /proc/sys/net/ipv4/ip_forward").stdout == "0\n"


def test_systemctl_reads_drop_ins_as_systemd_does(host: Host) -> None:
    units = host.root / "etc/systemd/system"
    (units / "demo.service.d").mkdir()
    (units / "demo.service").write_text(
        "[Service]\nExecStart=/bin/false\nEnvironment=A=1\nKillMode=process\n[Install]\nWantedBy=multi-user.target\n"
    )
    (units / "demo.service.d/10.conf").write_text(
        "[Service]\nExecStart=\nExecStart=/bin/sh -c 'echo $A$B; exec sleep 60'\nEnvironment=B=2\n"
    )
    host.run("systemctl daemon-reload && systemctl enable --now demo")
    shown = host.run("systemctl show demo").stdout.splitlines()
    assert {"Environment=A=1 B=2", "KillMode=process", "ActiveState=active", "UnitFileState=enabled"} <= set(shown)
    assert "DropInPaths=/etc/systemd/system/demo.service.d/10.conf" in shown
    assert host.run("cat /var/log/units/demo.service.log").stdout == "12\n"
    host.run("systemctl disable --now demo")
    assert host.run("systemctl is-active demo; systemctl is-enabled demo", check=False).stdout == "inactive\ndisabled\n"
    host.run("mv /etc/systemd/system/demo.service /usr/lib/systemd/system/ && systemctl mask demo")
    refused = host.run("systemctl start demo", check=False)
    assert (refused.returncode, refused.stderr) == (1, "Failed to start demo.service: Unit demo.service is masked.\n")


def test_a_registry_is_filled_and_served_from(lab: Lab) -> None:
    registry = lab.registry(tls=False)
    url = f"http://{registry.address}/v2/team/image"

    def send(method: str, place: str, *data: str) -> subprocess.CompletedProcess[str]:
        command = ["curl", "--silent", "--include", "--request", method, *data, place]
        return subprocess.run(command, capture_output=True, text=True, check=True)

    begun = send("POST", f"{url}/blobs/uploads/", "--data", "")
    (place,) = (line.split()[1] for line in begun.stdout.splitlines() if line.startswith("Location:"))
    digest = f"sha256:{hashlib.sha256(b'hello').hexdigest()}"
    whole = f"http://{registry.address}{place}?digest={digest}"
    assert "400" in send("PUT", whole, "--data-binary", "other").stdout.splitlines()[0]
    begun = send("POST", f"{url}/blobs/uploads/", "--data", "")
    (place,) = (line.split()[1] for line in begun.stdout.splitlines() if line.startswith("Location:"))
    send("PATCH", f"http://{registry.address}{place}", "--data-binary", "hel")
    finished = send("PUT", f"http://{registry.address}{place}?digest={digest}", "--data-binary", "lo")
    assert "201" in finished.stdout.splitlines()[0]
    assert send("GET", f"{url}/blobs/{digest}").stdout.endswith("\n\nhello")


def test_a_container_outlives_a_restart_of_containerd_in_the_hosts_own_control_group(target: Host) -> None:
    target.run("mkdir /mnt/image && mount --bind / /mnt/image")
    target.run("ctr run --detach --rootfs /mnt/image demo /bin/sleep 600")
    before = target.run("ctr task ls").stdout
    assert before.split()[-1] == "RUNNING"
    target.run("systemctl restart containerd")
    assert target.run("ctr task ls").stdout == before
    found = {path.relative_to(group) for group in target.place.groups for path in group.glob("*/default/demo")}
    assert found == {Path(str(target.place.number), "default/demo")}
    target.run("ctr task delete --force demo && ctr container delete demo && umount /mnt/image")
