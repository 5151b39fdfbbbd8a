SELECT o.late, o.paid FROM orders o JOIN customers c ON c.id = o.c
-- becomes
SELECT
  "o"."paid" AS paid,
  "c"."born" AS "fair:c.born",
  "o"."late" AS late
FROM orders AS "o"
JOIN customers AS "c"
  ON "c"."id" = "o"."c"
