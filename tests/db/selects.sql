-- SELECTs as people write them, about a shop, a hospital and a forum. Before each is its label, and the engine if only
-- one has its form. tests/db/test_selects.py compares what is trained on with the result of each as a table.

CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(40), age INT, city VARCHAR(20), signup DATE, churned BOOLEAN);
CREATE TABLE products (id INT PRIMARY KEY, category VARCHAR(20), price NUMERIC(10,2));
CREATE TABLE orders (id INT PRIMARY KEY, customer_id INT, ts TIMESTAMP, status VARCHAR(10), total NUMERIC(10,2), late BOOLEAN);
CREATE TABLE items (order_id INT, product_id INT, quantity INT, discount FLOAT8);
CREATE TABLE visits (customer_id INT, ts TIMESTAMP, minutes FLOAT8, page VARCHAR(20));
CREATE TABLE patients (id INT PRIMARY KEY, born DATE, sex CHAR(1), weight FLOAT8);
CREATE TABLE stays (id INT PRIMARY KEY, patient_id INT, admitted TIMESTAMP, discharged TIMESTAMP, ward VARCHAR(10), died BOOLEAN);
CREATE TABLE labs (stay_id INT, taken TIMESTAMP, test VARCHAR(10), value FLOAT8);
CREATE TABLE users (id INT PRIMARY KEY, joined DATE, reputation INT);
CREATE TABLE posts (id INT PRIMARY KEY, user_id INT, parent_id INT, kind INT, score INT, created TIMESTAMP, body TEXT);
CREATE TABLE badges (user_id INT, name VARCHAR(20), given DATE);
CREATE TABLE prices (product_id INT, from_day DATE, price NUMERIC(10,2));
CREATE TABLE empty_events (customer_id INT, ts TIMESTAMP, amount FLOAT8);
INSERT INTO customers SELECT n, 'c' || CAST(n AS VARCHAR(9)), CASE WHEN n % 9 = 0 THEN NULL ELSE 20 + n * 7 % 50 END, CASE n % 3 WHEN 0 THEN 'Rome' WHEN 1 THEN 'Oslo' ELSE 'Paris' END, DATE '2023-01-01' + CAST(n * 5 AS INT), n % 3 = 0 FROM GENERATE_SERIES(1, 30) AS g(n);
INSERT INTO products SELECT n, CASE n % 4 WHEN 0 THEN 'toy' WHEN 1 THEN 'book' ELSE 'food' END, n * 3.5 FROM GENERATE_SERIES(1, 12) AS g(n);
INSERT INTO orders SELECT n, CASE WHEN n % 17 = 0 THEN NULL ELSE 1 + n * 11 % 35 END, TIMESTAMP '2024-01-01 00:00:00' + n * 13 % 97 * INTERVAL '7 hours', CASE n % 3 WHEN 0 THEN 'open' WHEN 1 THEN 'paid' ELSE 'sent' END, CASE WHEN n % 11 = 0 THEN NULL ELSE n * 13 % 40 + 0.25 END, n * 5 % 7 > 3 FROM GENERATE_SERIES(1, 80) AS g(n);
INSERT INTO items SELECT 1 + n * 11 % 85, 1 + n * 5 % 13, 1 + n % 4, n % 5 / 10.0 FROM GENERATE_SERIES(1, 150) AS g(n);
INSERT INTO visits SELECT 1 + n * 5 % 33, TIMESTAMP '2023-12-20 00:00:00' + n * 19 % 101 * INTERVAL '9 hours', n * 17 % 30, CASE n % 3 WHEN 0 THEN 'home' WHEN 1 THEN 'cart' ELSE 'help' END FROM GENERATE_SERIES(1, 120) AS g(n);
INSERT INTO patients SELECT n, DATE '1950-01-01' + CAST(n * 400 AS INT), CASE WHEN n % 2 = 0 THEN 'f' ELSE 'm' END, CASE WHEN n % 7 = 0 THEN NULL ELSE 50.0 + n END FROM GENERATE_SERIES(1, 20) AS g(n);
INSERT INTO stays SELECT n, 1 + n * 5 % 22, TIMESTAMP '2024-01-01 00:00:00' + n * 31 % 67 * INTERVAL '1 day', CASE WHEN n % 13 = 0 THEN NULL ELSE TIMESTAMP '2024-01-03 00:00:00' + n * 31 % 67 * INTERVAL '1 day' END, CASE n % 2 WHEN 0 THEN 'icu' ELSE 'er' END, n * 3 % 8 = 1 FROM GENERATE_SERIES(1, 60) AS g(n);
INSERT INTO labs SELECT 1 + n * 7 % 64, TIMESTAMP '2024-01-01 00:00:00' + n * 29 % 73 * INTERVAL '1 day', CASE n % 3 WHEN 0 THEN 'na' WHEN 1 THEN 'k' ELSE 'crp' END, CASE WHEN n % 10 = 0 THEN NULL ELSE n * 23 % 50 END FROM GENERATE_SERIES(1, 200) AS g(n);
INSERT INTO users SELECT n, DATE '2020-01-01' + CAST(n * 20 AS INT), n * 37 % 500 FROM GENERATE_SERIES(1, 25) AS g(n);
INSERT INTO posts SELECT n, 1 + n * 5 % 27, CASE WHEN n % 3 = 0 THEN 1 + n / 3 ELSE NULL END, n % 2 + 1, n * 13 % 30 - 5, TIMESTAMP '2024-01-01 00:00:00' + n * 17 % 89 * INTERVAL '5 hours', CASE WHEN n % 4 = 0 THEN NULL ELSE 'text ' || CAST(n AS VARCHAR(9)) END FROM GENERATE_SERIES(1, 90) AS g(n);
INSERT INTO badges SELECT 1 + n * 3 % 28, CASE n % 3 WHEN 0 THEN 'gold' ELSE 'silver' END, DATE '2024-01-01' + CAST(n * 7 % 40 AS INT) FROM GENERATE_SERIES(1, 70) AS g(n);
INSERT INTO prices SELECT 1 + n % 12, DATE '2023-12-01' + CAST(n * 11 % 90 AS INT), n * 1.5 FROM GENERATE_SERIES(1, 60) AS g(n);

