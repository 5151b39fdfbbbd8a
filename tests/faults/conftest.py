"""A server for the faults alone, with what is trained on there."""

from collections.abc import Iterator

import pytest

from tests.faults.cluster import Cluster, cluster
from tests.faults.proxy import Proxy, proxied
from tests.faults.struck import Subject


@pytest.fixture(scope="session")
def server() -> Iterator[Cluster]:
    with cluster() as made:
        yield made


@pytest.fixture(scope="session")
def proxy(server: Cluster) -> Iterator[Proxy]:
    with proxied(server.folder) as made:
        yield made


@pytest.fixture(scope="session")
def on_postgres(server: Cluster) -> Subject:
    subject = Subject(server.dsn)
    subject.prepare()
    return subject
