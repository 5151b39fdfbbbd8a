-- scores of l (buckets, theta)
CREATE TEMPORARY TABLE sqlsvm_s0 AS
SELECT
  s.x2 AS x2,
  sqlsvm_g0.g AS g0,
  CAST(1.0 AS DOUBLE PRECISION) AS w,
  CAST(GREATEST(
    LEAST(ROUND(p * CAST($1 AS DOUBLE PRECISION)), CAST(524287.0 AS DOUBLE PRECISION)),
    CAST(-524287.0 AS DOUBLE PRECISION)
 ) AS BIGINT) AS s,
  p * CAST($1 AS DOUBLE PRECISION) - GREATEST(
    LEAST(ROUND(p * CAST($1 AS DOUBLE PRECISION)), CAST(524287.0 AS DOUBLE PRECISION)),
    CAST(-524287.0 AS DOUBLE PRECISION)
 ) AS e
FROM (
  SELECT r.k0 AS k0, r.x2 AS x2, (CAST($2 AS DOUBLE PRECISION[]))[3] * r.x2 AS p
  FROM (SELECT "l"."i" AS k0, CAST("l"."x" AS DOUBLE PRECISION) AS x2 FROM "public".l AS "l") AS r
) AS s
JOIN sqlsvm_g0 ON s.k0 = sqlsvm_g0.k;

-- scores of m (buckets, bound, theta)
CREATE TEMPORARY TABLE sqlsvm_s1 AS
SELECT
  s.x1 AS x1,
  s.y AS y,
  sqlsvm_g0.g AS g0,
  sqlsvm_g1.g AS g1,
  CAST(1.0 AS DOUBLE PRECISION) AS w,
  CAST(GREATEST(
    LEAST(FLOOR(p * CAST($1 AS DOUBLE PRECISION)), CAST(524286.0 AS DOUBLE PRECISION)),
    CAST(-524287.0 AS DOUBLE PRECISION)
 ) AS BIGINT) - y * CAST(CEIL(CAST($2 AS DOUBLE PRECISION) * CAST($1 AS DOUBLE PRECISION)) AS BIGINT) AS s,
  p * CAST($1 AS DOUBLE PRECISION) - (
    GREATEST(
      LEAST(FLOOR(p * CAST($1 AS DOUBLE PRECISION)), CAST(524286.0 AS DOUBLE PRECISION)),
      CAST(-524287.0 AS DOUBLE PRECISION)
   ) + CAST(0.5 AS DOUBLE PRECISION)
 ) AS e
FROM (
  SELECT
    r.k0 AS k0,
    r.k1 AS k1,
    r.x1 AS x1,
    (CAST($3 AS DOUBLE PRECISION[]))[1] * CAST(1.0 AS DOUBLE PRECISION) + (
      (CAST($3 AS DOUBLE PRECISION[]))[2] * r.x1
   ) AS p,
    r.y AS y
  FROM (
    SELECT
      "m"."i" AS k0,
      "m"."j" AS k1,
      CAST("m"."x" AS DOUBLE PRECISION) AS x1,
      CASE WHEN "m"."y" = 1 THEN 1 WHEN NOT "m"."y" IS NULL THEN -1 END AS y
    FROM "public".m AS "m"
 ) AS r
) AS s
JOIN sqlsvm_g0 ON s.k0 = sqlsvm_g0.k
JOIN sqlsvm_g1 ON s.k1 = sqlsvm_g1.k;

-- scores of r (buckets, theta)
CREATE TEMPORARY TABLE sqlsvm_s2 AS
SELECT
  s.x3 AS x3,
  sqlsvm_g1.g AS g1,
  CAST(1.0 AS DOUBLE PRECISION) AS w,
  CAST(GREATEST(
    LEAST(ROUND(p * CAST($1 AS DOUBLE PRECISION)), CAST(524287.0 AS DOUBLE PRECISION)),
    CAST(-524287.0 AS DOUBLE PRECISION)
 ) AS BIGINT) AS s,
  p * CAST($1 AS DOUBLE PRECISION) - GREATEST(
    LEAST(ROUND(p * CAST($1 AS DOUBLE PRECISION)), CAST(524287.0 AS DOUBLE PRECISION)),
    CAST(-524287.0 AS DOUBLE PRECISION)
 ) AS e