-- churned
SELECT c.churned, c.age, c.signup, MAX(o.ts) AS last_order FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.id, c.churned, c.age, c.signup

-- late
SELECT o.late, o.ts, o.ts - c.signup AS since, EXTRACT(DOW FROM o.ts) AS dow FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.ts BETWEEN '2024-01-03' AND '2024-02-01'

-- died
SELECT s.died, s.discharged - s.admitted AS stay, p.born, AGE(s.admitted, p.born) AS age FROM stays s JOIN patients p ON p.id = s.patient_id

-- late
SELECT late, CAST(ts AS TIME) AS at, CAST(ts AS DATE) AS day, total FROM orders

-- late
SELECT o.late, o.total, (SELECT AVG(v.minutes) FROM visits v WHERE v.customer_id = o.customer_id AND v.ts < o.ts AND v.ts >= o.ts - INTERVAL '7 days') AS recent FROM orders o

-- late
SELECT o.late, o.total, (SELECT COUNT(DISTINCT v.page) FROM visits v WHERE v.customer_id = o.customer_id AND v.ts < o.ts) AS pages FROM orders o

-- late
SELECT o.late, o.total > (SELECT AVG(total) FROM orders) AS above, o.total / (SELECT MAX(total) FROM orders) AS part FROM orders o

-- late
SELECT o.late, o.total, LAG(o.total) OVER (PARTITION BY o.customer_id ORDER BY o.ts, o.id) AS before, c.age FROM orders o JOIN customers c ON c.id = o.customer_id

-- late duckdb
SELECT late, total, ts FROM orders QUALIFY ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY ts DESC, id) <= 2

-- late postgres
SELECT DISTINCT ON (o.customer_id) o.late, o.total, c.age FROM orders o JOIN customers c ON c.id = o.customer_id ORDER BY o.customer_id, o.ts DESC, o.id

-- late
SELECT o.late, o.total, l.minutes FROM orders o LEFT JOIN (SELECT DISTINCT ON (customer_id) customer_id, minutes FROM visits ORDER BY customer_id, ts DESC, minutes) AS l ON l.customer_id = o.customer_id

-- active
SELECT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND o.ts > '2024-01-15') AS active, c.age, c.city FROM customers c

-- active
SELECT c.id IN (SELECT customer_id FROM orders WHERE late) AS active, c.age FROM customers c WHERE c.age IS NOT NULL

-- late
SELECT o.late, o.total FROM orders o WHERE o.customer_id NOT IN (SELECT customer_id FROM visits WHERE minutes > 25)

-- late
SELECT o.late, o.total FROM orders o WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.customer_id = o.customer_id AND v.ts BETWEEN o.ts - INTERVAL '1 day' AND o.ts)

-- late
SELECT o.late, o.total FROM orders o WHERE o.total >= ALL (SELECT o2.total FROM orders o2 WHERE o2.customer_id = o.customer_id AND o2.total IS NOT NULL)

-- late
SELECT o.late, o.total, o.total > ANY (SELECT i.discount * 100 FROM items i WHERE i.order_id = o.id) AS big FROM orders o

-- late
SELECT COALESCE(o.late, FALSE) AS late, c.age, v.minutes FROM customers c LEFT JOIN orders o ON o.customer_id = c.id LEFT JOIN visits v ON v.customer_id = c.id

-- churned
SELECT c.churned, c.age, i.quantity FROM items i RIGHT JOIN orders o ON o.id = i.order_id RIGHT JOIN customers c ON c.id = o.customer_id

-- has
SELECT c.id IS NOT NULL AS has, COALESCE(o.total, 0) AS total, COALESCE(c.age, 0) AS age FROM customers c FULL JOIN orders o ON o.customer_id = c.id

