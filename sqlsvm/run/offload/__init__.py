"""Working beside the server: what a query needs of it is copied once into a DuckDB of this process.

Two rules make DuckDB answer as the server would have done. The server computes every expression, so that only values
travel. And a value on which relations are joined, or that is a category, travels in a form of which both engines think
the same when they call it equal to another.
"""

from sqlsvm.run.offload.copies import brought, offloaded

__all__ = ["brought", "offloaded"]
