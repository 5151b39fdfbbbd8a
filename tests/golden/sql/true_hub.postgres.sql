-- scores of h (buckets, bound, theta)
CREATE TEMPORARY TABLE sqlsvm_s0 AS
SELECT
  s.y AS y,
  sqlsvm_g0.g AS g0,
  sqlsvm_g1.g AS g1,
  sqlsvm_g2.g AS g2,
  CAST(1.0 AS DOUBLE PRECISION) AS w,
  CAST(GREATEST(
    LEAST(ROUND(p * CAST($1 AS DOUBLE PRECISION)), CAST(524287.0 AS DOUBLE PRECISION)),
    CAST(-524287.0 AS DOUBLE PRECISION)
 ) AS BIGINT) - y * CAST(CEIL(CAST($2 AS DOUBLE PRECISION) * CAST($1 AS DOUBLE PRECISION)) AS BIGINT) AS s,
  p * CAST($1 AS DOUBLE PRECISION) - GREATEST(
    LEAST(ROUND(p * CAST($1 AS DOUBLE PRECISION)), CAST(524287.0 AS DOUBLE PRECISION)),
    CAST(-524287.0 AS DOUBLE PRECISION)
 ) AS e
FROM (
  SELECT
    r.k0 AS k0,
    r.k1 AS k1,
    r.k2 AS k2,
    (CAST($3 AS DOUBLE PRECISION[]))[1] * CAST(1.0 AS DOUBLE PRECISION) AS p,
    r.y AS y
  FROM (
    SELECT
      "h"."i" AS k0,
      "h"."j" AS k1,
      "h"."k" AS k2,
      CASE WHEN "h"."y" = 1 THEN 1 WHEN NOT "h"."y" IS NULL THEN -1 END AS y
    FROM "public".hub AS "h"
 ) AS r
) AS s
JOIN sqlsvm_g0 ON s.k0 = sqlsvm_g0.k
JOIN sqlsvm_g1 ON s.k1 = sqlsvm_g1.k
JOIN sqlsvm_g2 ON s.k2 = sqlsvm_g2.k;

-- scores of l (buckets, theta)
CREATE TEMPORARY TABLE sqlsvm_s1 AS
SELECT
  s.x1 AS x1,
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
  SELECT r.k0 AS k0, r.x1 AS x1, (CAST($2 AS DOUBLE PRECISION[]))[2] * r.x1 AS p
  FROM (SELECT "l"."i" AS k0, CAST("l"."x" AS DOUBLE PRECISION) AS x1 FROM "public".l AS "l") AS r
) AS s
JOIN sqlsvm_g0 ON s.k0 = sqlsvm_g0.k;

-- scores of r (buckets, theta)
CREATE TEMPORARY TABLE sqlsvm_s2 AS
SELECT
  s.x2 AS x2,
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
  SELECT r.k1 AS k1, r.x2 AS x2, (CAST($2 AS DOUBLE PRECISION[]))[3] * r.x2 AS p
  FROM (SELECT "r"."j" AS k1, CAST("r"."x" AS DOUBLE PRECISION) AS x2 FROM "public".r AS "r") AS r
) AS s
JOIN sqlsvm_g1 ON s.k1 = sqlsvm_g1.k;

-- scores of q (buckets, theta)
CREATE TEMPORARY TABLE sqlsvm_s3 AS
SELECT
  s.x3 AS x3,
  sqlsvm_g2.g AS g2,
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
  SELECT r.k2 AS k2, r.x3 AS x3, (CAST($2 AS DOUBLE PRECISION[]))[4] * r.x3 AS p
  FROM (SELECT "q"."k" AS k2, CAST("q"."x" AS DOUBLE PRECISION) AS x3 FROM "public".q AS "q") AS r
) AS s
JOIN sqlsvm_g2 ON s.k2 = sqlsvm_g2.k;

-- states of l
CREATE TEMPORARY TABLE sqlsvm_q1_0 AS
SELECT g0 AS g0, s AS s, SUM(w) AS c, SUM(w * e) AS e, SUM(w * e * e) AS ee
FROM sqlsvm_s1
GROUP BY g0, s
ORDER BY g0, s;

-- states of q
CREATE TEMPORARY TABLE sqlsvm_q3_0 AS
SELECT g2 AS g2, s AS s, SUM(w) AS c, SUM(w * e) AS e, SUM(w * e * e) AS ee
FROM sqlsvm_s3
GROUP BY g2, s
ORDER BY g2, s;

-- states of h
CREATE TEMPORARY TABLE sqlsvm_q0_0 AS
SELECT g0 AS g0, g1 AS g1, g2 AS g2, s AS s, SUM(w) AS c, SUM(w * e) AS e, SUM(w * e * e) AS ee
FROM sqlsvm_s0
GROUP BY g0, g1, g2, s
ORDER BY g1, g0, g2, s;

