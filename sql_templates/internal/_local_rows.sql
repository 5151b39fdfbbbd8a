-- CREATE TABLE sqlsvm_local: for every sampled row y times its scaled numbers as z1 to zm, then y, then as nk the place in beta
-- of its category in each dictionary k, or d + 1 for none. It contains only our own names and numbers.
CREATE OR REPLACE FUNCTION sqlsvm._local_rows(p sqlsvm._problem)
RETURNS text
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    columns text[] := '{}';
    x text;
    term integer;
BEGIN
    FOR j IN 1 .. cardinality(p.kept) LOOP
        IF p.kept[j] IS NOT DISTINCT FROM p.constant THEN
            x := 1;
        ELSE
            x := format('x%s', p.kept[j] - 1);
            FOREACH term IN ARRAY sqlsvm._ties(p.design, p.kept[j]) LOOP
                x := x || format(' + x%s', term - 1);
            END LOOP;
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
