CREATE TABLE facts AS SELECT * FROM (VALUES
    (1, 1, 1, 0.5), (2, 1, -1, -1.0), (3, 2, 1, 1.5), (4, 2, -1, 0.0), (5, 3, 1, 2.0)
) AS v(id, d, y, x);
CREATE TABLE dims AS SELECT * FROM (VALUES (1, 10, -0.5), (2, 20, 1.0), (4, 20, 3.5)) AS v(d, r, z);
CREATE TABLE regions AS SELECT * FROM (VALUES (10, 1.0)) AS v(r, u);
-- query
SELECT f.y, COALESCE(d.z, 4) AS z, COALESCE(r.u, 2) AS u FROM facts f
LEFT JOIN dims d ON d.d = f.d LEFT JOIN regions r ON r.r = d.r
