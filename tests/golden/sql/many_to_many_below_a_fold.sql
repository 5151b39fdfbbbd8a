CREATE TABLE orders AS SELECT * FROM (VALUES (1, 1, 1, 0.5), (2, 1, -1, 1.0), (3, 2, 1, -1.5)) AS v(id, c, y, x);
CREATE TABLE customers AS SELECT * FROM (VALUES (1, 7, 0.5), (2, 8, 1.0)) AS v(c, g, age);
CREATE TABLE tags AS SELECT * FROM (VALUES (7, -0.5), (7, 2.0), (8, 1.0), (8, 1.5)) AS v(g, t);
-- query
SELECT o.y, o.x, c.age, t.t FROM orders o JOIN customers c ON c.c = o.c JOIN tags t ON t.g = c.g