-- has
SELECT c.id IS NOT NULL AS has, COALESCE(o.total, 0) AS total, COALESCE(v.minutes, 0) AS m FROM customers c FULL OUTER JOIN orders o ON o.customer_id = c.id FULL OUTER JOIN visits v ON v.customer_id = o.customer_id AND v.ts < o.ts

-- late
SELECT o.late, o.total, v.minutes FROM orders o LEFT JOIN visits v ON v.customer_id = o.customer_id AND v.ts < o.ts

-- churned
SELECT c.churned, c.age, o.total, i.quantity FROM customers c LEFT JOIN (orders o JOIN items i ON i.order_id = o.id) ON o.customer_id = c.id

-- late duckdb
SELECT o.late, o.total, v.minutes FROM orders o ASOF LEFT JOIN visits v ON v.customer_id = o.customer_id AND o.ts > v.ts

-- late
SELECT o.late, o.total, l.* FROM orders o LEFT JOIN LATERAL (SELECT v.minutes, v.page FROM visits v WHERE v.customer_id = o.customer_id AND v.ts <= o.ts ORDER BY v.ts DESC, v.minutes LIMIT 1) l ON TRUE

-- late
SELECT o.late, o.total, l.minutes FROM orders o CROSS JOIN LATERAL (SELECT v.minutes FROM visits v WHERE v.customer_id = o.customer_id ORDER BY v.ts, v.minutes LIMIT 3) l

-- late
SELECT o.late, l.n, l.m FROM orders o, LATERAL (SELECT COUNT(*) AS n, AVG(v.minutes) AS m FROM visits v WHERE v.customer_id = o.customer_id AND v.ts < o.ts) l

-- late
SELECT o.late, o.total, v.minutes FROM orders o JOIN visits v ON v.customer_id = o.customer_id AND v.ts >= o.ts - INTERVAL '3 days' AND v.ts < o.ts

-- died postgres
SELECT a.died, EXTRACT(EPOCH FROM a.discharged - a.admitted) AS stay, b.ward FROM stays a JOIN stays b ON (a.admitted, a.discharged) OVERLAPS (b.admitted, b.discharged) AND a.id <> b.id

-- died
SELECT a.died, l.value FROM stays a JOIN labs l ON l.taken BETWEEN a.admitted AND a.discharged AND l.value <> a.id

-- died postgres
SELECT a.died, EXTRACT(EPOCH FROM a.discharged - a.admitted) AS stay, b.ward FROM stays a JOIN stays b ON tsrange(a.admitted, a.discharged) && tsrange(b.admitted, b.discharged) AND a.id < b.id

-- late
SELECT o.late, o.total, p.total AS before FROM orders o JOIN orders p ON p.customer_id = o.customer_id AND (p.ts, p.id) < (o.ts, o.id)

-- churned
SELECT c.churned, c.city, COUNT(DISTINCT o.status) AS kinds, COUNT(DISTINCT v.page) AS pages, SUM(v.minutes) AS minutes FROM customers c JOIN orders o ON o.customer_id = c.id JOIN visits v ON v.customer_id = c.id GROUP BY c.id, c.churned, c.city

-- churned
SELECT c.churned, COUNT(o.id) AS n, SUM(CASE WHEN o.late THEN 1 ELSE 0 END) AS lates, SUM(o.total) FILTER (WHERE o.status = 'paid') AS paid FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE c.id IN (SELECT customer_id FROM visits) GROUP BY c.id, c.churned HAVING COUNT(o.id) > 0

-- churned
SELECT bool_and(c.churned) AS churned, c.city, percentile_cont(0.5) WITHIN GROUP (ORDER BY o.total) AS med FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.city, c.age

-- churned
SELECT c.churned, LENGTH(STRING_AGG(v.page, ',' ORDER BY v.ts, v.page)) AS len FROM customers c JOIN visits v ON v.customer_id = c.id GROUP BY c.id, c.churned

-- churned duckdb
SELECT c.churned, arg_max(o.total, o.ts) AS last_total, MEDIAN(o.total) AS med, MODE(o.status) AS st FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY ALL

-- late
SELECT DISTINCT o.late, c.city, c.age FROM orders o JOIN customers c ON c.id = o.customer_id JOIN visits v ON v.customer_id = c.id

-- late
SELECT late, total FROM (SELECT late, total, ts FROM orders WHERE ts < '2024-01-10' UNION ALL SELECT died, weight, admitted FROM stays JOIN patients p ON p.id = patient_id) u ORDER BY ts LIMIT 60

-- late
(SELECT late, total FROM orders WHERE status = 'paid') INTERSECT SELECT late, total FROM orders

-- late
SELECT late, total FROM orders EXCEPT SELECT late, total FROM orders WHERE status = 'open'

