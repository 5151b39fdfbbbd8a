CREATE TABLE visits AS SELECT i % 9 AS member, i > 3 AS y, i AS minutes FROM RANGE(0, 30) AS r(i);
CREATE TABLE members (id INT PRIMARY KEY, age INT);
INSERT INTO members SELECT i, 20 + i FROM RANGE(0, 6) AS r(i);
-- query
SELECT v.y, v.minutes, m.age FROM visits v LEFT JOIN members m ON m.id = v.member
