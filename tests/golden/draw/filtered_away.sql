CREATE TABLE a AS SELECT i AS k, i % 2 = 0 AS y FROM RANGE(0, 6) AS r(i);
CREATE TABLE b AS SELECT i AS k, i AS x FROM RANGE(0, 3) AS r(i);
-- query
SELECT a.y, b.x FROM a JOIN b USING (k) WHERE b.x > 10
