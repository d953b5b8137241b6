"""PostgreSQL and Redis as a site of several hosts has them: with TLS and passwords."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import psycopg

from tests.services.postgres import Postgres
from tests.services.process import program
from tests.services.redis import Redis

PASSWORD = "p@ss/word:of the tests"


@dataclass(frozen=True)
class Certificate:
    """Of one address, signed by itself: the file of the certificate is that of the authority."""

    file: Path
    key: Path


def certificate(folder: Path, address: str) -> Certificate:
    issued = Certificate(folder / "server.crt", folder / "server.key")
    subprocess.run(
        [
            *(program("openssl", "openssl"), "req", "-x509", "-newkey", "ec"),
            *("-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"),
            # Hosts whose clock is an hour behind must find it valid.
            *("-keyout", str(issued.key), "-out", str(issued.file), "-subj", f"/CN={address}"),
            *("-addext", f"subjectAltName=IP:{address}"),
        ],
        check=True,
        capture_output=True,
    )
    return issued


class SecuredPostgres(Postgres):
    """``shared_url`` is what hosts use; ``url`` is the local socket, without a password."""

    def __init__(self, folder: Path, address: str, range_: str, certified: Certificate) -> None:
        self.address = address
        self._range, self._certified = range_, certified
        super().__init__(folder)
        with psycopg.connect(self.url, autocommit=True) as admin:
            admin.execute("CREATE DATABASE shared")
            quoted = PASSWORD.replace("'", "''")
            admin.execute(f"ALTER ROLE fsbench PASSWORD '{quoted}'".encode())
        self.shared_url = (
            f"postgresql://fsbench:{quote(PASSWORD, safe='')}@{address}:5432/shared"
            f"?sslmode=verify-full&sslrootcert={quote(str(certified.file))}"
        )

    def _network(self, data: Path, user: str | None) -> list[str]:
        (data / "pg_hba.conf").write_text(
            f"local all all trust\nhostssl all all {self._range} scram-sha-256\n"
        )
        # PostgreSQL wants the key to be its own and nobody else's.
        copies = [data / "server.crt", data / "server.key"]
        for source, copy in zip((self._certified.file, self._certified.key), copies, strict=True):
            shutil.copy(source, copy)
            copy.chmod(0o600)
            if user:
                shutil.chown(copy, user, user)
        return [
            # Nobody else listens on the bridge: the usual port is free there.
            *("-c", f"listen_addresses={self.address}"),
            *("-c", "ssl=on", "-c", "ssl_cert_file=server.crt", "-c", "ssl_key_file=server.key"),
        ]


class SecuredRedis(Redis):
    """``shared_url`` is what hosts use."""

    def __init__(self, folder: Path, address: str, certified: Certificate) -> None:
        self.address, self._certified = address, certified
        super().__init__(folder)
        self.shared_url = (
            f"rediss://:{quote(PASSWORD, safe='')}@{address}:{self.port}/0"
            f"?ssl_cert_reqs=CERT_REQUIRED&ssl_ca_certs={quote(str(certified.file))}"
        )

    def _network(self) -> list[str]:
        return [
            *("--bind", self.address, "--port", "0", "--tls-port", str(self.port)),
            *("--tls-cert-file", str(self._certified.file)),
            *("--tls-key-file", str(self._certified.key)),
            *("--tls-ca-cert-file", str(self._certified.file), "--tls-auth-clients", "no"),
            *("--requirepass", PASSWORD),
        ]

    def wait_until_ready(self) -> None:
        def accepts() -> bool:
            try:
                socket.create_connection((self.address, self.port), timeout=1).close()
            except OSError:
                return False
            return True

        self.wait_until(accepts)


@contextmanager
def secured_services(
    address: str, range_: str, certified: Certificate
) -> Iterator[tuple[SecuredPostgres, SecuredRedis]]:
    with (
        TemporaryDirectory(prefix="fsbench-postgres-") as postgres_folder,
        TemporaryDirectory(prefix="fsbench-redis-") as redis_folder,
    ):
        postgres = SecuredPostgres(Path(postgres_folder), address, range_, certified)
        try:
            redis = SecuredRedis(Path(redis_folder), address, certified)
            try:
                yield postgres, redis
            finally:
                redis.stop()
        finally:
            postgres.stop()
