-- What rounding may have changed in a cut, and in the value of its pass
-- `size` in solve/loss/piecewise.py, `Lines.size` and `Run.add` have the same formulas. `point` and the slope are on scaled features.
CREATE OR REPLACE FUNCTION sqlsvm._sized(
    p sqlsvm._problem, rounding sqlsvm._rounding, given sqlsvm._cut, point float8[], width float8, penalty float8)
RETURNS sqlsvm._cut LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    cut sqlsvm._cut := given;
    lines CONSTANT jsonb := given.lines;
    mean CONSTANT float8 := greatest(0, cut.value_low + cut.error);
    numbers CONSTANT integer := cardinality(rounding.sizes);
    reach CONSTANT float8 := (SELECT coalesce(sum(abs(b.v) * rounding.sizes[b.i]), 0)
        + coalesce(rounding.features * max(abs(b.v)) FILTER (WHERE b.i > numbers), 0) FROM unnest(point) WITH ORDINALITY AS b (v, i));
    -- On the grid, what is added up near the jumps of the slope: at most twice delta, at four buckets a unit.
    hidden CONSTANT float8 := CASE WHEN p.design ->> 'method' = 'exact' THEN 0
        ELSE coalesce((lines ->> 'jumps')::float8, 1) * ((p.design ->> 'reach')::float8 + 1) / 2 * p.unit END;
    -- A stored score is added to the centre of the label, and of a sum the stored column has rounded its terms: `_stored` in run/rounding.py.
    stored CONSTANT float8 := 2::float8 ^ -53 * (abs((p.design ->> 'label_centre')::float8)
            * CASE WHEN sqlsvm._is_far(p) THEN 3 ELSE cardinality(p.features) + rounding.features + 2 END
        + 3 * (SELECT coalesce(sum((d.f ->> 'far')::float8 * abs(f.scale * point[f.place])), 0)
            FROM unnest(p.features) AS f JOIN jsonb_array_elements(p.design -> 'features') WITH ORDINALITY AS d (f, i) ON d.i = f.place));
    growth float8[];
    rows float8;
    slopes float8;
    far float8;
BEGIN
    growth := ARRAY(SELECT g.v::float8 + g.more::float8 * (p.origin - 1)
        FROM ROWS FROM (jsonb_array_elements_text(p.design -> 'loss' -> 'growth'),
            jsonb_array_elements_text(p.design -> 'loss' -> 'growth_by_origin')) WITH ORDINALITY AS g (v, more, i) ORDER BY g.i);
    rows := least(growth[1] + growth[2] * sqrt(mean) + growth[3] * mean,
        (p.design -> 'loss' ->> 'dual')::float8 + (p.design -> 'loss' ->> 'steepest')::float8 * p.origin);
    slopes := least((p.design #>> '{loss,steepness,0}')::float8 + (p.design #>> '{loss,steepness,1}')::float8 * sqrt(mean),
        (p.design -> 'loss' ->> 'steepest')::float8);
    cut.offset_size := rows;
    cut.slope_size := slopes;
    IF lines IS NOT NULL THEN
        far := 2 * reach + p.origin + (lines ->> 'farthest')::float8;
        cut.slope_size := rounding.lists * sqlsvm._polynomial(lines -> 'sizes' -> 1, far);
        cut.offset_size := rounding.lists * sqlsvm._polynomial(lines -> 'sizes' -> 0, far) + cut.slope_size + rounding.sums * greatest(rows, slopes);
        cut.slope_size := cut.slope_size + rounding.sums * slopes;
    END IF;
    cut.rounded := rounding.share * (cut.offset_size + cut.error + hidden + penalty
        + CASE WHEN lines IS NOT NULL AND width > 0 THEN mean ELSE cut.slope_size * reach END)
        + stored * (cut.slope_size + stored * coalesce((SELECT max((b ->> 'bend')::float8) FROM jsonb_array_elements(p.design #> '{loss,pieces}') AS b), 0));
    RETURN cut;
END $$;
