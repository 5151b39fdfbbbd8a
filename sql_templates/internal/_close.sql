CREATE OR REPLACE FUNCTION sqlsvm._close(program text)
RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    PERFORM sqlsvm._drop(program, 'prepare');
    PERFORM sqlsvm._drop(program, 'sources');
END
$$;

COMMENT ON FUNCTION sqlsvm._close(text) IS 'Removes what _open has made';
