-- scores of m (bound, theta)
CREATE TEMPORARY TABLE sqlsvm_s0 AS
SELECT
  s.x1 AS x1,
  s.p AS p,
  s.y AS y,
  CAST(1.0 AS DOUBLE PRECISION) AS w,
  p - y * CAST($1 AS DOUBLE PRECISION) AS s,
  CASE WHEN y < 0 THEN 1 ELSE 0 END AS o
FROM (
  SELECT
    r.x1 AS x1,
    (CAST($2 AS DOUBLE PRECISION[]))[1] * CAST(1.0 AS DOUBLE PRECISION) + (
      (CAST($2 AS DOUBLE PRECISION[]))[2] * r.x1
   ) AS p,
    r.y AS y
  FROM (
    SELECT
      CAST("m"."x" AS DOUBLE PRECISION) AS x1,
      CASE WHEN "m"."y" = 1 THEN 1 WHEN NOT "m"."y" IS NULL THEN -1 END AS y
    FROM "public".m AS "m"
 ) AS r
) AS s;

-- scores of r (theta)
CREATE TEMPORARY TABLE sqlsvm_s1 AS
SELECT s.x2 AS x2, s.p AS p, CAST(1.0 AS DOUBLE PRECISION) AS w, p AS s
FROM (
  SELECT r.x2 AS x2, (CAST($1 AS DOUBLE PRECISION[]))[3] * r.x2 AS p
  FROM (SELECT CAST("r"."x" AS DOUBLE PRECISION) AS x2 FROM "public".r AS "r") AS r
) AS s;

-- states of m
CREATE TEMPORARY TABLE sqlsvm_q0_0 AS
SELECT s AS s, o AS o, SUM(w) AS c
FROM sqlsvm_s0
GROUP BY s, o;

-- states of r
CREATE TEMPORARY TABLE sqlsvm_q1_0 AS
SELECT s AS s, SUM(w) AS c
FROM sqlsvm_s1
GROUP BY s;

-- the two sides meet
CREATE TEMPORARY TABLE sqlsvm_centre AS
SELECT
  s AS s,
  o AS o,
  side AS side,
  CASE
    WHEN side = 0
    THEN SUM(cr) OVER (ORDER BY at, rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    ELSE SUM(cl) OVER (ORDER BY at DESC, rank DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
  END AS v
FROM (
  SELECT s AS s, o AS o, -s AS at, 2 * o AS rank, c AS cl, CAST(0.0 AS DOUBLE PRECISION) AS cr, 0 AS side
  FROM sqlsvm_q0_0
  UNION ALL
  SELECT s AS s, 0 AS o, s AS at, 1 AS rank, CAST(0.0 AS DOUBLE PRECISION) AS cl, c AS cr, 1 AS side
  FROM sqlsvm_q1_0
) AS e;

-- values of m
CREATE TEMPORARY TABLE sqlsvm_v0_0 AS
SELECT s AS s, o AS o, v AS v
FROM sqlsvm_centre
WHERE side = 0 AND v > 0;

-- values of r
CREATE TEMPORARY TABLE sqlsvm_v1_0 AS
SELECT s AS s, v AS v
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
  JOIN sqlsvm_v0_0 AS a ON r.s = a.s AND r.o = a.o
) AS r;

-- sums 1
SELECT COALESCE(SUM(r.c * r.x2), CAST(0.0 AS DOUBLE PRECISION)) AS x2
FROM (SELECT r.x2 AS x2, r.w * a.v AS c FROM sqlsvm_s1 AS r JOIN sqlsvm_v1_0 AS a ON r.s = a.s) AS r;
