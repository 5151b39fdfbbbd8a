-- The words and signs of arithmetic alone cannot name a table, a function of anybody or a text (sqlsvm/maps/formula.py).
-- All operands are put in at once, because an operand may have a $ of its own.
CREATE OR REPLACE FUNCTION sqlsvm._formula_sql(formula text, operands text[])
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    words CONSTANT text[] := '{CASE,WHEN,THEN,ELSE,END,AND,GREATEST,LEAST,SIN,COS,EXP,ABS,SQRT,MD,CONCAT,SUBSTRING,FROM,FOR,ASCII,e}';
BEGIN
    IF formula !~ '^[[:alnum:]_ ().,+*/<>=$-]*$' OR EXISTS (
        SELECT FROM regexp_matches(formula, '[[:alpha:]_]+', 'g') AS w (word) WHERE w.word[1] <> ALL (words))
    THEN
        RAISE EXCEPTION USING
            ERRCODE = 'SV008',
            MESSAGE = format('this is no formula of a map: %s', left(formula, 60)),
            HINT = 'Restore the model, or train it again.';
    END IF;
    RETURN (
        SELECT string_agg(CASE WHEN p.place = 1 THEN p.part
            ELSE operands[substring(p.part FROM '^[0-9]+')::integer] || regexp_replace(p.part, '^[0-9]+', '') END, '' ORDER BY p.place)
        FROM regexp_split_to_table(formula, '[$]') WITH ORDINALITY AS p (part, place));
END
$$;

COMMENT ON FUNCTION sqlsvm._formula_sql(text, text[]) IS 'A formula of a map with an expression for each of its arguments';
