SELECT o.late, o.paid, c.code FROM orders o JOIN customers c ON c.id = o.c
-- becomes
SELECT
  "o"."paid" AS paid,
  LOWER(CAST("c"."code" AS TEXT) COLLATE "default") AS code,
  "o"."late" AS late
FROM orders AS "o"
JOIN customers AS "c"
  ON "c"."id" = "o"."c"
