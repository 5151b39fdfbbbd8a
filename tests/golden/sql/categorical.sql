CREATE TABLE facts AS SELECT * FROM (VALUES
    (1, 1, 1, 0.5), (2, 1, -1, -1.0), (3, 2, 1, 1.5), (4, 2, -1, 0.0), (5, 3, 1, 2.0)
) AS v(id, d, y, x);
CREATE TABLE dims AS SELECT * FROM (VALUES (1, 'red'), (2, 'it''s "blue"'), (3, NULL), (4, 'unseen')) AS v(d, colour);
-- query
SELECT f.y, f.x, d.colour FROM facts f JOIN dims d ON d.d = f.d
