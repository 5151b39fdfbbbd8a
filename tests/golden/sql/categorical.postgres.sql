-- active rows (bound, theta)
CREATE TEMPORARY TABLE sqlsvm_a0 AS
SELECT k0 AS k0, x1 AS x1, CAST(y AS DOUBLE PRECISION) AS c
FROM (
  SELECT
    r.k0 AS k0,
    r.x1 AS x1,
    (CAST($2 AS DOUBLE PRECISION[]))[1] * CAST(1.0 AS DOUBLE PRECISION) + (
      (CAST($2 AS DOUBLE PRECISION[]))[2] * r.x1
   ) + f1.p AS p,
    r.y AS y
  FROM (
    SELECT
      "f"."d" AS k0,
      CAST("f"."x" AS DOUBLE PRECISION) AS x1,
      CASE WHEN "f"."y" = 1 THEN 1 WHEN NOT "f"."y" IS NULL THEN -1 END AS y
    FROM "public".facts AS "f"
 ) AS r
  JOIN (
    SELECT
      r.k0 AS k0,
      CASE r.v0
        WHEN 'it''s "blue"'
        THEN (CAST($2 AS DOUBLE PRECISION[]))[3]
        WHEN 'red'
        THEN (CAST($2 AS DOUBLE PRECISION[]))[4]
        ELSE CAST(0.0 AS DOUBLE PRECISION)
      END AS p
    FROM (SELECT "d"."d" AS k0, "d"."colour" AS v0 FROM "public".dims AS "d") AS r
 ) AS f1 ON r.k0 = f1.k0
) AS s
WHERE y * p < CAST($1 AS DOUBLE PRECISION);

-- sums 0
SELECT
  COALESCE(SUM(ABS(r.c)), CAST(0.0 AS DOUBLE PRECISION)) AS b,
  COALESCE(SUM(r.c * CAST(1.0 AS DOUBLE PRECISION)), CAST(0.0 AS DOUBLE PRECISION)) AS x0,
  COALESCE(SUM(r.c * r.x1), CAST(0.0 AS DOUBLE PRECISION)) AS x1
FROM sqlsvm_a0 AS r;

-- sums 1
SELECT g.c AS c, CASE g.v0 WHEN 'it''s "blue"' THEN 3 WHEN 'red' THEN 4 END AS n0
FROM (
  SELECT r.v0 AS v0, SUM(r.c) AS c
  FROM (
    SELECT q.*, t.c
    FROM (SELECT r.k0 AS k0, SUM(r.c) AS c FROM sqlsvm_a0 AS r GROUP BY r.k0) AS t
    JOIN (SELECT "d"."d" AS k0, "d"."colour" AS v0 FROM "public".dims AS "d") AS q
      ON q.k0 = t.k0
 ) AS r
  GROUP BY r.v0
) AS g;
