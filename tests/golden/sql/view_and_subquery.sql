CREATE TABLE facts AS SELECT * FROM (VALUES
    (1, 1, 1, 0.5), (2, 1, -1, -1.0), (3, 2, 1, 1.5), (4, 2, -1, 0.0), (5, 3, 1, 2.0)
) AS v(id, d, y, x);
CREATE TABLE dims AS SELECT * FROM (VALUES (1, 10, -0.5), (2, 20, 1.0), (4, 20, 3.5)) AS v(d, r, z);
CREATE VIEW good AS SELECT * FROM facts WHERE id < 5;
-- query
SELECT g.y, g.x, s.zz FROM good g JOIN (SELECT d, z * 2 AS zz FROM dims WHERE z < 3) s ON s.d = g.d
