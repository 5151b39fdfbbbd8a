"""Plan -> sqlglot AST, one pass a file. Nothing here talks to a database."""
