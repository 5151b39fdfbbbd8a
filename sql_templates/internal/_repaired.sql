-- A point nearby within the ends of each weight, and with no weight of a category on the wrong side of the one before it
CREATE OR REPLACE FUNCTION sqlsvm._repaired(penalty sqlsvm._penalty, point float8[])
RETURNS float8[] LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    b float8[] := ARRAY(SELECT least(greatest(e.b, e.low), e.high) FROM unnest(point, penalty.low, penalty.high) WITH ORDINALITY AS e (b, low, high, j) ORDER BY e.j);
    l record;
BEGIN
    FOR l IN SELECT r.at, r.other, r.way FROM pg_temp.sqlsvm_limits AS r WHERE r.other IS NOT NULL ORDER BY r.place LOOP
        b[l.at] := CASE WHEN l.way > 0 THEN greatest(b[l.at], b[l.other]) ELSE least(b[l.at], b[l.other]) END;
    END LOOP;
    RETURN b;
END $$;
