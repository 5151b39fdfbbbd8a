CREATE TABLE shops (id SMALLINT PRIMARY KEY, country TEXT, area DOUBLE PRECISION);
CREATE TABLE sales (shop BIGINT, big BOOLEAN, amount NUMERIC(8, 2));
INSERT INTO shops VALUES (1, 'AT', 10), (2, 'CH', 20), (3, 'CH', 30), (4, 'DE', 40);
INSERT INTO sales VALUES (1, TRUE, 5.25), (1, FALSE, 0.5), (2, TRUE, 1), (4, FALSE, 2.5), (NULL, TRUE, 3)
-- query
SELECT s.big, s.amount, h.area FROM sales s JOIN shops h ON h.id = s.shop WHERE h.country = 'AT'
