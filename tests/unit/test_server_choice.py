"""Which server the tests run against."""

import pytest

from tests.servers import NoServer, choose


def test_a_named_server_comes_first() -> None:
    assert choose("host=somewhere", docker=True, installed=True) == "dsn"


def test_a_container_comes_before_programs_of_this_machine() -> None:
    assert choose(None, docker=True, installed=True) == "container"


def test_programs_of_this_machine_come_last() -> None:
    assert choose(None, docker=False, installed=True) == "installed"


@pytest.mark.parametrize("dsn", [None, ""])
def test_no_server_is_an_error_and_not_a_skip(dsn: str | None) -> None:
    with pytest.raises(NoServer, match="SQLSVM_TEST_DSN"):
        choose(dsn, docker=False, installed=False)
