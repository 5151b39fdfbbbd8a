-- c_1 + c_2 x + c_3 x^2 + ...
CREATE OR REPLACE FUNCTION sqlsvm._polynomial(coefficients jsonb, x float8)
RETURNS float8 LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT sum(c.v::float8 * x ^ (c.i - 1)) FROM jsonb_array_elements_text(coefficients) WITH ORDINALITY AS c (v, i)
$$;
