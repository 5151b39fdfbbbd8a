"""Working tables as unlogged tables of a schema: PostgreSQL reads those, unlike temporary ones, with parallel workers.

    CREATE TEMPORARY TABLE sqlsvm_n0 AS SELECT d.v FROM sqlsvm_d0 AS d
    CREATE UNLOGGED TABLE work.sqlsvm_n0_7f3a90c1 AS SELECT d.v FROM work.sqlsvm_d0_7f3a90c1 AS d

One transaction creates, uses and drops them: other sessions never see them, and a session that fails leaves none. The
suffix is different for each session. Without it sessions in the same schema would wait for each other's names.
"""

from secrets import token_hex

from sqlglot import exp


class Unlogged:
    """The tables that replace the temporary tables of one session."""

    def __init__(self, schema: str) -> None:
        self.schema = exp.to_identifier(schema, quoted=True)
        self._suffix = token_hex(4)
        self._tables: dict[str, exp.Table] = {}

    def placed(self, statement: exp.Expr) -> exp.Expr:
        """The statement with the schema's tables in place of temporary ones, those that it makes and those made
        before."""
        properties = statement.args.get("properties") if isinstance(statement, exp.Create) else None
        if properties and properties.find(exp.TemporaryProperty):
            name = statement.this.name
            self._tables[name] = exp.Table(this=exp.to_identifier(f"{name}_{self._suffix}"), db=self.schema.copy())
            statement = statement.copy()
            statement.set("properties", exp.Properties(expressions=[exp.UnloggedProperty()]))
        return statement.transform(self._moved) if self._tables else statement

    def _moved(self, node: exp.Expr) -> exp.Expr:
        """In FROM the table keeps its old name as an alias, as columns may be qualified with it."""
        is_ours = isinstance(node, exp.Table) and not (node.db or node.this.args.get("quoted"))
        if not is_ours or node.name not in self._tables:
            return node
        found, ours = node.copy(), self._tables[node.name]
        found.set("this", ours.this.copy())
        found.set("db", ours.args["db"].copy())
        if isinstance(node.parent, exp.From | exp.Join) and not node.args.get("alias"):
            found.set("alias", exp.TableAlias(this=exp.to_identifier(node.name)))
        return found
