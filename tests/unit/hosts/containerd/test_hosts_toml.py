"""hosts.toml: what is written is what containerd reads, and what stood there stays."""

from __future__ import annotations

import tomllib

import pytest

from kubeflow_volcano.hosts.containerd.hosts_toml import (
    BEGIN,
    END,
    MOVED,
    Host,
    hosts_of,
    is_own,
    migrated,
    requests_first,
    with_mirror,
    without_block,
)

MIRROR = Host("https://reg.lan:5000/v2/gcr.io", override_path=True, ca=("/etc/containerd/certs.d/ca.crt",))
OTHER = Host("https://other.lan")
THEIRS = """# by hand
server = "https://gcr.io"

[host."https://near.lan"]  # ours
  capabilities = ["pull", "resolve"]
  client = [
    ["/a.cert", "/a.key"],
  ]
[host."https://near.lan".header]
  x-team = "ml"
"""


def test_without_the_registry_itself_the_server_is_the_mirror_and_asked_for_no_pull() -> None:
    document = tomllib.loads(with_mirror("", [MIRROR], upstream=False))
    assert document == {
        "server": MIRROR.url,
        "capabilities": ["push"],
        "override_path": True,
        "ca": "/etc/containerd/certs.d/ca.crt",
        "host": {
            MIRROR.url: {
                "capabilities": ["pull", "resolve"],
                "override_path": True,
                "ca": "/etc/containerd/certs.d/ca.crt",
            }
        },
    }


def test_with_the_registry_itself_no_server_is_named() -> None:
    assert tomllib.loads(with_mirror("", [OTHER], upstream=True)) == {
        "host": {"https://other.lan": {"capabilities": ["pull", "resolve"]}}
    }


def test_no_key_is_written_that_an_older_containerd_does_not_know() -> None:
    host = Host("https://a", override_path=True, ca=("x", "y"), client=(("c", "k"),), skip_verify=True)
    (table,) = tomllib.loads(with_mirror("", [host], upstream=True))["host"].values()
    assert table == {
        "capabilities": ["pull", "resolve"],
        "override_path": True,
        "ca": ["x", "y"],
        "client": [["c", "k"]],
        "skip_verify": True,
    }


def test_a_host_without_tls_has_no_key_about_it() -> None:
    host = Host("http://a:5000", ca=("x",), client=(("c", "k"),), skip_verify=True)
    assert list(host.keys("pull")) == ['capabilities = ["pull"]']


def test_what_somebody_else_wrote_stays_byte_for_byte_behind_the_mirror() -> None:
    text = with_mirror(THEIRS, [MIRROR], upstream=False)
    assert without_block(text).split() == THEIRS.split()
    assert [host.url for host in hosts_of(text)] == [MIRROR.url, "https://near.lan"]
    document = tomllib.loads(text)
    assert document["server"] == "https://gcr.io", "a server of theirs is kept"
    assert document["host"]["https://near.lan"]["header"] == {"x-team": "ml"}


def test_a_second_time_changes_nothing() -> None:
    for found in ("", THEIRS, migrated([OTHER], None)):
        once = with_mirror(found, [MIRROR], upstream=False)
        assert with_mirror(once, [MIRROR], upstream=False) == once


def test_another_mirror_takes_the_place_of_the_former() -> None:
    once = with_mirror(THEIRS, [MIRROR], upstream=False)
    again = with_mirror(once, [OTHER], upstream=False)
    assert [host.url for host in hosts_of(again)] == [OTHER.url, "https://near.lan"]
    assert again.count(BEGIN) == again.count(END) == 1


def test_line_ends_stay_as_they_are() -> None:
    text = with_mirror(THEIRS.replace("\n", "\r\n"), [MIRROR], upstream=False)
    assert text.count("\n") == text.count("\r\n")
    assert next(host.url for host in hosts_of(text)) == MIRROR.url


def test_a_line_that_begins_with_a_bracket_within_a_value_is_no_table() -> None:
    text = with_mirror('client = [\n["/a", "/b"]\n]\n[host."https://x"]\n', [MIRROR], upstream=True)
    assert tomllib.loads(text)["client"] == [["/a", "/b"]]
    assert [host.url for host in hosts_of(text)] == [MIRROR.url, "https://x"]


def test_a_file_without_tables_keeps_its_keys_above() -> None:
    document = tomllib.loads(with_mirror('server = "https://gcr.io"', [MIRROR], upstream=False))
    assert document["server"] == "https://gcr.io"
    assert list(document["host"]) == [MIRROR.url]


def test_what_moved_here_is_asked_in_its_order_with_its_certificates() -> None:
    text = migrated([OTHER, Host("http://b:5000")], Host("https://gcr.io", ca=("/x",)))
    document = tomllib.loads(text)
    assert list(document["host"]) == ["https://other.lan", "http://b:5000"]
    assert (document["server"], document["ca"]) == ("https://gcr.io", "/x")
    assert document["capabilities"] == ["pull", "resolve", "push"]
    assert text.startswith(MOVED)
    assert is_own(text)


def test_a_registry_that_is_its_own_only_host_is_not_asked_twice() -> None:
    own = Host("https://reg.lan", ca=("/x",))
    assert tomllib.loads(migrated([own], own))["capabilities"] == ["push"]


def test_an_end_that_somebody_removed_is_told_and_costs_nothing() -> None:
    broken = with_mirror(THEIRS, [MIRROR], upstream=False).replace(END, "")
    with pytest.raises(ValueError, match="is missing"):
        with_mirror(broken, [MIRROR], upstream=False)


@pytest.mark.parametrize("text", ["host = 1", "[host]\na = 1", "[[host", "="])
def test_a_file_of_another_shape_is_told(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        hosts_of(text)


@pytest.mark.parametrize(
    ("text", "upstream", "same"),
    [
        ('server = "https://other.lan"\n[host."https://other.lan"]', False, True),
        (
            'server = "https://other.lan"\n[host."other.lan/v2"]\ncapabilities = ["resolve", "pull", "push"]',
            False,
            True,
        ),
        ('[host."https://other.lan"]', False, False),
        ('[host."https://other.lan"]', True, True),
        ('[host."https://other.lan"]\ncapabilities = ["pull"]', True, False),
        ('[host."https://other.lan"]\nskip_verify = true', True, False),
        ('[host."https://other.lan"]\noverride_path = true', True, False),
        ('[host."https://near.lan"]\n[host."https://other.lan"]', True, False),
        ('server = "https://other.lan"', False, False),
        ("= broken", True, False),
    ],
)
def test_a_file_of_somebody_else_is_known_by_what_it_means(text: str, *, upstream: bool, same: bool) -> None:
    assert requests_first(text, [OTHER], upstream=upstream) is same
