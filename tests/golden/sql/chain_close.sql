CREATE TABLE l AS SELECT * FROM (VALUES (1, 0.5), (1, -1.0), (2, 1.5), (3, 9.0)) AS v(i, x);
CREATE TABLE m AS SELECT * FROM (VALUES (1, 1, 1, 0.5), (1, 2, -1, 1.0), (2, 1, -1, -0.5), (2, 2, 1, 0.0)) AS v(i, j, y, x);
CREATE TABLE r AS SELECT * FROM (VALUES (1, -0.5), (1, 1.0), (2, 2.0), (2, 0.5)) AS v(j, x);
-- query
SELECT m.y, m.x, l.x AS lx, r.x AS rx FROM l JOIN m ON m.i = l.i JOIN r ON r.j = m.j