-- late
WITH RECURSIVE thread AS (SELECT id, id AS root, 0 AS depth FROM posts WHERE parent_id IS NULL UNION ALL SELECT p.id, t.root, t.depth + 1 FROM posts p JOIN thread t ON p.parent_id = t.id WHERE t.depth < 5) SELECT p.score > 5 AS late, t.depth, u.reputation FROM thread t JOIN posts p ON p.id = t.id JOIN users u ON u.id = p.user_id

-- y
SELECT y, x FROM (VALUES (TRUE, 1), (FALSE, 2), (TRUE, 4), (FALSE, 3)) AS t(y, x)

-- late
SELECT o.late, g.d, COUNT(*) AS n FROM GENERATE_SERIES(1, 3) AS g(d) JOIN orders o ON EXTRACT(DAY FROM o.ts) >= g.d GROUP BY o.late, g.d, o.status

-- popular
SELECT p.score > 5 AS popular, u.reputation, (SELECT COUNT(*) FROM badges b WHERE b.user_id = p.user_id AND b.given < p.created) AS badges, (SELECT MAX(q.score) FROM posts q WHERE q.user_id = p.user_id AND q.created < p.created) AS best FROM posts p JOIN users u ON u.id = p.user_id

-- popular
SELECT BOOL_OR(q.score > 10) AS popular, COUNT(q.id) AS posts, COUNT(b.name) AS badges, u.joined FROM users u LEFT JOIN posts q ON q.user_id = u.id LEFT JOIN badges b ON b.user_id = u.id GROUP BY u.id, u.joined

-- popular
SELECT p.score > 5 AS popular, LENGTH(p.body) AS len, p.kind, ROW_NUMBER() OVER (PARTITION BY p.user_id ORDER BY p.created, p.id) AS nth FROM posts p

-- late
SELECT o.late, o.total, s.* FROM orders o JOIN (SELECT order_id, SUM(quantity * price) AS value, COUNT(*) AS lines FROM items JOIN products ON products.id = items.product_id GROUP BY order_id) s ON s.order_id = o.id

-- late
SELECT o.late, 1 AS one, o.total FROM orders o

-- late
SELECT o.late, o.total, 'x' AS source, CAST(NULL AS INT) AS nothing FROM orders o JOIN customers c ON c.id = o.customer_id

-- late duckdb
SELECT o.late, o.total AS t, t * 2 AS double, double + 1 AS more FROM orders o

-- late duckdb
SELECT o.late, o.total AS t, c.age FROM orders o JOIN customers c ON c.id = o.customer_id WHERE t > 4

-- late
SELECT o.*, c.* FROM orders o JOIN customers c ON c.id = o.customer_id

-- late
SELECT * FROM orders NATURAL JOIN (SELECT customer_id, minutes FROM visits) AS v

-- late
SELECT o.late, p.price FROM orders o JOIN items i ON i.order_id = o.id JOIN LATERAL (SELECT price FROM prices WHERE prices.product_id = i.product_id AND prices.from_day <= o.ts ORDER BY from_day DESC, price LIMIT 1) p ON TRUE

-- late
SELECT o.late, o.total, CASE WHEN EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.id AND i.discount > 0.3) THEN 1 ELSE 0 END AS discounted FROM orders o ORDER BY o.ts

-- late
SELECT late, AVG(total) OVER (PARTITION BY customer_id ORDER BY ts RANGE BETWEEN INTERVAL '10 days' PRECEDING AND CURRENT ROW) AS m FROM orders

-- late
SELECT late, total, NTILE(4) OVER (ORDER BY total, id) AS q FROM (SELECT * FROM orders WHERE total IS NOT NULL AND EXISTS (SELECT 1 FROM items i WHERE i.order_id = orders.id)) o

-- churned
SELECT c.churned, c.age, (SELECT COUNT(*) FROM orders o JOIN items i ON i.order_id = o.id WHERE o.customer_id = c.id) AS items, (SELECT SUM(i.quantity) FROM orders o JOIN items i ON i.order_id = o.id WHERE o.customer_id = c.id AND o.ts > c.signup) AS q FROM customers c

-- churned
SELECT c.churned, c.age, (SELECT o.total FROM orders o WHERE o.customer_id = c.id ORDER BY o.ts DESC, o.id LIMIT 1) AS last, (SELECT o.total FROM orders o WHERE o.customer_id = c.id ORDER BY o.ts DESC, o.id LIMIT 1 OFFSET 1) AS prior FROM customers c

-- churned
SELECT churned, age FROM customers WHERE (age, city) IN (SELECT age, city FROM customers WHERE signup > '2023-02-01')

-- churned
SELECT churned, age FROM customers WHERE (city, age) > ('Oslo', 30)

-- late
SELECT o.late, o.total, i.quantity FROM orders o, items i WHERE i.order_id = o.id AND (i.quantity > 2 OR o.total > 10)

-- late
SELECT o.late, COALESCE(s.n, 0) AS n FROM orders o LEFT JOIN (SELECT customer_id, COUNT(*) n FROM visits GROUP BY 1) s ON s.customer_id = o.customer_id

