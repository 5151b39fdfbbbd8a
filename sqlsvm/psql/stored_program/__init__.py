"""A program for PostgreSQL: every statement of training, counting and evaluating one query, to be stored and run there.

The driver decides in Python what the data decides; here that has to happen when the program runs, which may be months
after it was compiled. So a stored program differs from what the driver sends in three ways, and in nothing else:

- Its relations are read under names of its own, `sqlsvm_r0`, ...: copies or views of the user's relations, made at the
  start of a run, so that all of its statements see the same data.
- Its parameters are numbered by their place in `PARAMETERS`, because PL/pgSQL hands over always the same list.
- What was found in the data while compiling, such as unique keys, comes along as checks that a run makes first.
"""

from sqlsvm.psql.stored_program.make import StoredProgram, stored_program
from sqlsvm.psql.stored_program.relations import PARAMETERS, own_relation
from sqlsvm.psql.stored_program.save import check_place, save_program

__all__ = ["PARAMETERS", "StoredProgram", "check_place", "own_relation", "save_program", "stored_program"]