-- h meets l
CREATE TEMPORARY TABLE sqlsvm_q0_1 AS
SELECT
  CAST(at AS BIGINT) >> 24 AS g1,
  CAST(at AS BIGINT) - ((CAST(at AS BIGINT) >> 24) * 16777216 + 8388608) AS s,
  g2 AS g2,
  at AS at,
  c AS c,
  e AS e,
  ee AS ee
FROM (
  SELECT
    q.g2 AS g2,
    CAST(q.g1 * 16777216 + 8388608 + (q.s + m.s) AS DOUBLE PRECISION) AS at,
    SUM(q.c * m.c) AS c,
    SUM(q.c * m.e + (q.e * m.c)) AS e,
    SUM(q.c * m.ee + (CAST(2.0 AS DOUBLE PRECISION) * (q.e * m.e)) + (q.ee * m.c)) AS ee
  FROM sqlsvm_q0_0 AS q
  JOIN sqlsvm_q1_0 AS m ON q.g0 + 0 = m.g0
  GROUP BY q.g2, CAST(q.g1 * 16777216 + 8388608 + (q.s + m.s) AS DOUBLE PRECISION)
) AS e;

-- h meets q
CREATE TEMPORARY TABLE sqlsvm_q0_2 AS
SELECT
  CAST(at AS BIGINT) >> 24 AS g1,
  CAST(at AS BIGINT) - ((CAST(at AS BIGINT) >> 24) * 16777216 + 8388608) AS s,
  at AS at,
  c AS c,
  e AS e,
  ee AS ee
FROM (
  SELECT
    CAST(q.g1 * 16777216 + 8388608 + (q.s + m.s) AS DOUBLE PRECISION) AS at,
    SUM(q.c * m.c) AS c,
    SUM(q.c * m.e + (q.e * m.c)) AS e,
    SUM(q.c * m.ee + (CAST(2.0 AS DOUBLE PRECISION) * (q.e * m.e)) + (q.ee * m.c)) AS ee
  FROM sqlsvm_q0_1 AS q
  JOIN sqlsvm_q3_0 AS m ON q.g2 + 0 = m.g2
  GROUP BY CAST(q.g1 * 16777216 + 8388608 + (q.s + m.s) AS DOUBLE PRECISION)
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
  FROM sqlsvm_q0_2
  UNION ALL
  SELECT g1 AS g1, s AS s, s AS at, 1 AS rank, CAST(0.0 AS DOUBLE PRECISION) AS cl, c AS cr, 1 AS side
  FROM sqlsvm_q2_0
) AS e;

-- values of h
CREATE TEMPORARY TABLE sqlsvm_v0_2 AS
SELECT g1 AS g1, s AS s, v AS v, CAST(g1 * 16777216 + 8388608 + s AS DOUBLE PRECISION) AS at
FROM sqlsvm_centre
WHERE side = 0 AND v > 0;

-- values of r
CREATE TEMPORARY TABLE sqlsvm_v2_0 AS
SELECT g1 AS g1, s AS s, v AS v, CAST(g1 * 16777216 + 8388608 + s AS DOUBLE PRECISION) AS at
FROM sqlsvm_centre
WHERE side = 1 AND v > 0;

-- totals near 0
SELECT
  l.z AS z,
  SUM(l.c * r.c) AS c,
  SUM(-(l.c * r.e + (l.e * r.c))) AS e,
  SUM(l.c * r.ee + (CAST(2.0 AS DOUBLE PRECISION) * (l.e * r.e)) + (l.ee * r.c)) AS ee
FROM (
  SELECT
    t.z AS z,
    l.g1 AS g1,
    l.c AS c,
    l.e AS e,
    l.ee AS ee,
    CAST(l.g1 * 16777216 + 8388608 + -(l.s + t.z) AS DOUBLE PRECISION) AS opposite
  FROM sqlsvm_q2_0 AS l
  CROSS JOIN (SELECT -1 AS z UNION ALL SELECT 0 AS z UNION ALL SELECT 1 AS z) AS t
) AS l
JOIN sqlsvm_q0_2 AS r ON l.g1 = r.g1 AND r.at = l.opposite
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

-- rounding 3
SELECT COALESCE(MAX(ABS(e)), CAST(0.0 AS DOUBLE PRECISION)) AS error
FROM sqlsvm_s3;

-- h returns
CREATE TEMPORARY TABLE sqlsvm_r0_1 AS
SELECT
  q.g1 AS q_g1,
  q.g2 AS q_g2,
  q.s AS q_s,
  m.g2 AS m_g2,
  m.s AS m_s,
  SUM(m.c * a.v) AS q_v,
  SUM(q.c * a.v) AS m_v,
  GROUPING(q.s) AS side
