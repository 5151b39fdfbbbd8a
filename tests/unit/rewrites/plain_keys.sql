SELECT o.late, d.born FROM orders o, customers c JOIN customers d ON d.code = c.code
-- becomes
SELECT
  "d"."born" AS born,
  "o"."late" AS late
FROM orders AS "o"
CROSS JOIN customers AS "c"
JOIN customers AS "d"
  ON LOWER(CAST("d"."code" AS TEXT) COLLATE "default") = LOWER(CAST("c"."code" AS TEXT) COLLATE "default")
