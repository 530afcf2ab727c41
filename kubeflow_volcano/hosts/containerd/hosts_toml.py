"""hosts.toml: the hosts that containerd pulls one registry's images from.

The format is containerd's (docs/hosts.md, core/remotes/docker/config/hosts.go), as far as 1.6 to 2.3 read it alike:
containerd tries each `[host."URL"]` in the order of the file, then `server`; without `server`, the registry itself. A
file that it cannot read is no error: it uses the registry itself. So everything that is written here is parsed first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.foreign import read_toml
from kubeflow_volcano.hosts.containerd.sections import sections

# Files on nodes have these lines, so they do not change.
BEGIN = "# Written by kubeflow-volcano (image_mirror) from here on; it is written anew by each run."  # plain: as above
END = "# Written by kubeflow-volcano (image_mirror) up to here."
MOVED = "# Moved here from config.toml by kubeflow-volcano (image_mirror); yours to change."


@dataclass(frozen=True, slots=True)
class Host:
    """A host to pull from. With `override_path` the URL is the API's root, else containerd appends /v2.

    `ca` and `client` are paths on the node, `client` pairs of certificate and key. Only keys that every release knows.
    """

    url: str
    override_path: bool = False
    ca: tuple[str, ...] = ()
    client: tuple[tuple[str, str], ...] = ()
    skip_verify: bool = False

    def keys(self, *capabilities: str) -> Iterator[str]:
        """Its lines in the file."""
        yield f"capabilities = {json.dumps(list(capabilities))}"
        if self.override_path:
            yield "override_path = true"
        # On an http host any key about TLS, even false, makes containerd try HTTPS first.
        if not self.url.startswith("http://"):
            if self.ca:
                yield f"ca = {json.dumps(list(self.ca) if len(self.ca) > 1 else self.ca[0])}"
            if self.client:
                yield f"client = {json.dumps([list(pair) for pair in self.client])}"
            if self.skip_verify:
                yield "skip_verify = true"

    def table(self) -> Iterator[str]:
        """Its table, line by line."""
        yield f"[host.{json.dumps(self.url)}]"
        for line in self.keys("pull", "resolve"):
            yield f"  {line}"


def with_mirror(text: str, hosts: Sequence[Host], *, upstream: bool) -> str:
    """The text of a file in which `hosts` come first, and everything else is as in `found`.

    With `upstream` containerd tries the registry itself last. Without, `server` repeats the first of `hosts`: else the
    registry itself would be the server, and containerd before 1.7.32 requires a `[host]` table beside it. The repeated
    host may only push, so that no pull is tried twice. Keys of `found` above its tables stay and come first.

    Raises:
        ValueError: `found`, without what was written here, is not TOML.
    """
    rest = without_block(text)
    above, tables = _split(rest)
    newline = "\r\n" if "\r\n" in rest else "\n"
    lines = [BEGIN]
    if not upstream and not read_toml(above):
        lines += [f"server = {json.dumps(hosts[0].url)}", *hosts[0].keys("push"), ""]
    for host in hosts:
        lines += host.table()
    block = newline.join([*lines, END, ""])
    above = above.rstrip() + newline * 2 if above.strip() else ""
    tables = newline + tables.lstrip("\r\n") if tables.strip() else ""
    return above + block + tables


def migrated(hosts: Sequence[Host], server: Host | None) -> str:
    """The text of a file that does what entries of config.toml did; `server`, if given, is the registry itself."""
    lines = [MOVED]
    if server:
        capabilities = ("push",) if server in hosts else ("pull", "resolve", "push")
        lines += [f"server = {json.dumps(server.url)}", *server.keys(*capabilities), ""]
    for host in hosts:
        lines += host.table()
    return "\n".join([*lines, ""])


def is_own(text: str) -> bool:
    """Whether this project wrote into that file before."""
    return BEGIN in text or MOVED in text


def without_block(text: str) -> str:
    """The file without the block that this project wrote; empty where that was all.

    Raises:
        ValueError: the block has no end.
    """
    start = text.find(BEGIN)
    if start < 0:
        return text
    end = text.find(END, start)
    if end < 0:
        raise ValueError(f"the line {END!r} is missing")
    before, after = text[:start], text[end + len(END) :].lstrip("\r\n")
    return before + after if (before + after).strip() else ""


def hosts_of(text: str) -> tuple[Host, ...]:
    """The hosts of a file in the order in which containerd tries them, without `server`.

    Raises:
        ValueError: it is not TOML, or not of the form that containerd reads.
    """
    tables = read_toml(text).get("host", {})
    if not isinstance(tables, dict) or not all(isinstance(keys, dict) for keys in tables.values()):
        raise ValueError("host is not a table of tables")
    return tuple(_host(url, keys) for url, keys in tables.items())


def requests_first(text: str, hosts: Sequence[Host], *, upstream: bool) -> bool:
    """Whether a file, however it is written, already has `hosts` first, and the registry itself only if `upstream`."""
    try:
        found, document = hosts_of(text), read_toml(text)
    except ValueError:
        return False
    if [_plain(host) for host in found[: len(hosts)]] != [_plain(host) for host in hosts]:
        return False
    tables = list(document["host"].values())[: len(hosts)]
    if not all({"pull", "resolve"} <= {*table.get("capabilities", ["pull", "resolve"])} for table in tables):
        return False
    server = document.get("server")
    return upstream or (isinstance(server, str) and _address(server) in {_address(host.url) for host in hosts})


def _host(url: str, keys: Mapping[str, Any]) -> Host:
    ca, client = keys.get("ca", []), keys.get("client", [])
    return Host(
        url,
        override_path=bool(keys.get("override_path")),
        ca=(ca,) if isinstance(ca, str) else tuple(map(str, ca)),
        client=tuple(
            (pair, "") if isinstance(pair, str) else (str(pair[0]), str(pair[-1]))
            for pair in ([client] if isinstance(client, str) else client)
        ),
        skip_verify=bool(keys.get("skip_verify")),
    )


def _plain(host: Host) -> tuple[object, ...]:
    return (_address(host.url), host.override_path, host.ca, host.client, host.skip_verify)


def _address(url: str) -> str:
    complete = url if url.startswith("http") else f"https://{url}"
    return complete.rstrip("/").removesuffix("/v2")


def _split(text: str) -> tuple[str, str]:
    """The text above the first table, and the rest."""
    above, *tables = sections(text)
    return str(above), "".join(map(str, tables))