-- late
SELECT o.late, o.total FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.total > (SELECT AVG(o2.total) FROM orders o2 WHERE o2.status = o.status) OR c.age > (SELECT AVG(age) FROM customers)

-- churned
SELECT c.churned, SUM(o.total) AS t FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY ROLLUP (c.churned, c.city)

-- late postgres
SELECT late, CAST(total AS FLOAT8) AS t, to_char(ts, 'Day') AS day, date_trunc('week', ts) AS week FROM orders

-- late
SELECT o.late, x.n FROM orders o CROSS JOIN (SELECT COUNT(*) AS n FROM visits) x

-- churned
SELECT churned, age FROM customers UNION SELECT late, CAST(total AS INT) FROM orders WHERE total > (SELECT AVG(total) FROM orders)

-- late
WITH recent AS (SELECT * FROM orders WHERE ts > '2024-01-05'), agg AS (SELECT customer_id, COUNT(*) AS n, MAX(ts) AS last FROM recent GROUP BY customer_id) SELECT r.late, r.total, a.n, r.ts - a.last AS gap FROM recent r JOIN agg a USING (customer_id)

-- churned postgres
SELECT c.churned, c.age, COUNT(*) FILTER (WHERE v.ts > o.ts) AS after FROM customers c JOIN orders o ON o.customer_id = c.id JOIN visits v ON v.customer_id = c.id GROUP BY c.id

-- late
SELECT o.late, o.total FROM orders o WHERE o.total = (SELECT MAX(total) FROM orders x WHERE x.customer_id = o.customer_id)

-- late
SELECT late, total, ts::date - DATE '2024-01-01' AS d, ts > TIMESTAMP '2024-01-08' AS second_week FROM orders

-- late
SELECT o.late, v.minutes, c.age FROM orders o JOIN customers c ON c.id = o.customer_id LEFT JOIN visits v ON v.customer_id = c.id AND v.ts < o.ts AND v.minutes > c.age

-- has
SELECT o.id IS NULL AS has, v.minutes FROM visits v LEFT JOIN orders o ON o.customer_id = v.customer_id AND o.ts > v.ts AND o.ts < v.ts + INTERVAL '2 days'

-- late
TABLE orders

-- late duckdb
FROM orders SELECT late, total WHERE total > 1

-- late
SELECT late, array_length(string_to_array(status, 'e'), 1) AS parts FROM orders

-- late
SELECT o.late, e.amount FROM orders o LEFT JOIN empty_events e ON e.customer_id = o.customer_id AND e.ts < o.ts

-- late
SELECT o.late, (SELECT SUM(e.amount) FROM empty_events e WHERE e.customer_id = o.customer_id) AS s, o.total FROM orders o

-- late
SELECT a.late, a.total - b.total AS d FROM orders a JOIN orders b ON a.customer_id = b.customer_id AND a.ts > b.ts AND a.total > b.total

-- late
SELECT late, total FROM orders WHERE (customer_id, ts) IN (SELECT customer_id, MAX(ts) FROM orders GROUP BY customer_id)

-- late
SELECT max(late::int) = 1 AS late, count(*) AS n, avg(total) AS t FROM orders GROUP BY customer_id ORDER BY count(*) DESC LIMIT 20

-- late
SELECT late, status || '-' || EXTRACT(DOW FROM ts) AS k, total IS NULL AS unknown FROM orders

-- late
SELECT o.late, SUM(i.quantity) AS q FROM orders o LEFT JOIN items i ON i.order_id = o.id WHERE o.customer_id IN (SELECT id FROM customers WHERE city = 'Rome') GROUP BY o.id, o.late

-- late duckdb
SELECT o.late, unnest([1, 2]) AS k, o.total FROM orders o

-- late
SELECT o.late, o.total, first_value(v.minutes) OVER (PARTITION BY o.id ORDER BY v.ts DESC, v.minutes) AS m FROM orders o JOIN visits v ON v.customer_id = o.customer_id AND v.ts < o.ts

-- late
SELECT o.late, k.quantity FROM orders o LEFT JOIN items AS k(oid, pid, quantity, discount) ON k.oid = o.id

-- late
SELECT o.late, o.total, c.age, c.age * 1.0 / NULLIF(o.total, 0) AS r FROM orders o JOIN customers c ON (c.id = o.customer_id) WHERE o.status IN ('paid', 'sent') AND c.city LIKE 'R%'

-- late
SELECT o.late, o.total, o.total FROM orders o

-- late
SELECT * FROM orders o JOIN customers c ON c.id = o.customer_id

-- Late?
SELECT o.late AS "Late?", o.total AS "Total (EUR)" FROM orders AS o

-- late
SELECT o.late, o.total, v.n FROM orders o LEFT JOIN (SELECT customer_id, COUNT(*) AS n FROM (SELECT DISTINCT customer_id, page FROM visits) d GROUP BY customer_id) v ON v.customer_id = o.customer_id

