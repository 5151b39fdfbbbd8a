-- CREATE TABLE sqlsvm_local: y times each feature of the sampled rows. Only names of our own and numbers are in it.
CREATE OR REPLACE FUNCTION sqlsvm._local_rows(p sqlsvm._problem)
RETURNS text
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    label_node text := p.design ->> 'label_node';
    plain boolean := p.design ->> 'plain';
    homes text[] := ARRAY(SELECT CASE WHEN plain THEN label_node ELSE c ->> 'node' END
        FROM jsonb_array_elements(p.design -> 'coordinates') AS c ORDER BY (c ->> 'place')::integer);
    columns text[] := '{}';
    source text := format('pg_temp."sqlsvm_sample %s" AS s%s', label_node, label_node);
    x text;
    node text;
BEGIN
    FOR j IN 1 .. cardinality(p.kept) LOOP
        IF p.kept[j] IS NOT DISTINCT FROM p.constant THEN
            x := 1;
        ELSE
            x := format('s%s.x%s', homes[p.kept[j]], p.kept[j] - 1);
            IF p.missing[j] IS NOT NULL THEN
                x := x || format(' + $2[%s] * s%s.x%s', j, homes[p.kept[j]], p.missing[j] - 1);
            END IF;
            x := format('$1[%s] * (%s - $3[%s])', j, x, j);
        END IF;
        columns := columns || format('s%s.y * (%s)::float8 AS z%s', label_node, x, j);
    END LOOP;
    FOR place IN p.coordinates + 1 .. p.size LOOP
        columns := columns || format('CASE WHEN s%s.n%s = %s THEN s%s.y::float8 ELSE 0 END AS z%s',
            CASE WHEN plain THEN label_node ELSE p.design -> 'dictionaries' -> p.dictionary[place] ->> 'node' END,
            p.dictionary[place], place, label_node,
            cardinality(p.kept) + place - p.coordinates);
    END LOOP;
    FOR node IN SELECT n FROM jsonb_array_elements_text(p.design -> 'samples') AS n WHERE n <> label_node LOOP
        source := source || format(' JOIN pg_temp."sqlsvm_sample %s" AS s%s USING (j)', node, node);
    END LOOP;
    IF plain THEN
        source := source || format(', generate_series(1, s%s.times::integer)', label_node);
    END IF;
    RETURN format('CREATE TEMPORARY TABLE sqlsvm_local AS SELECT %s FROM %s', array_to_string(columns, ', '), source);
END
$$;

COMMENT ON FUNCTION sqlsvm._local_rows(sqlsvm._problem) IS 'The text that makes sqlsvm_local';
