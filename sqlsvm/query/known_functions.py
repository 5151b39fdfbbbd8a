"""Functions of PostgreSQL and DuckDB that a feature query must not call and that sqlglot does not know.

This is a deny list, because an allow list would refuse the user's own IMMUTABLE functions. The database is asked about
functions that are not listed here (see `functions`).
"""

from fnmatch import fnmatchcase

from sqlglot import exp

_VOLATILE = (
    # another value at every call
    "rand*", "setseed", "uuid", "uuidv*", "uuid_generate_*", "gen_random_*", "clock_timestamp", "timeofday",
    "nextval", "currval", "lastval", "statement_timestamp", "txid_*", "pg_current_*", "pg_stat_*", "get_current_time*",
    # a change in the database, or of the session
    "setval", "set_config", "lo_*", "lowrite", "loread", "pg_notify", "pg_advisory_*", "pg_try_advisory_*",
    "pg_cancel_*", "pg_terminate_*", "pg_reload_*", "pg_rotate_*", "pg_logical_*", "pg_replication_*",
    "pg_create_*", "pg_drop_*", "pg_switch_*", "pg_import_*", "pg_export_*", "pg_prewarm", "pg_backup_*",
    "pg_promote", "pg_wal_*", "query_to_xml*", "cursor_to_xml*", "table_to_xml*", "schema_to_xml*", "database_to_xml*",
    # the world outside
    "pg_sleep*", "pg_read_*", "pg_ls_*", "pg_stat_file", "pg_file_*", "dblink*", "getenv", "getvariable", "http_*",
    "query", "query_table", "write_log",
)  # fmt: skip

_SET_RETURNING = {
    "regexp_matches", "regexp_split_to_table", "string_to_table", "generate_subscripts", "json_array_elements",
    "json_array_elements_text", "json_each", "json_each_text", "json_object_keys", "jsonb_array_elements",
    "jsonb_array_elements_text", "jsonb_each", "jsonb_each_text", "jsonb_object_keys", "jsonb_path_query",
    "json_populate_recordset", "jsonb_populate_recordset", "unnest", "generate_series", "aclexplode",
}  # fmt: skip

_AGGREGATES = {
    "every", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg", "json_agg_strict", "jsonb_agg_strict",
    "json_arrayagg", "xmlagg", "range_agg", "range_intersect_agg", "histogram", "histogram_exact", "entropy", "fsum",
    "kahan_sum", "sumkahan", "favg", "mad", "sem", "product", "geomean", "geometric_mean", "reservoir_quantile",
    "arbitrary", "json_group_array", "json_group_object", "json_group_structure", "bitstring_agg", "map_agg",
}  # fmt: skip


def is_volatile(name: str) -> bool:
    return any(fnmatchcase(name.lower(), pattern) for pattern in _VOLATILE)


def is_aggregate(node: exp.Expr) -> bool:
    return isinstance(node, exp.AggFunc) or (isinstance(node, exp.Anonymous) and node.name.lower() in _AGGREGATES)


def is_set_returning(node: exp.Expr) -> bool:
    if isinstance(node, exp.UDTF | exp.Explode | exp.ExplodingGenerateSeries):
        return True
    return isinstance(node, exp.Anonymous) and node.name.lower() in _SET_RETURNING


def groups_rows(select: exp.Select) -> bool:
    return bool(select.args.get("group")) or any(node.find(exp.AggFunc) for node in select.expressions)
