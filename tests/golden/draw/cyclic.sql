CREATE TABLE a AS SELECT i % 4 AS p, i % 3 AS q, i % 2 = 0 AS y FROM RANGE(0, 24) AS r(i);
CREATE TABLE b AS SELECT i % 3 AS q, i % 5 AS s, i AS x FROM RANGE(0, 30) AS r(i);
CREATE TABLE c AS SELECT i % 5 AS s, i % 4 AS p FROM RANGE(0, 40) AS r(i);
CREATE TABLE d AS SELECT i % 5 AS s, i AS z FROM RANGE(0, 10) AS r(i);
-- query
SELECT a.y, b.x, d.z FROM a JOIN b ON a.q = b.q JOIN c ON c.s = b.s AND c.p = a.p JOIN d ON d.s = c.s
