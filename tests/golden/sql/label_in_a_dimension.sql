CREATE TABLE facts AS SELECT * FROM (VALUES (1, 1, 0.5), (2, 1, -1.0), (3, 2, 1.5), (4, 2, 0.0)) AS v(id, d, x);
CREATE TABLE dims AS SELECT * FROM (VALUES (1, -1, 0.5), (2, 1, 1.0)) AS v(d, y, z);
-- query
SELECT d.y, f.x, d.z FROM facts f JOIN dims d ON d.d = f.d
