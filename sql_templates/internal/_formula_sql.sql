-- A formula of a map with an expression for each of its arguments
-- The text of a formula (sqlsvm/maps/formula.py) is taken apart, and the SQL is made of the words of a fixed list, of numbers and
-- of operands in parentheses: $1($2) is no call, and nothing but SUBSTRING has a FROM. There is a blank between any two
-- of them, so that two signs make no comment. A value does not follow a value, and each parenthesis is closed.
CREATE OR REPLACE FUNCTION sqlsvm._formula_sql(formula text, operands text[])
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known CONSTANT jsonb := '{"CASE": "CASE", "WHEN": "WHEN", "THEN": "THEN", "ELSE": "ELSE", "END": "END", "AND": "AND",
        "GREATEST": "GREATEST", "LEAST": "LEAST", "SUBSTRING": "SUBSTRING", "SIN": "pg_catalog.sin", "COS": "pg_catalog.cos",
        "EXP": "pg_catalog.exp", "ABS": "pg_catalog.abs", "SQRT": "pg_catalog.sqrt", "FLOOR": "pg_catalog.floor", "MD5": "pg_catalog.md5",
        "CONCAT": "pg_catalog.concat", "ASCII": "pg_catalog.ascii", "+": "+", "-": "-", "*": "*", "/": "/", "<": "<", "<=": "<=",
        ">": ">", ">=": ">=", "(": "(", ")": ")", ",": ","}';
    pieces CONSTANT text := '[0-9]+(?:[.][0-9]+)?(?:e[+-]?[0-9]+)?|[$][0-9]{1,6}|FROM [0-9]+ FOR [0-9]+|[A-Z]+5?|<=|>=|[<>()+*/,-]';
    piece text;
    made text;
    depth integer := 0;
    found text[] := '{}';
    ended boolean := false;  -- is a value complete?
BEGIN
    IF regexp_replace(formula, pieces, '', 'g') ~ '^ *$' THEN
        FOR piece IN SELECT m.found[1] FROM regexp_matches(formula, pieces, 'g') AS m (found) LOOP
            made := CASE WHEN piece ~ '^[0-9]' OR piece LIKE 'FROM %' THEN piece
                WHEN starts_with(piece, '$') THEN '(' || operands[substr(piece, 2)::integer] || ')'
                ELSE known ->> piece END;
            depth := depth + CASE piece WHEN '(' THEN 1 WHEN ')' THEN -1 ELSE 0 END;
            IF made IS NULL OR depth < 0 OR depth = 0 AND piece = ',' OR piece NOT IN ('-', 'WHEN')
                AND ended = (piece ~ '^[0-9$(]' OR made LIKE 'pg_catalog.%'
                    OR piece IN ('CASE', 'GREATEST', 'LEAST', 'SUBSTRING'))
            THEN
                ended := false;
                EXIT;
            END IF;
            ended := piece ~ '^[0-9$)]' OR piece = 'END' OR piece LIKE 'FROM %';
            found := found || made;
        END LOOP;
    END IF;
    IF NOT ended OR depth <> 0 THEN
        RAISE EXCEPTION USING
            ERRCODE = 'SV008',
            MESSAGE = format('this is no formula of a map: %s', left(formula, 60)),
            HINT = 'Restore the model, or train it again.';
    END IF;
    RETURN array_to_string(found, ' ');
END
$$;
