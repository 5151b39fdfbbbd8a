CREATE OR REPLACE FUNCTION sqlsvm._lifted(a float8[], ridge float8[])
RETURNS float8[]
LANGUAGE plpgsql IMMUTABLE
AS $$
BEGIN
    FOR i IN 1 .. cardinality(ridge) LOOP
        a[i * (i + 1) / 2] := a[i * (i + 1) / 2] + ridge[i];
    END LOOP;
    RETURN a;
END
$$;

COMMENT ON FUNCTION sqlsvm._lifted(float8[], float8[]) IS 'A lower triangle with more on its diagonal';
