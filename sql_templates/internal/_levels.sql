-- The counts to which counts are rounded down
-- 1 = f_0 < f_1 < ... up to the largest: f' = floor((1 + step) f) + 1, so that f' - 1 <= (1 + step) f. The step is exact: the whole
-- number in the bits of a double, over a power of 2. Above 2^53 a level is cut to a double, by the power of 2 of its last bit.
CREATE OR REPLACE FUNCTION sqlsvm._levels(step float8, largest float8)
RETURNS float8[] LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE double AS (
        SELECT ((d.bits & 4503599627370495) + 4503599627370496)::numeric AS whole, power(2::numeric, greatest(0, 1075 - (d.bits >> 52)::integer)) AS unit
        FROM (SELECT ('x' || encode(float8send(step), 'hex'))::bit(64)::bigint AS bits) AS d
    ), levels (level) AS (
        SELECT 1::numeric WHERE largest >= 1
        UNION ALL
        SELECT CASE WHEN n.next < 9007199254740992 THEN n.next ELSE n.next - mod(n.next,
            power(2::numeric, (('x' || encode(float8send(n.next::float8), 'hex'))::bit(64)::bigint >> 52)::integer - 1075)) END
        FROM levels AS f, double AS d, LATERAL (SELECT f.level + div(f.level * d.whole, d.unit) + 1 AS next) AS n WHERE n.next::float8 <= largest
    )
    SELECT coalesce(array_agg(level::float8 ORDER BY level), '{}') FROM levels
$$;
