CREATE TABLE facts AS SELECT * FROM (VALUES
    (1, 1, CAST(0.5 AS DOUBLE PRECISION)), (2, -1, NULL), (3, 1, 1.5), (4, -1, 1.0)
) AS v(id, y, x);
-- query
SELECT y, x FROM facts