-- late
SELECT o.late, o.total, (SELECT COUNT(*) FROM visits v WHERE v.customer_id = o.customer_id AND NOT EXISTS (SELECT 1 FROM visits w WHERE w.customer_id = v.customer_id AND w.ts > v.ts AND w.ts < o.ts)) AS n FROM orders o

-- late
SELECT x.late, x.total, x.r FROM (SELECT o.*, RANK() OVER (PARTITION BY customer_id ORDER BY total DESC, id) AS r FROM orders o) x WHERE x.r <= 3 AND EXISTS (SELECT 1 FROM visits v WHERE v.customer_id = x.customer_id)

-- late
SELECT late, total FROM (SELECT late, total FROM orders UNION ALL SELECT late, total FROM orders WHERE status = 'paid') a WHERE total > (SELECT AVG(total) FROM orders)

-- late
WITH t AS (SELECT customer_id, AVG(total) AS m FROM orders GROUP BY customer_id) SELECT o.late, o.total - a.m AS d, b.m FROM orders o JOIN t a ON a.customer_id = o.customer_id LEFT JOIN t b ON b.customer_id = o.customer_id + 1

-- late
SELECT o.late, o.total, l.value FROM orders o LEFT JOIN LATERAL (SELECT SUM(i.quantity * p.price) AS value FROM items i JOIN products p ON p.id = i.product_id WHERE i.order_id = o.id) l ON TRUE

-- late
SELECT o.late, o.total, l.price FROM orders o JOIN items i ON i.order_id = o.id LEFT JOIN LATERAL (SELECT q.price FROM prices q WHERE q.product_id = i.product_id AND q.from_day <= o.ts ORDER BY q.from_day DESC, q.price LIMIT 1) l ON TRUE

-- late
SELECT o.late, o.total, l.minutes, m.page FROM orders o LEFT JOIN LATERAL (SELECT v.minutes, v.ts FROM visits v WHERE v.customer_id = o.customer_id AND v.ts <= o.ts ORDER BY v.ts DESC, v.minutes LIMIT 1) l ON TRUE LEFT JOIN LATERAL (SELECT v.page FROM visits v WHERE v.customer_id = o.customer_id AND v.ts < l.ts ORDER BY v.ts DESC, v.minutes LIMIT 1) m ON TRUE

-- churned
SELECT c.churned, c.age, f.total FROM customers c FULL JOIN (SELECT customer_id, SUM(total) AS total FROM orders GROUP BY customer_id) f ON f.customer_id = c.id WHERE c.churned IS NOT NULL

-- churned
SELECT c.churned, c.age, o.total FROM orders o RIGHT JOIN customers c ON o.customer_id = c.id AND o.ts > c.signup + INTERVAL '300 days'

-- churned
SELECT c.churned, c.age, o.total, v.minutes FROM customers c LEFT JOIN orders o ON o.customer_id = c.id LEFT JOIN visits v ON v.customer_id = c.id AND v.ts < o.ts

-- churned
SELECT c.churned, COUNT(DISTINCT o.id) AS orders, COUNT(DISTINCT v.ts) AS visits, SUM(i.quantity) AS q FROM customers c LEFT JOIN orders o ON o.customer_id = c.id LEFT JOIN items i ON i.order_id = o.id LEFT JOIN visits v ON v.customer_id = c.id GROUP BY c.id, c.churned

-- late
SELECT o.late, MIN(v.ts) AS first, MAX(v.ts) - MIN(v.ts) AS span, COUNT(*) FILTER (WHERE v.page = 'cart') AS carts FROM orders o JOIN visits v ON v.customer_id = o.customer_id AND v.ts < o.ts GROUP BY o.id, o.late

-- late
SELECT o.late, COUNT(*) AS n, AVG(v.minutes) AS m FROM orders o JOIN visits v ON v.customer_id = o.customer_id AND v.ts BETWEEN o.ts - INTERVAL '30 days' AND o.ts JOIN items i ON i.order_id = o.id GROUP BY o.id, o.late

-- late
SELECT late, sum(n) AS n FROM (SELECT o.late, o.customer_id, COUNT(*) AS n FROM orders o JOIN visits v USING (customer_id) GROUP BY 1, 2) s GROUP BY late, customer_id HAVING sum(n) > 1

-- late
SELECT late, total FROM orders WHERE status IN (SELECT status FROM (SELECT status, COUNT(*) AS n FROM orders GROUP BY status ORDER BY n DESC, status LIMIT 2) s)

-- big
SELECT SUM(o.total) > 50 AS big, AVG(c.age) AS age, EXTRACT(MONTH FROM o.ts) AS month FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY EXTRACT(MONTH FROM o.ts), c.city, o.status

-- late
SELECT o.late, CASE WHEN o.total > (SELECT AVG(i.quantity * 10) FROM items i WHERE i.order_id = o.id) THEN 'high' WHEN o.total IS NULL THEN 'none' ELSE 'low' END AS k FROM orders o

