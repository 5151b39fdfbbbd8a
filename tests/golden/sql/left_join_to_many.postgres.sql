-- active rows (bound, theta)
CREATE TEMPORARY TABLE sqlsvm_a0 AS
SELECT k0 AS k0, x2 AS x2, CAST(y AS DOUBLE PRECISION) AS c
FROM (
  SELECT r.k0 AS k0, r.x2 AS x2, (CAST($2 AS DOUBLE PRECISION[]))[3] * r.x2 + f0.p AS p, f0.y AS y
  FROM (
    SELECT "v"."sqlsvm_found0" AS k0, CAST(COALESCE("v"."z", 4) AS DOUBLE PRECISION) AS x2
    FROM sqlsvm_match0 AS "v"
 ) AS r
  JOIN (
    SELECT
      r.k0 AS k0,
      (CAST($2 AS DOUBLE PRECISION[]))[1] * CAST(1.0 AS DOUBLE PRECISION) + (
        (CAST($2 AS DOUBLE PRECISION[]))[2] * r.x1
     ) AS p,
      r.y AS y
    FROM (
      SELECT
        "c"."sqlsvm_found0" AS k0,
        CAST("c"."x" AS DOUBLE PRECISION) AS x1,
        CASE WHEN "c"."y" = 1 THEN 1 WHEN NOT "c"."y" IS NULL THEN -1 END AS y
      FROM (
        SELECT "c".*, COALESCE(sqlsvm_looking0."sqlsvm_found0", 0) AS "sqlsvm_found0"
        FROM "public".clients AS "c"
        LEFT JOIN sqlsvm_looking0 ON "c"."k" = sqlsvm_looking0."sqlsvm_key0"
     ) AS "c"
   ) AS r
 ) AS f0 ON r.k0 = f0.k0
) AS s
WHERE y * p < CAST($1 AS DOUBLE PRECISION);

-- sums 1
SELECT
  COALESCE(SUM(ABS(r.c)), CAST(0.0 AS DOUBLE PRECISION)) AS b,
  COALESCE(SUM(r.c * r.x2), CAST(0.0 AS DOUBLE PRECISION)) AS x2
FROM sqlsvm_a0 AS r;

-- sums 0
SELECT
  COALESCE(SUM(r.c * CAST(1.0 AS DOUBLE PRECISION)), CAST(0.0 AS DOUBLE PRECISION)) AS x0,
  COALESCE(SUM(r.c * r.x1), CAST(0.0 AS DOUBLE PRECISION)) AS x1
FROM (
  SELECT q.*, t.c
  FROM (SELECT r.k0 AS k0, SUM(r.c) AS c FROM sqlsvm_a0 AS r GROUP BY r.k0) AS t
  JOIN (
    SELECT
      "c"."sqlsvm_found0" AS k0,
      CAST("c"."x" AS DOUBLE PRECISION) AS x1,
      CASE WHEN "c"."y" = 1 THEN 1 WHEN NOT "c"."y" IS NULL THEN -1 END AS y
    FROM (
      SELECT "c".*, COALESCE(sqlsvm_looking0."sqlsvm_found0", 0) AS "sqlsvm_found0"
      FROM "public".clients AS "c"
      LEFT JOIN sqlsvm_looking0 ON "c"."k" = sqlsvm_looking0."sqlsvm_key0"
   ) AS "c"
 ) AS q ON q.k0 = t.k0
) AS r;
