-- A global minorant of the loss R, R(b) >= intercept + slope.b. With a width, which is possible with one bag only, rows
-- near the hinge count in part. The blur is the part of R at theta that is then not counted.
CREATE OR REPLACE FUNCTION sqlsvm._pass(p sqlsvm._problem, theta float8[], buckets integer, width float8 DEFAULT 0)
RETURNS sqlsvm._cut
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    given sqlsvm._given := sqlsvm._arguments(p, theta);
    part text := CASE WHEN width > 0 THEN 'soft pass' ELSE 'pass' END;
    answers jsonb;
    totals jsonb;
    g float8[];
    b float8;
    cut sqlsvm._cut;
BEGIN
    given.bound := p.design -> 'loss' ->> 'origin';
    given.buckets := coalesce(buckets, 1);
    given.width := width;
    answers := sqlsvm._run(part, given);
    PERFORM sqlsvm._drop(part);
    g := sqlsvm._sums(p, answers);
    totals := answers -> (p.design ->> 'totals') -> 0;
    b := totals ->> 'b';
    IF (p.design ->> 'one_bag')::boolean THEN
        g := (SELECT array_agg(-s.g / p.n ORDER BY s.i) FROM unnest(g) WITH ORDINALITY AS s (g, i));
        cut.intercept := b / p.n;
    ELSE
        g := (SELECT array_agg((s.negative - s.g) / p.n ORDER BY s.i)
            FROM unnest(g, p.negative) WITH ORDINALITY AS s (g, negative, i));
        cut.intercept := (p.n_negative + b) / p.n;
    END IF;
    cut.slope := g;
    cut.blur := coalesce((totals ->> 'blur')::float8 / p.n, 0);
    cut.value_low := cut.intercept + sqlsvm._dot(g, theta) + cut.blur;
    cut.error := sqlsvm._counting_error(p, answers, given.buckets);
    -- `size` in solve/loss/base.py
    SELECT (s.growth ->> 0)::float8 + (s.growth ->> 1)::float8 * sqrt(s.mean) + (s.growth ->> 2)::float8 * s.mean INTO cut.size
    FROM (SELECT p.design -> 'loss' -> 'growth' AS growth, greatest(0, cut.value_low + cut.error) AS mean) AS s;
    RETURN cut;
END
$$;

COMMENT ON FUNCTION sqlsvm._pass(sqlsvm._problem, float8[], integer, float8) IS 'One pass over the tables: a cut on raw coordinates';