FROM (
  SELECT r.k1 AS k1, r.x3 AS x3, (CAST($2 AS DOUBLE PRECISION[]))[4] * r.x3 AS p
  FROM (SELECT "r"."j" AS k1, CAST("r"."x" AS DOUBLE PRECISION) AS x3 FROM "public".r AS "r") AS r
) AS s
JOIN sqlsvm_g1 ON s.k1 = sqlsvm_g1.k;

-- span of the grid
SELECT CAST(2 * (SUM(far) + 1) AS BIGINT) AS span
FROM (
  SELECT COALESCE(MAX(ABS(s)), 0) AS far
  FROM sqlsvm_s0
  UNION ALL
  SELECT COALESCE(MAX(ABS(s)), 0) AS far
  FROM sqlsvm_s1
  UNION ALL
  SELECT COALESCE(MAX(ABS(s)), 0) AS far
  FROM sqlsvm_s2
) AS r;

-- states of l
CREATE TEMPORARY TABLE sqlsvm_q0_0 AS
SELECT g0 AS g0, s AS s, SUM(w) AS c, SUM(w * e) AS e, SUM(w * e * e) AS ee
FROM sqlsvm_s0
GROUP BY g0, s
ORDER BY g0, s;

-- states of m
CREATE TEMPORARY TABLE sqlsvm_q1_0 AS
SELECT g0 AS g0, g1 AS g1, s AS s, SUM(w) AS c, SUM(w * e) AS e, SUM(w * e * e) AS ee
FROM sqlsvm_s1
GROUP BY g0, g1, s
ORDER BY g1, g0, s;

-- m meets l (span)
CREATE TEMPORARY TABLE sqlsvm_q1_1 AS
SELECT
  DIV((at + (DIV(CAST($1 AS BIGINT), 2))), CAST($1 AS BIGINT)) AS g1,
  at - ((DIV((at + (DIV(CAST($1 AS BIGINT), 2))), CAST($1 AS BIGINT))) * CAST($1 AS BIGINT)) AS s,
  at AS at,
  c AS c,
  e AS e,
  ee AS ee
FROM (
  SELECT
    q.g1 * CAST($1 AS BIGINT) + (q.s + m.s) AS at,
    SUM(q.c * m.c) AS c,
    SUM(q.c * m.e + (q.e * m.c)) AS e,
    SUM(q.c * m.ee + (CAST(2.0 AS DOUBLE PRECISION) * (q.e * m.e)) + (q.ee * m.c)) AS ee
  FROM sqlsvm_q1_0 AS q
  JOIN sqlsvm_q0_0 AS m ON q.g0 + 0 = m.g0
  GROUP BY q.g1 * CAST($1 AS BIGINT) + (q.s + m.s)
) AS e;

-- states of r
CREATE TEMPORARY TABLE sqlsvm_q2_0 AS
SELECT g1 AS g1, s AS s, SUM(w) AS c, SUM(w * e) AS e, SUM(w * e * e) AS ee
FROM sqlsvm_s2
GROUP BY g1, s;

