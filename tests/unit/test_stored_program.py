"""What the compiler and the fixed SQL have to agree on."""

import re

from sqlsvm.psql.stored_program import PARAMETERS
from sqlsvm.store.templates import template, templates_in


def test_parameters_are_the_fields_of_their_type() -> None:
    """$1 is the first field, and so on, wherever statements are executed."""
    found = re.search(r"CREATE TYPE sqlsvm\._given AS \((.*?)\);", template("programs"), re.DOTALL)
    assert found
    assert tuple(field.split()[0] for field in found[1].split(",")) == PARAMETERS
    handed = [
        tuple(re.findall(r"given\.(\w+)", using))
        for name in templates_in("internal")
        for using in re.findall(r"USING (given\.theta.*?);", template(name), re.DOTALL)
    ]
    assert handed == [PARAMETERS] * len(handed)
    assert handed
