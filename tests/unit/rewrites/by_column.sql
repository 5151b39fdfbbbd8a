SELECT o.late, o.paid, c.born FROM orders o JOIN customers c ON c.id = o.c
-- becomes
SELECT
  "c"."born" AS born,
  "o"."paid" AS paid,
  "o"."late" AS late
FROM orders AS "o"
JOIN customers AS "c"
  ON "c"."id" = "o"."c"
