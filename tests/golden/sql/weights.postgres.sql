-- sums 0 (bound, theta)
SELECT
  COALESCE(SUM(ABS(r.c)), CAST(0.0 AS DOUBLE PRECISION)) AS b,
  COALESCE(SUM(r.c * CAST(1.0 AS DOUBLE PRECISION)), CAST(0.0 AS DOUBLE PRECISION)) AS x0,
  COALESCE(SUM(r.c * r.x1), CAST(0.0 AS DOUBLE PRECISION)) AS x1
FROM (
  SELECT x1 AS x1, CAST(y AS DOUBLE PRECISION) * CAST(w AS DOUBLE PRECISION) AS c
  FROM (
    SELECT
      r.x1 AS x1,
      (CAST($2 AS DOUBLE PRECISION[]))[1] * CAST(1.0 AS DOUBLE PRECISION) + (
        (CAST($2 AS DOUBLE PRECISION[]))[2] * r.x1
     ) AS p,
      r.y AS y,
      r.w AS w
    FROM (
      SELECT x1 AS x1, y AS y, w0 AS w
      FROM (
        SELECT
          CAST("facts"."x" AS DOUBLE PRECISION) AS x1,
          CASE WHEN "facts"."y" = 1 THEN 1 WHEN NOT "facts"."y" IS NULL THEN -1 END AS y,
          CAST("facts"."times" AS DOUBLE PRECISION) * CASE
            WHEN (CASE WHEN "facts"."y" = 1 THEN 1 WHEN NOT "facts"."y" IS NULL THEN -1 END) > 0
            THEN CAST(3.0 AS DOUBLE PRECISION)
            ELSE CAST(1.0 AS DOUBLE PRECISION)
          END AS w0
        FROM "public".facts AS "facts"
     ) AS q
   ) AS r
 ) AS s
  WHERE y * p < CAST($1 AS DOUBLE PRECISION)
) AS r;
