CREATE TABLE clients AS SELECT * FROM (VALUES (1, 1, 0.5), (2, -1, -1.0), (3, 1, 1.5), (NULL, -1, 0.0)) AS v(k, y, x);
CREATE TABLE visits AS SELECT * FROM (VALUES (1, -0.5), (1, 1.0), (2, 3.5), (9, 2.0), (NULL, 1.5)) AS v(k, z);
-- query
SELECT c.y, c.x, COALESCE(v.z, 4) AS z FROM clients c LEFT JOIN visits v ON v.k = c.k AND v.z < 3
