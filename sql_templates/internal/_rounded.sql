-- The counting error and the penalty are off by the same share as the offset of a cut.
CREATE OR REPLACE FUNCTION sqlsvm._rounded(rounding float8[], beta float8[], error float8, penalty float8)
RETURNS float8
LANGUAGE sql IMMUTABLE
AS $$
    SELECT rounding[1] * (1 + error + penalty
        + coalesce(sum(CASE WHEN b.i <= cardinality(rounding) - 2 THEN abs(b.v) * rounding[2 + b.i] END), 0)
        + coalesce(rounding[2] * max(CASE WHEN b.i > cardinality(rounding) - 2 THEN abs(b.v) END), 0))
    FROM unnest(beta) WITH ORDINALITY AS b (v, i)
$$;

COMMENT ON FUNCTION sqlsvm._rounded(float8[], float8[], float8, float8) IS
    'How far the value of a pass may be off at beta';
