CREATE TABLE l AS SELECT * FROM (VALUES (1, 0.5), (1, -1.0), (2, 1.5), (3, 9.0)) AS v(i, x);
CREATE TABLE r AS SELECT * FROM (VALUES (1, -0.5), (1, 1.0), (2, 2.0), (2, 0.5)) AS v(j, x);
CREATE TABLE hub AS SELECT * FROM (VALUES (1, 1, 1, 1), (1, 2, 2, -1), (2, 1, 1, -1)) AS v(i, j, k, y);
CREATE TABLE q AS SELECT * FROM (VALUES (1, 1.0), (1, -0.5), (2, 0.5), (2, 2.5)) AS v(k, x);
-- query
SELECT h.y, l.x AS lx, r.x AS rx, q.x AS qx FROM hub h JOIN l ON l.i = h.i JOIN r ON r.j = h.j JOIN q ON q.k = h.k
