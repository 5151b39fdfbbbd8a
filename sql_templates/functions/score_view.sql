-- Makes a view of rows with the score and the prediction of each, and returns its name; the view is temporary if the name has no schema
-- The view is one SELECT with the stored expression: PostgreSQL reads it in one scan, in parallel, and calls nothing for each row.
CREATE OR REPLACE FUNCTION sqlsvm.score_view(model text, rows regclass, view text, version integer DEFAULT NULL)
RETURNS text LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    body CONSTANT jsonb := sqlsvm._body(model, version);
    score CONSTANT text := sqlsvm.score_sql(model, version);
    label CONSTANT jsonb := coalesce(body #> '{trained_on,label_values}', '[-1, 1]');
    name text;
BEGIN
    name := (SELECT string_agg(quote_ident(n), '.') FROM unnest(parse_ident(view)) AS n);
    EXECUTE format('CREATE %s VIEW %s AS SELECT s.*, %s AS prediction FROM (SELECT r.*, %s AS score FROM %s AS r) AS s',
        CASE WHEN cardinality(parse_ident(view)) = 1 THEN 'TEMPORARY' ELSE '' END, name,
        CASE WHEN label = '[null, null]' THEN 'nullif(s.score, ''NaN'')' ELSE format(
            'CASE WHEN s.score <= 0 THEN %L::text WHEN s.score < ''NaN'' THEN %L::text END',
            sqlsvm._label_text(label -> 0), sqlsvm._label_text(label -> 1)) END, score, rows);
    RETURN name;
EXCEPTION WHEN invalid_parameter_value OR feature_not_supported OR duplicate_table OR invalid_schema_name THEN
    RAISE EXCEPTION '%', SQLERRM USING ERRCODE = 'SV003',  -- its own context would repeat the whole score
        HINT = 'Give the view a new name in a schema that you may use, as SQL writes it: scored, or public."scored rows".';
WHEN undefined_column OR undefined_function OR datatype_mismatch OR duplicate_column OR ambiguous_column THEN
    RAISE EXCEPTION '%, which model "%" reads in %', SQLERRM, model, rows USING ERRCODE = 'SV003',
        HINT = 'The rows need a column for each feature, with its name and type, and none called score or prediction. A view of them can have them.';
END $$;
