CREATE TABLE a AS SELECT i % 5 AS k, i % 2 = 0 AS y, i AS x FROM RANGE(0, 1000) AS r(i);
CREATE TABLE b AS SELECT i % 5 AS k, i % 4 AS l FROM RANGE(0, 4000) AS r(i);
CREATE TABLE c AS SELECT i % 4 AS l, i AS x FROM RANGE(0, 60000) AS r(i);
-- query
SELECT a.y, a.x, c.x AS cx FROM a JOIN b ON a.k = b.k JOIN c ON c.l = b.l
