-- A stored score as it runs; NULL if it is more than arithmetic on columns
-- A trainer can store any text, and readers run it. So it is taken apart, and only what is listed here is put together again, with a
-- blank between any two pieces: no sign becomes a comment. What calls is a word of the list, since no name in quotes may be before a
-- parenthesis. What reads rows is a SELECT in parentheses: its FROM and its alias are pieces of their own, and nothing but the end of
-- the statement around it comes after them. Names have no dots, because t.f can be a call. WHEN CASES stands for branches made of data.
CREATE OR REPLACE FUNCTION sqlsvm._expression(stored text, cases text[] DEFAULT '{}')
RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
DECLARE
    pieces CONSTANT text := $r$'(?:[^']|'')*'|"(?:[^"]|"")+"|[0-9]+(?:[.][0-9]+)?(?:e[+-]?[0-9]+)?|sqlsvm_steps[.]s[0-9]+|FROM [0-9]+ FOR [0-9]+|WHEN CASES THEN [0-9]{1,6}|AS (?:DOUBLE PRECISION|BOOLEAN|TEXT|s[0-9]+)|IS NULL|EXTRACT\(EPOCH FROM|(?:AS score )?FROM \(SELECT|OFFSET 0\) AS sqlsvm_steps|[A-Z]+5?|<=|>=|[<>=()+*/,-]$r$;
BEGIN
    RETURN (
    WITH piece AS MATERIALIZED (
        SELECT m.n, m.found[1] AS p, m.found[1] ~ '[(](SELECT|EPOCH FROM)?$|^EXTRACT' AND m.found[1] !~ '^[''"]' AS opens,
            m.found[1] ~ '^(OFFSET|[)])' AS closes, m.found[1] ~ '^[0-9''"]|^sqlsvm|^(NULL|TRUE|FALSE)$' AS is_value
        FROM regexp_matches(stored, pieces, 'g') WITH ORDINALITY AS m (found, n)
    ), made AS (
        SELECT p.*, p.closes::integer + sum(p.opens::integer - p.closes::integer) OVER (ORDER BY p.n) AS level,
            lag(p.p) OVER (ORDER BY p.n) AS before,
            lag(p.is_value OR p.closes OR p.p ~ '^(END|IS NULL|AS [DBT].*|FROM [0-9].*|WHEN C.*)$') OVER (ORDER BY p.n) AS ended,
            CASE WHEN p.p LIKE '''%' THEN quote_literal(replace(substr(p.p, 2, length(p.p) - 2), '''''', ''''))
                WHEN p.p LIKE 'WHEN C%' THEN cases[substr(p.p, 17)::integer]
                WHEN p.p LIKE 'sqlsvm%' THEN substr(p.p, 14)
                WHEN p.p IN ('SIN', 'COS', 'EXP', 'ABS', 'SQRT', 'FLOOR', 'MD5', 'CONCAT', 'ASCII', 'LOWER') THEN 'pg_catalog.' || lower(p.p)
                WHEN p.p !~ '^[A-Z]+5?$' OR p.p IN ('CASE', 'WHEN', 'THEN', 'ELSE', 'END', 'AND', 'NOT', 'NULL', 'TRUE', 'FALSE', 'CAST',
                    'COALESCE', 'GREATEST', 'LEAST', 'SUBSTRING', 'SELECT') THEN p.p END AS said
        FROM piece AS p
    ), paired AS (
        SELECT m.*, lead(m.p) OVER (PARTITION BY m.opens OR m.closes, m.level ORDER BY m.n) AS closed FROM made AS m
    )
    SELECT string_agg(p.said, ' ' ORDER BY p.n) FROM paired AS p
    HAVING bool_and(p.said IS NOT NULL AND p.level >= p.closes::integer
            AND NOT (p.ended IS TRUE AND (p.is_value OR p.p ~ '^([(]|EXTRACT|CASE$|CAST$|SELECT$)' OR p.said LIKE 'pg_catalog.%'))
            AND (p.before LIKE 'OFFSET%' AND NOT p.closes) IS NOT TRUE
            AND (coalesce(p.before, '(') ~ '^[-+*/<>=,(]+$' AND p.p ~ '^[+*/<>=,)]+$' OR p.p = ',' AND p.level = 0) IS NOT TRUE
            AND NOT (p.opens AND (p.closed IS NULL OR (p.p LIKE '%FROM (SELECT') <> (p.closed LIKE 'OFFSET%'))))
        AND (array_agg(p.p ORDER BY p.n DESC))[1] !~ '^[-+*/<>=]+$' AND regexp_replace(stored, pieces, '', 'g') ~ '^ *$');
END $$;
