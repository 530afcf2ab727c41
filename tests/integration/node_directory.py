"""An LDAP directory, OpenLDAP's slapd of Debian's package, in the network of a rehearsal cluster's real node."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from tests.hosts.test_registry import package
from tests.integration.node_registry import enter
from tests.samples.certificates import CA, pem, signer
from tests.waiting import until

BASE = "dc=company,dc=example"
READER, READER_PASSWORD = f"cn=reader,{BASE}", "of-the-reader"
"""The only one who may look entries up."""

CONFIGURATION = """
include {schemas}/core.schema
include {schemas}/cosine.schema
include {schemas}/inetorgperson.schema
pidfile {home}/pid
TLSCertificateFile {home}/tls.crt
TLSCertificateKeyFile {home}/tls.key
database ldif
suffix "{base}"
directory {home}/entries
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="{reader}" read by * none
"""
ENTRIES = """
dn: {base}
objectClass: dcObject
objectClass: organization
o: Company
dc: company

dn: {reader}
objectClass: person
cn: reader
sn: reader
userPassword: {reader_password}

dn: ou=people,{base}
objectClass: organizationalUnit
ou: people
"""
PERSON = """
dn: uid={uid},ou=people,{base}
objectClass: inetOrgPerson
uid: {uid}
cn: {uid}
sn: {uid}
mail: {email}
userPassword: {password}
"""


@contextlib.contextmanager
def serving(cluster: str, home: Path, address: str, port: int, people: dict[str, str]) -> Iterator[bytes]:
    """Serve `people`, passwords by e-mail address, over TLS alone; yields the PEM of the authority to trust."""
    program = package("slapd", "usr/sbin/slapd")
    libraries = [package(name, "usr/lib") for name in ("slapd", "libltdl7", "libwrap0")]
    paths = [str(found) for library in libraries for found in library.glob("*-linux-gnu")]
    environment = os.environ | {"LD_LIBRARY_PATH": ":".join(paths)}

    authority = signer("company", CA, now=datetime.now(UTC))
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
    server = authority.signs("directory", names, now=datetime.now(UTC))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (home / "tls.key").write_bytes(server.key.private_bytes(*form))
    (home / "tls.crt").write_bytes(pem(server.certificate))
    (home / "ca.crt").write_bytes(pem(authority.certificate))

    given = {"base": BASE, "reader": READER, "reader_password": READER_PASSWORD}
    schemas = program.parents[2] / "etc/ldap/schema"
    (home / "slapd.conf").write_text(CONFIGURATION.format(home=home, schemas=schemas, **given))
    persons = [
        PERSON.format(uid=email.partition("@")[0], email=email, password=password, base=BASE)
        for email, password in people.items()
    ]
    (home / "entries").mkdir()
    load: list[str | Path] = [program, "-T", "add", "-f", home / "slapd.conf"]
    text = "".join([ENTRIES.format(**given), *persons])
    subprocess.run(load, input=text, text=True, env=environment, check=True, capture_output=True)

    entered = enter(cluster)
    url = f"ldaps://{address}:{port}"
    command: list[str | Path] = [*entered, program, "-f", home / "slapd.conf", "-h", url, "-d", "0"]
    login = ["--user", f"{READER}:{READER_PASSWORD}"]
    ask = [*entered, "curl", "--silent", "--cacert", str(home / "ca.crt"), *login, f"{url}/{BASE}??base"]
    process = subprocess.Popen(command, env=environment)
    try:
        until(lambda: subprocess.run(ask, capture_output=True, check=False).returncode == 0)
        yield pem(authority.certificate)
    finally:
        process.terminate()
        process.wait()
