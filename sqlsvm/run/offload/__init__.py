"""Offloading: the values that a query needs are copied once from the server into a DuckDB of this process.

Two rules make DuckDB give the server's answers. The server computes every expression, so that only values travel. And
keys and categories travel in a form whose equality is the same on both engines.
"""

from sqlsvm.run.offload.copies import brought, copied, offloaded

__all__ = ["brought", "copied", "offloaded"]
