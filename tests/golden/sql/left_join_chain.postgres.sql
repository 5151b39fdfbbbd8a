-- active rows (bound, theta)
CREATE TEMPORARY TABLE sqlsvm_a0 AS
SELECT k0 AS k0, CAST(y AS DOUBLE PRECISION) AS c
FROM (
  SELECT r.k0 AS k0, (CAST($2 AS DOUBLE PRECISION[]))[1] * CAST(1.0 AS DOUBLE PRECISION) + f1.p AS p, r.y AS y
  FROM (
    SELECT "f"."sqlsvm_found0" AS k0, CASE WHEN "f"."y" = 1 THEN 1 WHEN NOT "f"."y" IS NULL THEN -1 END AS y
    FROM (
      SELECT "f".*, COALESCE(sqlsvm_match0."sqlsvm_found0", 0) AS "sqlsvm_found0"
      FROM "public".facts AS "f"
      LEFT JOIN sqlsvm_match0 ON "f"."d" = sqlsvm_match0."sqlsvm_key0"
   ) AS "f"
 ) AS r
  JOIN (
    SELECT r.k0 AS k0, (CAST($2 AS DOUBLE PRECISION[]))[2] * r.x1 + f2.p AS p
    FROM (
      SELECT
        "d"."sqlsvm_found0" AS k0,
        "d"."sqlsvm_found1" AS k1,
        CAST(COALESCE("d"."z", 4) AS DOUBLE PRECISION) AS x1
      FROM sqlsvm_match0 AS "d"
   ) AS r
    JOIN (
      SELECT r.k1 AS k1, (CAST($2 AS DOUBLE PRECISION[]))[3] * r.x2 AS p
      FROM (
        SELECT "r"."sqlsvm_found1" AS k1, CAST(COALESCE("r"."u", 2) AS DOUBLE PRECISION) AS x2
        FROM sqlsvm_match1 AS "r"
     ) AS r
   ) AS f2 ON r.k1 = f2.k1
 ) AS f1 ON r.k0 = f1.k0
) AS s
WHERE y * p < CAST($1 AS DOUBLE PRECISION);

-- sums 0
SELECT
  COALESCE(SUM(ABS(r.c)), CAST(0.0 AS DOUBLE PRECISION)) AS b,
  COALESCE(SUM(r.c * CAST(1.0 AS DOUBLE PRECISION)), CAST(0.0 AS DOUBLE PRECISION)) AS x0
FROM sqlsvm_a0 AS r;

-- counts back to d
CREATE TEMPORARY TABLE sqlsvm_c1 AS
SELECT r.k0 AS k0, SUM(r.c) AS c
FROM sqlsvm_a0 AS r
GROUP BY r.k0;

-- sums 1
SELECT COALESCE(SUM(r.c * r.x1), CAST(0.0 AS DOUBLE PRECISION)) AS x1
FROM (
  SELECT q.*, t.c
  FROM sqlsvm_c1 AS t
  JOIN (
    SELECT "d"."sqlsvm_found0" AS k0, "d"."sqlsvm_found1" AS k1, CAST(COALESCE("d"."z", 4) AS DOUBLE PRECISION) AS x1
    FROM sqlsvm_match0 AS "d"
 ) AS q ON q.k0 = t.k0
) AS r;

-- sums 2
SELECT COALESCE(SUM(r.c * r.x2), CAST(0.0 AS DOUBLE PRECISION)) AS x2
FROM (
  SELECT q.*, t.c
  FROM (
    SELECT r.k1 AS k1, SUM(r.c) AS c
    FROM (
      SELECT q.*, t.c
      FROM sqlsvm_c1 AS t
      JOIN (
        SELECT
          "d"."sqlsvm_found0" AS k0,
          "d"."sqlsvm_found1" AS k1,
          CAST(COALESCE("d"."z", 4) AS DOUBLE PRECISION) AS x1
        FROM sqlsvm_match0 AS "d"
     ) AS q ON q.k0 = t.k0
   ) AS r
    GROUP BY r.k1
 ) AS t
  JOIN (
    SELECT "r"."sqlsvm_found1" AS k1, CAST(COALESCE("r"."u", 2) AS DOUBLE PRECISION) AS x2
    FROM sqlsvm_match1 AS "r"
 ) AS q ON q.k1 = t.k1
) AS r;
