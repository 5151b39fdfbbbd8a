CREATE TABLE people AS SELECT i % 2 AS y, i AS age FROM RANGE(0, 8) AS r(i);
CREATE TABLE settings AS SELECT 'night' AS mode UNION ALL SELECT 'day';
-- query
SELECT people.y, people.age, settings.mode FROM people CROSS JOIN settings
