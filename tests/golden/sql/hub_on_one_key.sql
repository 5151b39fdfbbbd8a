CREATE TABLE l AS SELECT * FROM (VALUES (1, 0.5), (1, -1.0), (2, 1.5), (3, 9.0)) AS v(i, x);
CREATE TABLE m AS SELECT * FROM (VALUES (1, 1, 1, 0.5), (1, 2, -1, 1.0), (2, 1, -1, -0.5), (2, 2, 1, 0.0)) AS v(i, j, y, x);
CREATE TABLE q AS SELECT * FROM (VALUES (1, 2.0), (1, -0.5), (2, 1.0), (2, 0.5)) AS v(i, x);
-- query
SELECT m.y, l.x AS lx, q.x AS qx FROM m JOIN l ON l.i = m.i JOIN q ON q.i = m.i
