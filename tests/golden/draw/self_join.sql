CREATE TABLE people (id INT PRIMARY KEY, boss INT, y BOOLEAN, age INT);
INSERT INTO people SELECT i, CASE WHEN i > 0 THEN i // 3 END, i % 2 = 0, 30 + i FROM RANGE(0, 12) AS r(i);
-- query
SELECT p.y, p.age, b.age AS boss_age, n.n
FROM people p JOIN people b ON b.id = p.boss JOIN (SELECT boss, COUNT(*) AS n FROM people GROUP BY boss) n ON n.boss = b.id
