SELECT coalesce(c.born, 0) AS late, o.paid FROM orders o LEFT JOIN customers c ON c.id = o.c
-- becomes
SELECT
  "o"."paid" AS paid,
  COALESCE("c"."born", 0) AS late
FROM orders AS "o"
LEFT JOIN customers AS "c"
  ON "o"."c" = "c"."id"
-- tells of o
