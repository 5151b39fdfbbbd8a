SELECT o.late, c.born FROM orders o JOIN customers c ON c.id = o.c
-- becomes
SELECT
  "c"."born" AS born,
  "o"."late" AS late
FROM orders AS "o"
JOIN customers AS "c"
  ON "c"."id" = "o"."c"
WHERE
  NOT (
    MD5(
      '0' || '|' || COALESCE(
        CASE
          WHEN ABS(CAST("o"."c" AS DOUBLE PRECISION)) < CAST(1e+16 AS DOUBLE PRECISION)
          AND CAST("o"."c" AS DOUBLE PRECISION) = FLOOR(CAST("o"."c" AS DOUBLE PRECISION))
          THEN CAST(CAST(CAST("o"."c" AS DOUBLE PRECISION) AS BIGINT) AS TEXT)
          ELSE CAST(CAST("o"."c" AS DOUBLE PRECISION) AS TEXT)
        END,
        ''
      ) || '|' || COALESCE(
        CASE
          WHEN ABS(CAST("o"."late" AS DOUBLE PRECISION)) < CAST(1e+16 AS DOUBLE PRECISION)
          AND CAST("o"."late" AS DOUBLE PRECISION) = FLOOR(CAST("o"."late" AS DOUBLE PRECISION))
          THEN CAST(CAST(CAST("o"."late" AS DOUBLE PRECISION) AS BIGINT) AS TEXT)
          ELSE CAST(CAST("o"."late" AS DOUBLE PRECISION) AS TEXT)
        END,
        ''
      )
    ) COLLATE "C" < '4000000000000'
  )