-- the two sides meet
CREATE TEMPORARY TABLE sqlsvm_centre AS
SELECT
  g1 AS g1,
  s AS s,
  side AS side,
  CASE
    WHEN side = 0
    THEN SUM(cr) OVER (PARTITION BY g1 ORDER BY at, rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    ELSE SUM(cl) OVER (PARTITION BY g1 ORDER BY at DESC, rank DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
  END AS v
FROM (
  SELECT g1 AS g1, s AS s, -s AS at, 0 AS rank, c AS cl, CAST(0.0 AS DOUBLE PRECISION) AS cr, 0 AS side
  FROM sqlsvm_q1_1
  UNION ALL
  SELECT g1 AS g1, s AS s, s AS at, 1 AS rank, CAST(0.0 AS DOUBLE PRECISION) AS cl, c AS cr, 1 AS side
  FROM sqlsvm_q2_0
) AS e;

-- values of m (span)
CREATE TEMPORARY TABLE sqlsvm_v1_1 AS
SELECT g1 AS g1, s AS s, v AS v, g1 * CAST($1 AS BIGINT) + s AS at
FROM sqlsvm_centre
WHERE side = 0 AND v > 0;

-- values of r (span)
CREATE TEMPORARY TABLE sqlsvm_v2_0 AS
SELECT g1 AS g1, s AS s, v AS v, g1 * CAST($1 AS BIGINT) + s AS at
FROM sqlsvm_centre
WHERE side = 1 AND v > 0;

-- totals near 0 (span)
SELECT
  l.z AS z,
  SUM(l.c * r.c) AS c,
  SUM(-(l.c * r.e + (l.e * r.c))) AS e,
  SUM(l.c * r.ee + (CAST(2.0 AS DOUBLE PRECISION) * (l.e * r.e)) + (l.ee * r.c)) AS ee
FROM (
  SELECT t.z AS z, l.g1 AS g1, l.c AS c, l.e AS e, l.ee AS ee, l.g1 * CAST($1 AS BIGINT) + -(l.s + t.z) AS opposite
  FROM sqlsvm_q2_0 AS l
  CROSS JOIN (SELECT 0 AS z UNION ALL SELECT 1 AS z) AS t
) AS l
JOIN sqlsvm_q1_1 AS r ON l.g1 = r.g1 AND r.at = l.opposite
GROUP BY l.z;

-- rounding 0
SELECT COALESCE(MAX(ABS(e)), CAST(0.0 AS DOUBLE PRECISION)) AS error
FROM sqlsvm_s0;

-- rounding 1
SELECT COALESCE(MAX(ABS(e)), CAST(0.0 AS DOUBLE PRECISION)) AS error
FROM sqlsvm_s1;

-- rounding 2
SELECT COALESCE(MAX(ABS(e)), CAST(0.0 AS DOUBLE PRECISION)) AS error
FROM sqlsvm_s2;

-- m returns (span)
CREATE TEMPORARY TABLE sqlsvm_r1_0 AS
SELECT
  q.g0 AS q_g0,
  q.g1 AS q_g1,
  q.s AS q_s,
  m.g0 AS m_g0,
  m.s AS m_s,
  SUM(m.c * a.v) AS q_v,
  SUM(q.c * a.v) AS m_v,
  GROUPING(q.s) AS side
FROM sqlsvm_q1_0 AS q
JOIN sqlsvm_q0_0 AS m ON q.g0 + 0 = m.g0
JOIN sqlsvm_v1_1 AS a ON a.at = q.g1 * CAST($1 AS BIGINT) + (q.s + m.s)
GROUP BY GROUPING SETS ((q.g0, q.g1, q.s), (m.g0, m.s));

-- values of m (span)
CREATE TEMPORARY TABLE sqlsvm_v1_0 AS
SELECT q_g0 AS g0, q_g1 AS g1, q_s AS s, q_g0 * CAST($1 AS BIGINT) + q_s AS at, q_v AS v
FROM sqlsvm_r1_0
WHERE side = 0;

-- values of l (span)
CREATE TEMPORARY TABLE sqlsvm_v0_0 AS
SELECT m_g0 AS g0, m_s AS s, m_g0 * CAST($1 AS BIGINT) + m_s AS at, m_v AS v
FROM sqlsvm_r1_0
WHERE side = 1;

-- sums 0 (span)
SELECT COALESCE(SUM(r.c * r.x2), CAST(0.0 AS DOUBLE PRECISION)) AS x2
FROM (
  SELECT r.x2 AS x2, r.w * a.v AS c
  FROM sqlsvm_s0 AS r
  JOIN sqlsvm_v0_0 AS a ON r.g0 * CAST($1 AS BIGINT) + r.s = a.at
) AS r;

-- sums 1 (span)
SELECT
  COALESCE(SUM(r.y * r.c), CAST(0.0 AS DOUBLE PRECISION)) AS b,
  COALESCE(SUM(r.c * CAST(1.0 AS DOUBLE PRECISION)), CAST(0.0 AS DOUBLE PRECISION)) AS x0,
  COALESCE(SUM(r.c * r.x1), CAST(0.0 AS DOUBLE PRECISION)) AS x1
FROM (
  SELECT r.x1 AS x1, r.y AS y, r.w * a.v AS c
  FROM sqlsvm_s1 AS r
  JOIN sqlsvm_v1_0 AS a ON r.g0 * CAST($1 AS BIGINT) + r.s = a.at AND r.g1 = a.g1
) AS r;

-- sums 2 (span)
SELECT COALESCE(SUM(r.c * r.x3), CAST(0.0 AS DOUBLE PRECISION)) AS x3
FROM (
  SELECT r.x3 AS x3, r.w * a.v AS c
  FROM sqlsvm_s2 AS r
  JOIN sqlsvm_v2_0 AS a ON r.g1 * CAST($1 AS BIGINT) + r.s = a.at
) AS r;
