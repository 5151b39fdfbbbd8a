-- Refuses tables that changed in a way that the snapshot of the transaction does not hide
-- TRUNCATE removes rows also from snapshots that are older. A session keeps the locks of all that it has read. What TRUNCATE,
-- REFRESH or a new table of the same name has put there since the snapshot is in another file than the one that the snapshot
-- knows. An index may be new: it has the rows of its table.
CREATE OR REPLACE FUNCTION sqlsvm._check_read()
RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    rewritten text := (
        SELECT min(l.relation::regclass::text)
        FROM pg_locks AS l LEFT JOIN pg_class AS c ON c.oid = l.relation
        WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND c.relkind IS DISTINCT FROM 't'
            AND pg_get_indexdef(l.relation) IS NULL AND c.relfilenode IS DISTINCT FROM 0
            AND pg_relation_filenode(l.relation) <> coalesce(c.relfilenode, 0));
BEGIN
    IF rewritten IS NOT NULL THEN
        RAISE EXCEPTION '% was truncated, refreshed or made anew after this transaction had begun', rewritten
            USING ERRCODE = 'SV004', DETAIL = 'The transaction sees other tables as they were before that.',
                HINT = 'End the transaction, and do this again.';
    END IF;
END
$$;
