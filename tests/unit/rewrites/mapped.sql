SELECT o.late, o.paid, c.born FROM orders o JOIN customers c ON c.id = o.c
-- becomes
SELECT
  "o"."paid" AS paid,
  CASE WHEN NOT "c"."born" IS NULL THEN CAST("c"."born" AS DOUBLE PRECISION) / 2 END AS half,
  "o"."late" AS late
FROM orders AS "o"
JOIN customers AS "c"
  ON "c"."id" = "o"."c"
