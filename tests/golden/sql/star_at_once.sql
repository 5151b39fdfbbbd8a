CREATE TABLE facts AS SELECT * FROM (VALUES
    (1, 1, 1, 0.5), (2, 1, -1, -1.0), (3, 2, 1, 1.5), (4, 2, -1, 0.0), (5, 3, 1, 2.0)
) AS v(id, d, y, x);
CREATE TABLE dims AS SELECT * FROM (VALUES (1, 10, -0.5), (2, 20, 1.0), (4, 20, 3.5)) AS v(d, r, z);
-- query
SELECT f.y, f.x, d.z FROM facts f JOIN dims d USING (d)
