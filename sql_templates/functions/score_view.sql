-- Makes a view of rows with the score and the prediction of each, and returns its name; the view is temporary if the name has no schema
-- The view is one SELECT with the stored expression: PostgreSQL reads it in one scan, in parallel, and calls nothing for each row.
CREATE OR REPLACE FUNCTION sqlsvm.score_view(model text, rows regclass, view text, version integer DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    body CONSTANT jsonb := sqlsvm._body(model, version);
    score CONSTANT text := sqlsvm.score_sql(model, version);
    label CONSTANT jsonb := coalesce(body #> '{trained_on,label_values}', '[-1, 1]');
    named CONSTANT text[] := parse_ident(view);
    name CONSTANT text := (SELECT string_agg(quote_ident(n), '.') FROM unnest(named) AS n);
BEGIN
    EXECUTE format('CREATE %s VIEW %s AS SELECT r.*, %s AS score, %s AS prediction FROM %s AS r',
        CASE WHEN cardinality(named) = 1 THEN 'TEMPORARY' ELSE '' END, name, score,
        CASE WHEN label = '[null, null]' THEN format('nullif(%s, ''NaN'')', score) ELSE format(
            'CASE WHEN (%1$s) <= 0 THEN %2$L::text WHEN (%1$s) < ''NaN'' THEN %3$L::text END', score,
            sqlsvm._label_text(label -> 0), sqlsvm._label_text(label -> 1)) END, rows);
    RETURN name;
END
$$;
