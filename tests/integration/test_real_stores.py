"""The probe of stores against servers that are no stand-ins: MySQL 8 and an S3 server with TLS of its own authority."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from kubeflow_volcano.rollout.requirements.store_probe import probe_database, probe_object_store
from kubeflow_volcano.rollout.settings.pods.stores import DatabaseSettings, ObjectStoreSettings
from tests.integration.real_stores import (
    ROOT_KEY,
    ROOT_SECRET,
    Bucketed,
    Database,
    mysql_server,
    pymysql,
    s3_server,
)
from tests.samples.certificates import CA, SERVERS, Signer, pem, signer

pytestmark = [pytest.mark.programs, pytest.mark.long, pytest.mark.timeout(900)]

SECRET = "secret-of-a-team"  # noqa: S105  of a server for the time of the test
NAMES = ("mlpipeline", "cachedb", "metadb", "katib")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    home = tmp_path_factory.mktemp("mysql")
    with pytest.MonkeyPatch.context() as patch, mysql_server(home, pymysql(patch)) as found:
        found.run("CREATE DATABASE katib")
        yield found


def user(database: Database, name: str, plugin: str = "", *, rights: str = "ALL", names: Sequence[str] = NAMES) -> None:
    database.run(
        f"CREATE USER {name} IDENTIFIED {plugin} BY '{SECRET}'",
        *(f"GRANT {rights} ON {item}.* TO {name}" for item in names),
    )


def tried(database: Database, name: str, secret: str = SECRET) -> tuple[list[str], list[str]]:
    """What is refused, and what is told."""
    lines: list[str] = []
    given = DatabaseSettings(host="127.0.0.1", port=database.port, user=name, password=secret)
    found = [item.found for item in probe_database(given, {"pipelines", "katib"}, lines.append)]
    assert secret not in f"{found} {lines}"
    return found, lines


@pytest.mark.parametrize("plugin", ["", "WITH mysql_native_password"])
def test_a_user_with_all_rights_is_taken_and_nothing_stays(database: Database, plugin: str) -> None:
    name = f"whole{len(plugin)}"
    user(database, name, plugin)
    found, (line,) = tried(database, name)
    assert found == []
    assert "MySQL 8.0." in line
    assert [row[0] for row in database.run("SHOW DATABASES") if row[0] in NAMES] == ["katib"]
    assert database.run("SHOW TABLES IN katib") == []


@pytest.mark.parametrize(
    ("name", "rights", "names", "codes"),
    [
        ("part", "ALL", NAMES[:2], [1044, 0]),
        ("reader", "SELECT", NAMES, [1044, 1044, 1044, 1142]),
        ("writer", "SELECT, INSERT, CREATE", NAMES[3:], [1044, 1044, 1044, 1142]),
    ],
)
def test_each_database_without_its_rights_is_refused_with_the_word_of_the_server(
    database: Database, name: str, rights: str, names: Sequence[str], codes: Sequence[int]
) -> None:
    user(database, name, rights=rights, names=names)
    found, _ = tried(database, name)
    assert len(found) == len(codes)
    for text, code in zip(found, codes, strict=True):
        assert str(code or "no database katib") in text
    for (table,) in database.run("SHOW TABLES IN katib"):  # what this user could not drop
        database.run(f"DROP TABLE katib.{table}")


def test_logins_that_the_server_refuses(database: Database) -> None:
    user(database, "secured")
    database.run("ALTER USER secured REQUIRE SSL")
    user(database, "distant@'10.0.0.0/255.0.0.0'")
    for name, secret in (("secured", SECRET), ("distant", SECRET), ("secured", "another"), ("unknown", "another")):
        (text,) = tried(database, name, secret)[0]
        assert "1045" in text
    user(database, "plain")
    database.run("SET GLOBAL require_secure_transport = ON")
    (text,) = tried(database, "plain")[0]
    database.run("SET GLOBAL require_secure_transport = OFF")
    assert "3159" in text


def test_a_server_that_refuses_this_machine_whoever_asks_is_told_as_one_that_is_not_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mysql_server(tmp_path, pymysql(monkeypatch)) as server:
        user(server, "pods@'10.0.0.0/255.0.0.0'")
        found, (line,) = tried(server, "pods")
    assert (found, "1130" in line) == ([], True)
    found, (line,) = tried(server, "pods")
    assert (found, "2003" in line) == ([], True)


def test_a_database_that_loses_letters_is_told(database: Database) -> None:
    user(database, "latin")
    database.run("CREATE DATABASE metadb CHARACTER SET latin1")
    found, (note, line) = tried(database, "latin")
    database.run("DROP DATABASE metadb")
    assert found == []
    assert "metadb" in note
    assert "katib" in line


@pytest.fixture(scope="module")
def authority() -> Signer:
    return signer("store", CA, now=datetime.now(UTC))


@pytest.fixture(scope="module")
def secure(authority: Signer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucketed]:
    home = tmp_path_factory.mktemp("s3")
    name = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    server = authority.signs("server", name, SERVERS, now=datetime.now(UTC))
    (home / "tls.crt").write_bytes(pem(server.certificate))
    (home / "tls.key").write_bytes(server.private)
    with s3_server(home, (home / "tls.crt", home / "tls.key"), keys={"team": SECRET}) as found:
        (found.root / "mlpipeline").mkdir()
        yield found


@pytest.fixture(scope="module")
def store(secure: Bucketed, authority: Signer) -> ObjectStoreSettings:
    return ObjectStoreSettings(
        endpoint=secure.endpoint,
        access_key=ROOT_KEY,
        secret_key=ROOT_SECRET,
        ca=pem(authority.certificate).decode(),
    )


def asked(given: ObjectStoreSettings, *, gateway: bool = False) -> tuple[list[str], list[str]]:
    lines: list[str] = []
    found = [item.found for item in probe_object_store(given, lines.append, gateway=gateway)]
    assert given.secret_key not in f"{found} {lines}"
    return found, lines


@pytest.mark.parametrize("gateway", [True, False])
def test_the_authority_and_the_key_that_fit_leave_nothing(
    secure: Bucketed, store: ObjectStoreSettings, *, gateway: bool
) -> None:
    found, (line,) = asked(store, gateway=gateway)
    assert (found, line.startswith("object store: ")) == ([], True)
    assert secure.objects("mlpipeline") == []


@pytest.mark.parametrize("own", [True, False])
def test_a_certificate_of_another_authority_is_refused(store: ObjectStoreSettings, *, own: bool) -> None:
    other = pem(signer("store", CA, now=datetime.now(UTC)).certificate).decode() if own else ""
    (text,) = asked(replace(store, ca=other))[0]
    assert "CERTIFICATE_VERIFY_FAILED" in text


def test_a_certificate_for_another_name_is_refused(store: ObjectStoreSettings) -> None:
    (text,) = asked(replace(store, endpoint=store.endpoint.replace("127.0.0.1", "localhost")))[0]
    assert "CERTIFICATE_VERIFY_FAILED" in text


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"secret_key": "another"}, "SignatureDoesNotMatch"),
        ({"access_key": "another"}, "InvalidAccessKeyId"),
        ({"access_key": "team", "secret_key": SECRET}, "AccessDenied"),
        ({"region": "eu-west-1"}, "AuthorizationHeaderMalformed"),
    ],
)
def test_what_the_key_may_not_is_refused_with_the_word_of_the_store(
    store: ObjectStoreSettings, changes: Mapping[str, Any], code: str
) -> None:
    (text,) = asked(replace(store, **changes))[0]
    assert code in text


def test_a_bucket_that_is_not_there_is_told(secure: Bucketed, store: ObjectStoreSettings) -> None:
    found, (line,) = asked(replace(store, bucket="absent"))
    assert (found, line.startswith("note: ")) == ([], True)
    assert not (secure.root / "absent").exists()


def test_tls_where_the_store_has_none_is_refused(tmp_path: Path, store: ObjectStoreSettings) -> None:
    with s3_server(tmp_path, keys={}) as plain:
        (plain.root / "mlpipeline").mkdir()
        (text,) = asked(replace(store, endpoint=plain.endpoint.replace("http:", "https:")))[0]
        assert "TLS" in text
        assert asked(replace(store, endpoint=plain.endpoint, ca=""))[0] == []
