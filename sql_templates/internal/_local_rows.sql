-- CREATE TABLE sqlsvm_local: of every sampled row y times its numbers, scaled, as z1 to zm, then y, and for each dictionary
-- k which place in beta its category has, as nk; d + 1 for none. Only names of our own and numbers are in it.
CREATE OR REPLACE FUNCTION sqlsvm._local_rows(p sqlsvm._problem)
RETURNS text
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    columns text[] := '{}';
    x text;
BEGIN
    FOR j IN 1 .. cardinality(p.kept) LOOP
        IF p.kept[j] IS NOT DISTINCT FROM p.constant THEN
            x := 1;
        ELSE
            x := format('x%s', p.kept[j] - 1);
            IF p.missing[j] IS NOT NULL THEN
                x := x || format(' + $2[%s] * x%s', j, p.missing[j] - 1);
            END IF;
            x := format('$1[%s] * (%s - $3[%s])', j, x, j);
        END IF;
        columns := columns || format('y * (%s)::float8 AS z%s', x, j);
    END LOOP;
    columns := columns || 'y::float8 AS y'::text;
    FOR k IN 0 .. jsonb_array_length(p.design -> 'dictionaries') - 1 LOOP
        columns := columns || format('coalesce(n%s - %s, %s)::integer AS n%s',
            k, p.coordinates - cardinality(p.kept), p.dimension + 1, k);
    END LOOP;
    RETURN format('CREATE TEMPORARY TABLE sqlsvm_local AS SELECT %s FROM pg_temp.%I, generate_series(1, times::integer)',
        array_to_string(columns, ', '), 'sqlsvm_sample ' || (p.design ->> 'label_node'));
END
$$;

COMMENT ON FUNCTION sqlsvm._local_rows(sqlsvm._problem) IS 'The text that makes sqlsvm_local';
