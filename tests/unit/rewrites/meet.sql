SELECT o.late, o.day - c.born AS age, o.paid / c.born AS rate, o.paid + v.minutes AS both
FROM orders o JOIN customers c ON c.id = o.c JOIN visits v ON v.c = o.c
WHERE o.day > c.born
-- becomes
SELECT
  "o"."day" AS age,
  -CAST("c"."born" AS DOUBLE PRECISION) AS age,
  "o"."paid" / "o"."sqlsvm_met0" AS rate,
  "o"."paid" AS both,
  "v"."minutes" AS both,
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
JOIN visits AS "v"
  ON "v"."c" = "o"."c"
WHERE
  "o"."day" > "o"."sqlsvm_met0"
