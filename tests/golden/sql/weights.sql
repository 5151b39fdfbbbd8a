CREATE TABLE facts AS SELECT * FROM (VALUES
    (1, 1, 1, 0.5), (2, 1, -1, -1.0), (3, 2, 1, 1.5), (4, 2, -1, 0.0), (5, 3, 1, 2.0)
) AS v(id, times, y, x);
-- query
SELECT y, x, times FROM facts
