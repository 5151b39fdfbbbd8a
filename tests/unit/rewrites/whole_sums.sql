SELECT o.late, o.day - c.born AS age, o.paid - c.born AS rest FROM orders o JOIN customers c ON c.id = o.c
-- becomes
SELECT
  "o"."day" - "o"."sqlsvm_met0" AS age,
  "o"."paid" AS rest,
  -CAST("c"."born" AS DOUBLE PRECISION) AS rest,
  "o"."late" AS late
FROM (
  SELECT
    "o".*,
    "c"."born" AS "sqlsvm_met0"
  FROM orders AS "o"
  LEFT JOIN customers AS "c"
    ON "o"."c" = "c"."id"
) AS "o"
JOIN customers AS "c"
  ON "c"."id" = "o"."c"
