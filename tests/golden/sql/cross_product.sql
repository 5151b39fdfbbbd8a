CREATE TABLE m AS SELECT * FROM (VALUES (1, 1, 1, 0.5), (1, 2, -1, 1.0), (2, 1, -1, -0.5), (2, 2, 1, 0.0)) AS v(i, j, y, x);
CREATE TABLE r AS SELECT * FROM (VALUES (1, -0.5), (1, 1.0), (2, 2.0), (2, 0.5)) AS v(j, x);
-- query
SELECT m.y, m.x, r.x AS rx FROM m CROSS JOIN r
