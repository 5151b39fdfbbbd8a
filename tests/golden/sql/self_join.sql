CREATE TABLE m AS SELECT * FROM (VALUES (1, 1, 1, 0.5), (1, 2, -1, 1.0), (2, 1, -1, -0.5), (2, 2, 1, 0.0)) AS v(i, j, y, x);
-- query
SELECT a.y, a.x, b.x AS bx FROM m a JOIN m b ON a.i = b.j
