SELECT o.late, c.born FROM orders o LEFT JOIN customers c ON c.id = o.c
-- becomes
SELECT
  "c"."born" AS born,
  "o"."late" AS late
FROM orders AS "o"
LEFT JOIN customers AS "c"
  ON "o"."c" = "c"."id"
WHERE
  NOT "o"."late" IS NULL AND NOT "c"."born" IS NULL
