CREATE TABLE facts AS SELECT * FROM (VALUES
    (1, 1, 1, 0.5), (2, 1, -1, -1.0), (3, 2, 1, 1.5), (4, 2, -1, 0.0), (5, 3, 1, 2.0)
) AS v(id, d, y, x);
-- query
SELECT y, x > 0.25 AS far, d = 1 AS near FROM facts
