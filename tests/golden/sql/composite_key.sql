CREATE TABLE m AS SELECT * FROM (VALUES (1, 1, 1, 0.5), (1, 2, -1, 1.0), (2, 1, -1, -0.5), (2, 2, 1, 0.0), (1, 1, -1, 1.5)) AS v(i, j, y, x);
CREATE TABLE w AS SELECT * FROM (VALUES (1, 1, 0.5), (1, 1, 2.0), (2, 1, 1.5), (2, 2, -0.5), (NULL, 2, 7.0)) AS v(i, j, x);
-- query
SELECT m.y, m.x, w.x AS wx FROM m JOIN w ON w.i = m.i AND w.j = m.j
