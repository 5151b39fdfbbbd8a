CREATE TABLE plans (code UUID, since DATE, rate DOUBLE PRECISION, name TEXT);
CREATE TABLE calls (plan UUID, day DATE, churned INT, minutes INT);
INSERT INTO plans VALUES ('00000000-0000-0000-0000-000000000001', '2020-01-01', 0.5, 'old'),
  ('00000000-0000-0000-0000-000000000002', '2021-01-01', 0.25, 'new');
INSERT INTO calls VALUES ('00000000-0000-0000-0000-000000000001', '2020-01-01', 1, 10), (NULL, '2020-01-01', 0, 4),
  ('00000000-0000-0000-0000-000000000003', '2020-01-01', 0, 1), ('00000000-0000-0000-0000-000000000002', '2021-01-01', 1, 7)
-- query
SELECT c.churned, c.minutes, COALESCE(p.rate, 1) AS rate, COALESCE(p.name, 'none') AS plan
FROM calls c LEFT JOIN plans p ON p.code = c.plan AND p.since = c.day AND p.rate < 1
WHERE p.name IS NULL OR p.name <> 'new'
