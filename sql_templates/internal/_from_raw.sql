-- Sums over raw coordinates as sums over scaled features
CREATE OR REPLACE FUNCTION sqlsvm._from_raw(p sqlsvm._problem, sums float8[])
RETURNS float8[] LANGUAGE sql IMMUTABLE AS $$
    SELECT ARRAY(SELECT sum(e.factor * sums[e.raw]) FROM sqlsvm._parts(p) AS e GROUP BY e.place ORDER BY e.place) || sums[p.coordinates + 1 :]
$$;
