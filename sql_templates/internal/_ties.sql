-- A sum over several tables has a coordinate for each of its terms. The first has the weight, and the others the same one.
CREATE OR REPLACE FUNCTION sqlsvm._ties(design jsonb, place integer)
RETURNS integer[]
LANGUAGE sql IMMUTABLE
AS $$
    SELECT ARRAY(SELECT t::integer FROM jsonb_array_elements_text(design -> 'ties' -> place::text) AS t)
$$;

COMMENT ON FUNCTION sqlsvm._ties(jsonb, integer) IS 'The places of the later terms of a sum; none for any other coordinate';