FROM sqlsvm_q0_1 AS q
JOIN sqlsvm_q3_0 AS m ON q.g2 + 0 = m.g2
JOIN sqlsvm_v0_2 AS a ON a.at = CAST(q.g1 * 16777216 + 8388608 + (q.s + m.s) AS DOUBLE PRECISION)
GROUP BY GROUPING SETS ((q.g1, q.g2, q.s), (m.g2, m.s));

-- values of h
CREATE TEMPORARY TABLE sqlsvm_v0_1 AS
SELECT q_g1 AS g1, q_g2 AS g2, q_s AS s, CAST(q_g1 * 16777216 + 8388608 + q_s AS DOUBLE PRECISION) AS at, q_v AS v
FROM sqlsvm_r0_1
WHERE side = 0;

-- values of q
CREATE TEMPORARY TABLE sqlsvm_v3_0 AS
SELECT m_g2 AS g2, m_s AS s, CAST(m_g2 * 16777216 + 8388608 + m_s AS DOUBLE PRECISION) AS at, m_v AS v
FROM sqlsvm_r0_1
WHERE side = 1;

-- h returns
CREATE TEMPORARY TABLE sqlsvm_r0_0 AS
SELECT
  q.g0 AS q_g0,
  q.g1 AS q_g1,
  q.g2 AS q_g2,
  q.s AS q_s,
  m.g0 AS m_g0,
  m.s AS m_s,
  SUM(m.c * a.v) AS q_v,
  SUM(q.c * a.v) AS m_v,
  GROUPING(q.s) AS side
FROM sqlsvm_q0_0 AS q
JOIN sqlsvm_q1_0 AS m ON q.g0 + 0 = m.g0
JOIN sqlsvm_v0_1 AS a ON a.at = CAST(q.g1 * 16777216 + 8388608 + (q.s + m.s) AS DOUBLE PRECISION) AND a.g2 = q.g2
GROUP BY GROUPING SETS ((q.g0, q.g1, q.g2, q.s), (m.g0, m.s));

-- values of h
CREATE TEMPORARY TABLE sqlsvm_v0_0 AS
SELECT
  q_g0 AS g0,
  q_g1 AS g1,
  q_g2 AS g2,
  q_s AS s,
  CAST(q_g0 * 16777216 + 8388608 + q_s AS DOUBLE PRECISION) AS at,
  q_v AS v
FROM sqlsvm_r0_0
WHERE side = 0;

-- values of l
CREATE TEMPORARY TABLE sqlsvm_v1_0 AS
SELECT m_g0 AS g0, m_s AS s, CAST(m_g0 * 16777216 + 8388608 + m_s AS DOUBLE PRECISION) AS at, m_v AS v
FROM sqlsvm_r0_0
WHERE side = 1;

-- sums 0
SELECT
  COALESCE(SUM(r.y * r.c), CAST(0.0 AS DOUBLE PRECISION)) AS b,
  COALESCE(SUM(r.c * CAST(1.0 AS DOUBLE PRECISION)), CAST(0.0 AS DOUBLE PRECISION)) AS x0
FROM (
  SELECT r.y AS y, r.w * a.v AS c
  FROM sqlsvm_s0 AS r
  JOIN sqlsvm_v0_0 AS a
    ON CAST(r.g0 * 16777216 + 8388608 + r.s AS DOUBLE PRECISION) = a.at
    AND r.g1 = a.g1
    AND r.g2 = a.g2
) AS r;

-- sums 1
SELECT COALESCE(SUM(r.c * r.x1), CAST(0.0 AS DOUBLE PRECISION)) AS x1
FROM (
  SELECT r.x1 AS x1, r.w * a.v AS c
  FROM sqlsvm_s1 AS r
  JOIN sqlsvm_v1_0 AS a ON CAST(r.g0 * 16777216 + 8388608 + r.s AS DOUBLE PRECISION) = a.at
) AS r;

-- sums 2
SELECT COALESCE(SUM(r.c * r.x2), CAST(0.0 AS DOUBLE PRECISION)) AS x2
FROM (
  SELECT r.x2 AS x2, r.w * a.v AS c
  FROM sqlsvm_s2 AS r
  JOIN sqlsvm_v2_0 AS a ON CAST(r.g1 * 16777216 + 8388608 + r.s AS DOUBLE PRECISION) = a.at
) AS r;

-- sums 3
SELECT COALESCE(SUM(r.c * r.x3), CAST(0.0 AS DOUBLE PRECISION)) AS x3
FROM (
  SELECT r.x3 AS x3, r.w * a.v AS c
  FROM sqlsvm_s3 AS r
  JOIN sqlsvm_v3_0 AS a ON CAST(r.g2 * 16777216 + 8388608 + r.s AS DOUBLE PRECISION) = a.at
) AS r;
