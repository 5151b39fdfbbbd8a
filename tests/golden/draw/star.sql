CREATE TABLE sales AS SELECT i AS id, CASE WHEN i % 50 = 0 THEN NULL ELSE i % 7 END AS product, i % 12 AS store,
    i % 3 = 0 AS y, i / 10.0 AS price FROM RANGE(1, 201) AS r(i);
CREATE TABLE products AS SELECT i AS product, 'colour ' || (i % 3) AS colour FROM RANGE(0, 7) AS r(i);
CREATE TABLE stores AS SELECT i AS store, CASE WHEN i > 6 THEN i END AS size FROM RANGE(0, 9) AS r(i);
-- query
SELECT s.y, s.price, p.colour, st.size FROM sales s JOIN products p USING (product) JOIN stores st ON st.store = s.store