-- late
SELECT o.late, COALESCE((SELECT SUM(i.quantity) FROM items i WHERE i.order_id = o.id), 0) AS q, COALESCE((SELECT MAX(v.minutes) FROM visits v WHERE v.customer_id = o.customer_id AND v.ts < o.ts), -1) AS m FROM orders o JOIN customers c ON c.id = o.customer_id

-- late
SELECT o.late, (SELECT COUNT(*) FROM visits v WHERE v.customer_id = c.id AND v.minutes > o.total) AS n FROM orders o JOIN customers c ON c.id = o.customer_id

-- late
SELECT o.late, o.total FROM orders o WHERE EXISTS (SELECT 1 FROM items i JOIN products p ON p.id = i.product_id WHERE i.order_id = o.id AND p.category = 'toy') AND o.total IS NOT NULL

-- late
SELECT o.late, o.total FROM orders o WHERE (o.status, o.late) IN (('paid', TRUE), ('sent', FALSE))

-- late
SELECT o.late, COUNT(*) OVER (PARTITION BY o.customer_id) AS n, SUM(o.total) OVER (PARTITION BY o.customer_id ORDER BY o.ts ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) AS s FROM orders o WHERE o.id NOT IN (SELECT order_id FROM items WHERE order_id IS NOT NULL AND quantity > 3)

-- died
SELECT s.died, s.ward, l.value - AVG(l.value) OVER (PARTITION BY l.test) AS z FROM stays s JOIN labs l ON l.stay_id = s.id

-- died
SELECT s.died, MAX(CASE WHEN l.test = 'na' THEN l.value END) AS na, MAX(CASE WHEN l.test = 'k' THEN l.value END) AS k, p.sex FROM stays s JOIN patients p ON p.id = s.patient_id LEFT JOIN labs l ON l.stay_id = s.id AND l.taken <= s.admitted + INTERVAL '20 days' GROUP BY s.id, s.died, p.sex

-- died
SELECT s.died, EXTRACT(YEAR FROM s.admitted) - EXTRACT(YEAR FROM p.born) AS age, (SELECT COUNT(*) FROM stays t WHERE t.patient_id = s.patient_id AND t.discharged < s.admitted) AS earlier FROM stays s JOIN patients p ON p.id = s.patient_id

-- died
SELECT a.died, a.ward, (SELECT COUNT(*) FROM stays b WHERE b.ward = a.ward AND b.admitted <= a.admitted AND b.discharged > a.admitted) AS census FROM stays a

-- died
SELECT a.died, a.ward, b.ward AS other FROM stays a JOIN stays b ON a.patient_id = b.patient_id AND a.admitted <= b.discharged AND b.admitted <= a.discharged

-- popular
WITH q AS (SELECT p.*, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY created, id) AS rn FROM posts p) SELECT a.score > 5 AS popular, a.rn, b.score AS previous FROM q a LEFT JOIN q b ON b.user_id = a.user_id AND b.rn = a.rn - 1

-- popular
SELECT p.score > 5 AS popular, COUNT(r.id) AS replies, AVG(r.score) AS mean FROM posts p LEFT JOIN posts r ON r.parent_id = p.id GROUP BY p.id, p.score

-- popular
SELECT p.score > 5 AS popular, u.reputation, b.name FROM posts p JOIN users u ON u.id = p.user_id LEFT JOIN badges b ON b.user_id = u.id AND b.given <= CAST(p.created AS DATE)

-- popular
SELECT score > 5 AS popular, kind FROM posts EXCEPT ALL SELECT score > 5, kind FROM posts WHERE body IS NULL

-- popular
SELECT MAX(score) > 10 AS popular, MIN(created) AS first, COUNT(*) AS n FROM posts GROUP BY user_id HAVING COUNT(*) > (SELECT COUNT(*) / 40 FROM posts)

-- churned
SELECT churned, age, city FROM customers WHERE id = ANY (SELECT customer_id FROM orders) OR signup < '2023-03-01'

-- churned
SELECT c.churned, c.city, CUME_DIST() OVER (ORDER BY c.age, c.id) AS q, c.signup - LAG(c.signup) OVER (ORDER BY c.signup, c.id) AS gap FROM customers c

-- churned
SELECT c.churned, g.month, COUNT(o.id) AS n FROM customers c CROSS JOIN GENERATE_SERIES(1, 2) AS g(month) LEFT JOIN orders o ON o.customer_id = c.id AND EXTRACT(MONTH FROM o.ts) = g.month GROUP BY c.id, c.churned, g.month

-- churned
SELECT * FROM (SELECT c.churned, c.age, CAST(NULL AS INT) AS missing FROM customers c) z

-- churned
SELECT * FROM (SELECT c.churned, c.age, 1 AS one FROM customers c) z JOIN (SELECT 2 AS two) y ON TRUE

