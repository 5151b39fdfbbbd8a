-- One pass: a global minorant of the hinge part R, R(b) >= intercept + slope.b, on raw coordinates.
CREATE OR REPLACE FUNCTION sqlsvm._pass(p sqlsvm._problem, theta float8[], buckets integer)
RETURNS sqlsvm._cut
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    given sqlsvm._given := sqlsvm._parameters(p, theta);
    answers jsonb;
    g float8[];
    b float8;
    cut sqlsvm._cut;
BEGIN
    given.bound := 1;
    given.buckets := coalesce(buckets, 1);
    answers := sqlsvm._run(p.program, 'pass', given);
    PERFORM sqlsvm._drop(p.program, 'pass');
    g := sqlsvm._sums(p, answers);
    b := answers -> 'totals' -> 0 ->> 'b';
    IF (p.design ->> 'one_bag')::boolean THEN
        g := (SELECT array_agg(-s.g / p.n ORDER BY s.i) FROM unnest(g) WITH ORDINALITY AS s (g, i));
        cut.intercept := b / p.n;
    ELSE
        g := (SELECT array_agg((s.negative - s.g) / p.n ORDER BY s.i)
            FROM unnest(g, p.negative) WITH ORDINALITY AS s (g, negative, i));
        cut.intercept := (p.n_negative + b) / p.n;
    END IF;
    cut.slope := g;
    cut.value_low := cut.intercept + sqlsvm._dot(g, theta);
    cut.error := sqlsvm._counting_error(p, answers, given.buckets);
    RETURN cut;
END
$$;

COMMENT ON FUNCTION sqlsvm._pass(sqlsvm._problem, float8[], integer) IS 'One pass over the tables: a cut on raw coordinates';
