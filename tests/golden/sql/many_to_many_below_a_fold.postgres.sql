-- scores of o (bound, theta)
CREATE TEMPORARY TABLE sqlsvm_s0 AS
SELECT
  s.x1 AS x1,
  s.p AS p,
  s.y AS y,
  sqlsvm_g0.g AS g0,
  CAST(1.0 AS DOUBLE PRECISION) AS w,
  p - y * CAST($1 AS DOUBLE PRECISION) AS s,
  CASE WHEN y < 0 THEN 1 ELSE 0 END AS o
FROM (
  SELECT
    r.k0 AS k0,
    r.x1 AS x1,
    (CAST($2 AS DOUBLE PRECISION[]))[1] * CAST(1.0 AS DOUBLE PRECISION) + (
      (CAST($2 AS DOUBLE PRECISION[]))[2] * r.x1
   ) AS p,
    r.y AS y
  FROM (
    SELECT
      "o"."c" AS k0,
      CAST("o"."x" AS DOUBLE PRECISION) AS x1,
      CASE WHEN "o"."y" = 1 THEN 1 WHEN NOT "o"."y" IS NULL THEN -1 END AS y
    FROM "public".orders AS "o"
 ) AS r
) AS s
JOIN sqlsvm_g0 ON s.k0 = sqlsvm_g0.k;

-- scores of t (theta)
CREATE TEMPORARY TABLE sqlsvm_s1 AS
SELECT s.k1 AS k1, s.x3 AS x3, s.p AS p, sqlsvm_g0.g AS g0, CAST(1.0 AS DOUBLE PRECISION) AS w, p AS s
FROM (
  SELECT f1.k0 AS k0, r.k1 AS k1, r.x3 AS x3, (CAST($1 AS DOUBLE PRECISION[]))[4] * r.x3 + f1.p AS p
  FROM (SELECT "t"."g" AS k1, CAST("t"."t" AS DOUBLE PRECISION) AS x3 FROM "public".tags AS "t") AS r
  JOIN (
    SELECT r.k0 AS k0, r.k1 AS k1, (CAST($1 AS DOUBLE PRECISION[]))[3] * r.x2 AS p
    FROM (
      SELECT "c"."c" AS k0, "c"."g" AS k1, CAST("c"."age" AS DOUBLE PRECISION) AS x2
      FROM "public".customers AS "c"
   ) AS r
 ) AS f1 ON r.k1 = f1.k1
) AS s
JOIN sqlsvm_g0 ON s.k0 = sqlsvm_g0.k;

-- states of o
CREATE TEMPORARY TABLE sqlsvm_q0_0 AS
SELECT g0 AS g0, s AS s, o AS o, SUM(w) AS c
FROM sqlsvm_s0
GROUP BY g0, s, o;

-- states of t
CREATE TEMPORARY TABLE sqlsvm_q1_0 AS
SELECT g0 AS g0, s AS s, SUM(w) AS c
FROM sqlsvm_s1
GROUP BY g0, s;

-- the two sides meet
CREATE TEMPORARY TABLE sqlsvm_centre AS
SELECT
  g0 AS g0,
  s AS s,
  o AS o,
  side AS side,
  CASE
    WHEN side = 0
    THEN SUM(cr) OVER (PARTITION BY g0 ORDER BY at, rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    ELSE SUM(cl) OVER (PARTITION BY g0 ORDER BY at DESC, rank DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
  END AS v
FROM (
  SELECT g0 AS g0, s AS s, o AS o, -s AS at, 2 * o AS rank, c AS cl, CAST(0.0 AS DOUBLE PRECISION) AS cr, 0 AS side
  FROM sqlsvm_q0_0
  UNION ALL
  SELECT g0 AS g0, s AS s, 0 AS o, s AS at, 1 AS rank, CAST(0.0 AS DOUBLE PRECISION) AS cl, c AS cr, 1 AS side
  FROM sqlsvm_q1_0
) AS e;

-- values of o
CREATE TEMPORARY TABLE sqlsvm_v0_0 AS
SELECT g0 AS g0, s AS s, o AS o, v AS v
FROM sqlsvm_centre
WHERE side = 0 AND v > 0;

-- values of t
CREATE TEMPORARY TABLE sqlsvm_v1_0 AS
SELECT g0 AS g0, s AS s, v AS v
FROM sqlsvm_centre
WHERE side = 1 AND v > 0;

-- sums 0
SELECT
  COALESCE(SUM(r.y * r.c), CAST(0.0 AS DOUBLE PRECISION)) AS b,
  COALESCE(SUM(r.c * CAST(1.0 AS DOUBLE PRECISION)), CAST(0.0 AS DOUBLE PRECISION)) AS x0,
  COALESCE(SUM(r.c * r.x1), CAST(0.0 AS DOUBLE PRECISION)) AS x1
FROM (
  SELECT r.x1 AS x1, r.y AS y, r.w * a.v AS c
  FROM sqlsvm_s0 AS r
  JOIN sqlsvm_v0_0 AS a ON r.g0 = a.g0 AND r.s = a.s AND r.o = a.o
) AS r;

-- counts of t
CREATE TEMPORARY TABLE sqlsvm_a1 AS
SELECT r.k1 AS k1, r.x3 AS x3, r.w * a.v AS c
FROM sqlsvm_s1 AS r
JOIN sqlsvm_v1_0 AS a ON r.g0 = a.g0 AND r.s = a.s;

-- sums 2
SELECT COALESCE(SUM(r.c * r.x3), CAST(0.0 AS DOUBLE PRECISION)) AS x3
FROM sqlsvm_a1 AS r;

-- sums 1
SELECT COALESCE(SUM(r.c * r.x2), CAST(0.0 AS DOUBLE PRECISION)) AS x2
FROM (
  SELECT q.*, t.c
  FROM (SELECT r.k1 AS k1, SUM(r.c) AS c FROM sqlsvm_a1 AS r GROUP BY r.k1) AS t
  JOIN (
    SELECT "c"."c" AS k0, "c"."g" AS k1, CAST("c"."age" AS DOUBLE PRECISION) AS x2
    FROM "public".customers AS "c"
 ) AS q ON q.k1 = t.k1
) AS r;
