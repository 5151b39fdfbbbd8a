"""A program for PostgreSQL: all statements that train, count and evaluate one query, stored in the database.

It may run months after it was compiled, so it differs in three ways from what the driver sends:

- It reads its relations under its own names, `sqlsvm_r0`, ...: copies or views of the user's relations, made at the
  start of a run, so that all statements see the same data.
- Its parameters are numbered by their place in `IN_ORDER`, because PL/pgSQL always hands over the same list.
- What the compiler found in the data, such as unique keys, is checked again at the start of a run.
"""

from sqlsvm.psql.stored_program.make import StoredProgram, stored_program
from sqlsvm.psql.stored_program.relations import own_relation
from sqlsvm.psql.stored_program.save import check_place, save_program

__all__ = ["StoredProgram", "check_place", "own_relation", "save_program", "stored_program"]
