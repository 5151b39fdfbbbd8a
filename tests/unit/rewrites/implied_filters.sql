SELECT o.late, c.born FROM orders o JOIN customers c ON c.id = o.c AND c.id = o.id
-- becomes
SELECT
  "c"."born" AS born,
  "o"."late" AS late
FROM orders AS "o"
JOIN customers AS "c"
  ON "c"."id" = "o"."c" AND "c"."id" = "o"."id"
WHERE
  "o"."c" = "o"."id"