-- churned
SELECT c.churned, c.age, n.v FROM customers c LEFT JOIN (VALUES ('Rome', 1), ('Oslo', 2)) AS n(city, v) ON n.city = c.city

-- late
SELECT o.late, o.total, c.age FROM customers AS c, orders AS o, (SELECT 1 AS k) AS k WHERE c.id = o.customer_id

-- late
SELECT o.late, o.total, CAST(c.age AS VARCHAR(5)) || o.status AS k FROM orders o JOIN customers c ON c.id = o.customer_id

-- late
SELECT o.late, GREATEST(o.total, c.age) AS g, LEAST(o.ts, c.signup + INTERVAL '1 year') AS l FROM orders o JOIN customers c ON c.id = o.customer_id

-- late
SELECT o.late, o.total AS total FROM orders o WHERE o.late IS NOT NULL GROUP BY o.late, o.total

-- late
SELECT o.late, i.quantity FROM orders o JOIN items i ON i.order_id = o.id AND (o.late OR i.discount > 0.1) WHERE i.product_id IN (SELECT id FROM products ORDER BY price DESC, id LIMIT 6)

-- late
SELECT EXISTS (SELECT 1 FROM visits v WHERE v.customer_id = c.id AND v.ts > o.ts) AS late, o.total, c.age FROM orders o JOIN customers c ON c.id = o.customer_id

-- late
SELECT NOT o.late AS late, COUNT(*) AS n, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS part FROM orders o GROUP BY o.late, o.status

-- late
SELECT o.late, o.total, p.category IS NOT DISTINCT FROM 'toy' AS toy FROM orders o JOIN items i ON o.id = i.order_id LEFT JOIN products p ON p.id = i.product_id

-- late
SELECT o.late, date_part('hour', o.ts) AS h, date_trunc('day', o.ts) AS d, CURRENT_DATE - CAST(o.ts AS DATE) AS ago FROM orders o

-- late
SELECT o.late, o.total, w.total AS w FROM orders o LEFT JOIN orders w ON w.customer_id = o.customer_id AND w.id <> o.id

-- late
SELECT o.late, s.total FROM orders o JOIN (SELECT customer_id, total FROM orders ORDER BY ts DESC, id LIMIT 30) s ON s.customer_id = o.customer_id AND s.total <= o.total

-- late
SELECT o.late, x.v FROM orders o JOIN (SELECT customer_id, minutes AS v FROM visits EXCEPT SELECT id, age FROM customers) x ON x.customer_id = o.customer_id JOIN items i ON i.order_id = o.id

-- late
WITH RECURSIVE days AS (SELECT DATE '2024-01-01' AS d UNION ALL SELECT CAST(d + INTERVAL '1 day' AS DATE) FROM days WHERE d < DATE '2024-01-20') SELECT bool_or(o.late) AS late, days.d, COUNT(o.id) AS n FROM days LEFT JOIN orders o ON CAST(o.ts AS DATE) = days.d GROUP BY days.d

-- late
SELECT late, total FROM orders o WHERE total > 1 AND (SELECT COUNT(*) FROM items i WHERE i.order_id = o.id) BETWEEN 1 AND 3

-- late
SELECT o.late, o.total, c.city FROM orders o LEFT JOIN customers c ON c.id = o.customer_id AND c.id IN (SELECT customer_id FROM visits WHERE minutes > 5)

-- late
SELECT o.late, o.total, c.city FROM orders o LEFT JOIN customers c ON c.id = (SELECT MIN(id) FROM customers d WHERE d.city = o.status OR d.id = o.customer_id)

-- late
SELECT a.late, b.total FROM orders a JOIN orders b ON ABS(a.id - b.id) <= 1

-- late
SELECT a.late, b.total FROM orders a JOIN orders b ON a.status <> b.status AND a.customer_id = b.customer_id AND a.ts <= b.ts

-- late
SELECT o.late, COUNT(*) AS n FROM orders o JOIN visits v ON v.customer_id = o.customer_id JOIN items i ON i.order_id = o.id WHERE v.ts > '2023-12-25' AND o.total > (SELECT AVG(total) FROM orders) GROUP BY o.id, o.late

-- late
SELECT DISTINCT late, total, COUNT(*) OVER (PARTITION BY status) AS n FROM orders

-- late
SELECT late, AVG(DISTINCT total) AS a, SUM(DISTINCT total) AS s, COUNT(*) AS n FROM orders GROUP BY late, customer_id

-- late duckdb
SELECT o.late, o.total, s.c.a AS v FROM orders o JOIN (SELECT id, {'a': total} AS c FROM orders) s ON s.id = o.id

-- late
SELECT * FROM orders o JOIN customers c ON c.id = o.customer_id ORDER BY o.ts, o.id LIMIT 50

-- late
SELECT DISTINCT o.*, c.* FROM orders o JOIN customers c ON c.id = o.customer_id

-- late
SELECT o.late, o.total, o.total FROM orders o ORDER BY o.id LIMIT 50
