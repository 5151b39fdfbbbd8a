-- Makes the relations and working tables of a program, checks its data, and measures its features
CREATE OR REPLACE FUNCTION sqlsvm._open(program sqlsvm.programs, scale text)
RETURNS sqlsvm._problem LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    p sqlsvm._problem;
    class_weight jsonb := program.options -> 'problem' -> 'class_weight';
BEGIN
    p.program := program.name;
    p.label := program.label;
    p.design := program.description;
    p.options := program.options;
    p.nulls := program.options -> 'problem' ->> 'nulls';
    p.weight_negative := CASE jsonb_typeof(class_weight) WHEN 'array' THEN (class_weight ->> 0)::float8 ELSE 1 END;
    p.weight_positive := CASE jsonb_typeof(class_weight) WHEN 'array' THEN (class_weight ->> 1)::float8 ELSE 1 END;
    PERFORM sqlsvm._sources();
    p := sqlsvm._counted(p);
    IF class_weight = '"balanced"' THEN
        PERFORM sqlsvm._drop('prepare');
        p.weight_negative := p.n / (2 * p.n_negative);
        p.weight_positive := p.n / (2 * (p.n - p.n_negative));
        p := sqlsvm._counted(p);
    END IF;
    p := sqlsvm._scaled(p, scale);
    PERFORM sqlsvm._check_read();
    RETURN p;
END $$;
