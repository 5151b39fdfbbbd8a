-- sums 0 (bound, theta)
SELECT
  COALESCE(SUM(ABS(r.c)), CAST(0.0 AS DOUBLE PRECISION)) AS b,
  COALESCE(SUM(r.c * CAST(1.0 AS DOUBLE PRECISION)), CAST(0.0 AS DOUBLE PRECISION)) AS x0,
  COALESCE(SUM(r.c * r.x1), CAST(0.0 AS DOUBLE PRECISION)) AS x1,
  COALESCE(SUM(r.c * r.x2), CAST(0.0 AS DOUBLE PRECISION)) AS x2
FROM (
  SELECT x1 AS x1, x2 AS x2, CAST(y AS DOUBLE PRECISION) AS c
  FROM (
    SELECT
      r.x1 AS x1,
      r.x2 AS x2,
      (CAST($2 AS DOUBLE PRECISION[]))[1] * CAST(1.0 AS DOUBLE PRECISION) + (
        (CAST($2 AS DOUBLE PRECISION[]))[2] * r.x1
     ) + ((CAST($2 AS DOUBLE PRECISION[]))[3] * r.x2) AS p,
      r.y AS y
    FROM (
      SELECT
        CASE
          WHEN "facts"."x" > 0.25
          THEN CAST(1.0 AS DOUBLE PRECISION)
          WHEN NOT "facts"."x" > 0.25
          THEN CAST(0.0 AS DOUBLE PRECISION)
        END AS x1,
        CASE
          WHEN "facts"."d" = 1
          THEN CAST(1.0 AS DOUBLE PRECISION)
          WHEN NOT "facts"."d" = 1
          THEN CAST(0.0 AS DOUBLE PRECISION)
        END AS x2,
        CASE WHEN "facts"."y" = 1 THEN 1 WHEN NOT "facts"."y" IS NULL THEN -1 END AS y
      FROM "public".facts AS "facts"
   ) AS r
 ) AS s
  WHERE y * p < CAST($1 AS DOUBLE PRECISION)
) AS r;
