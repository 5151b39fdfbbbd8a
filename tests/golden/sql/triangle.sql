CREATE TABLE ab AS SELECT * FROM (VALUES (1, 1, 1, 0.5), (1, 2, -1, 1.0), (2, 1, 1, -1.5), (2, 2, -1, 2.0), (1, 1, -1, 2.5)) AS v(a, b, y, x);
CREATE TABLE bc AS SELECT * FROM (VALUES (1, 1), (1, 2), (2, 1)) AS v(b, c);
CREATE TABLE ca AS SELECT * FROM (VALUES (1, 1, 1.0), (1, 2, -0.5), (2, 2, 2.5)) AS v(c, a, z);
-- query
SELECT t.y, t.x, ca.z FROM ab t JOIN bc ON bc.b = t.b JOIN ca ON ca.c = bc.c AND ca.a = t.a
