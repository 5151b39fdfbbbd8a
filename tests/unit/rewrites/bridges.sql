SELECT o.late, v.minutes FROM orders o JOIN visits v ON v.c = o.c AND v.minutes < o.paid
-- becomes
SELECT
  "v"."minutes" AS minutes,
  "o"."late" AS late
FROM (
  SELECT
    "o".*,
    ROW_NUMBER() OVER (ORDER BY "o"."c", "o"."paid") AS "sqlsvm_row2"
  FROM orders AS "o"
) AS "o"
CROSS JOIN (
  SELECT
    "v".*,
    ROW_NUMBER() OVER (ORDER BY "v"."c", "v"."minutes") AS "sqlsvm_row2"
  FROM visits AS "v"
) AS "v"
JOIN (
  WITH "sqlsvm_made_line2_0" AS MATERIALIZED (
    SELECT
      "sqlsvm_row2" AS "sqlsvm_row2",
      k0 AS k0,
      which AS which,
      at AS at,
      MIN(at - start) OVER (PARTITION BY k0) AS base,
      MAX(at) OVER (PARTITION BY k0) - MIN(at - start) OVER (PARTITION BY k0) AS most
    FROM (
      SELECT
        "sqlsvm_row2" AS "sqlsvm_row2",
        k0 AS k0,
        which AS which,
        start AS start,
        CAST(SUM(start) OVER (ORDER BY k0, v, place) AS DOUBLE PRECISION) AS at
      FROM (
        SELECT
          "sqlsvm_row2" AS "sqlsvm_row2",
          k0 AS k0,
          v AS v,
          place AS place,
          which AS which,
          CASE
            WHEN which = 0 AND COALESCE(LAG(which) OVER (PARTITION BY k0 ORDER BY v, place), 1) <> 0
            THEN 1
            ELSE 0
          END AS start
        FROM (
          SELECT
            "v"."sqlsvm_row2" AS "sqlsvm_row2",
            "v"."c" AS k0,
            "v"."minutes" AS v,
            1 AS place,
            0 AS which
          FROM (
            SELECT
              "v".*,
              ROW_NUMBER() OVER (ORDER BY "v"."c", "v"."minutes") AS "sqlsvm_row2"
            FROM visits AS "v"
          ) AS "v"
          WHERE
            NOT "v"."c" IS NULL AND NOT "v"."minutes" IS NULL
          UNION ALL
          SELECT
            "o"."sqlsvm_row2" AS "sqlsvm_row2",
            "o"."c" AS k0,
            "o"."paid" AS v,
            0 AS place,
            2 AS which
          FROM (
            SELECT
              "o".*,
              ROW_NUMBER() OVER (ORDER BY "o"."c", "o"."paid") AS "sqlsvm_row2"
            FROM orders AS "o"
          ) AS "o"
          WHERE
            NOT "o"."c" IS NULL AND NOT "o"."paid" IS NULL
        ) AS line
      ) AS steps
    ) AS placed
  )
  SELECT
    n0."sqlsvm_row2" AS "sqlsvm_row2",
    n0."sqlsvm_node" AS "sqlsvm_node0"
  FROM (
    SELECT
      "sqlsvm_row2" AS "sqlsvm_row2",
      CAST((
        base + (
          (
            CASE WHEN nth >= 0 THEN a + nth ELSE b + nth END
          ) * size
        )
      ) * CAST(32.0 AS DOUBLE PRECISION) + level AS BIGINT) AS "sqlsvm_node"
    FROM (
      SELECT
        "sqlsvm_row2" AS "sqlsvm_row2",
        base AS base,
        level AS level,
        size AS size,
        CEIL(CAST(low AS DOUBLE PRECISION) / size) AS a,
        FLOOR(CAST(high AS DOUBLE PRECISION) / size) AS b
      FROM (
        SELECT
          "sqlsvm_row2" AS "sqlsvm_row2",
          MIN(base) AS base,
          CAST(0.0 AS DOUBLE PRECISION) AS low,
          COALESCE(MIN(CASE WHEN which = 2 THEN at - base END), MIN(most)) AS high
        FROM "sqlsvm_made_line2_0"
        WHERE
          which <> 0
        GROUP BY
          "sqlsvm_row2"
      ) AS ends
      JOIN (VALUES
        (CAST(0.0 AS DOUBLE PRECISION), CAST(1.0 AS DOUBLE PRECISION)),
        (CAST(1.0 AS DOUBLE PRECISION), CAST(8.0 AS DOUBLE PRECISION)),
        (CAST(2.0 AS DOUBLE PRECISION), CAST(64.0 AS DOUBLE PRECISION)),
        (CAST(3.0 AS DOUBLE PRECISION), CAST(512.0 AS DOUBLE PRECISION)),
        (CAST(4.0 AS DOUBLE PRECISION), CAST(4096.0 AS DOUBLE PRECISION)),
        (CAST(5.0 AS DOUBLE PRECISION), CAST(32768.0 AS DOUBLE PRECISION)),
        (CAST(6.0 AS DOUBLE PRECISION), CAST(262144.0 AS DOUBLE PRECISION)),
        (CAST(7.0 AS DOUBLE PRECISION), CAST(2097152.0 AS DOUBLE PRECISION)),
        (CAST(8.0 AS DOUBLE PRECISION), CAST(16777216.0 AS DOUBLE PRECISION)),
        (CAST(9.0 AS DOUBLE PRECISION), CAST(134217728.0 AS DOUBLE PRECISION)),
        (CAST(10.0 AS DOUBLE PRECISION), CAST(1073741824.0 AS DOUBLE PRECISION))) AS levels(level, size)
        ON size <= high
    ) AS l
    CROSS JOIN (VALUES
      (CAST(-1.0 AS DOUBLE PRECISION)),
      (CAST(-2.0 AS DOUBLE PRECISION)),
      (CAST(-3.0 AS DOUBLE PRECISION)),
      (CAST(-4.0 AS DOUBLE PRECISION)),
      (CAST(-5.0 AS DOUBLE PRECISION)),
      (CAST(-6.0 AS DOUBLE PRECISION)),
      (CAST(-7.0 AS DOUBLE PRECISION))) AS nths(nth)
    WHERE
      a < b
      AND CASE
        WHEN nth >= 0
        THEN a + nth < LEAST(CAST(8.0 AS DOUBLE PRECISION) * CEIL(a / CAST(8.0 AS DOUBLE PRECISION)), b)
        ELSE b + nth >= GREATEST(
          LEAST(CAST(8.0 AS DOUBLE PRECISION) * CEIL(a / CAST(8.0 AS DOUBLE PRECISION)), b),
          CAST(8.0 AS DOUBLE PRECISION) * FLOOR(b / CAST(8.0 AS DOUBLE PRECISION))
        )
      END
  ) AS n0
) AS "o nodes 2"
  ON "o"."sqlsvm_row2" = "o nodes 2"."sqlsvm_row2"
JOIN (
  WITH "sqlsvm_made_line2_0" AS MATERIALIZED (
    SELECT
      "sqlsvm_row2" AS "sqlsvm_row2",
      k0 AS k0,
      which AS which,
      at AS at,
      MIN(at - start) OVER (PARTITION BY k0) AS base,
      MAX(at) OVER (PARTITION BY k0) - MIN(at - start) OVER (PARTITION BY k0) AS most
    FROM (
      SELECT
        "sqlsvm_row2" AS "sqlsvm_row2",
        k0 AS k0,
        which AS which,
        start AS start,
        CAST(SUM(start) OVER (ORDER BY k0, v, place) AS DOUBLE PRECISION) AS at
      FROM (
        SELECT
          "sqlsvm_row2" AS "sqlsvm_row2",
          k0 AS k0,
          v AS v,
          place AS place,
          which AS which,
          CASE
            WHEN which = 0 AND COALESCE(LAG(which) OVER (PARTITION BY k0 ORDER BY v, place), 1) <> 0
            THEN 1
            ELSE 0
          END AS start
        FROM (
          SELECT
            "v"."sqlsvm_row2" AS "sqlsvm_row2",
            "v"."c" AS k0,
            "v"."minutes" AS v,
            1 AS place,
            0 AS which
          FROM (
            SELECT
              "v".*,
              ROW_NUMBER() OVER (ORDER BY "v"."c", "v"."minutes") AS "sqlsvm_row2"
            FROM visits AS "v"
          ) AS "v"
          WHERE
            NOT "v"."c" IS NULL AND NOT "v"."minutes" IS NULL
          UNION ALL
          SELECT
            "o"."sqlsvm_row2" AS "sqlsvm_row2",
            "o"."c" AS k0,
            "o"."paid" AS v,
            0 AS place,
            2 AS which
          FROM (
            SELECT
              "o".*,
              ROW_NUMBER() OVER (ORDER BY "o"."c", "o"."paid") AS "sqlsvm_row2"
            FROM orders AS "o"
          ) AS "o"
          WHERE
            NOT "o"."c" IS NULL AND NOT "o"."paid" IS NULL
        ) AS line
      ) AS steps
    ) AS placed
  )
  SELECT
    n0."sqlsvm_row2" AS "sqlsvm_row2",
    n0."sqlsvm_node" AS "sqlsvm_node0"
  FROM (
    SELECT
      p."sqlsvm_row2" AS "sqlsvm_row2",
      q."sqlsvm_node" AS "sqlsvm_node"
    FROM "sqlsvm_made_line2_0" AS p
    JOIN (
      SELECT
        at AS at,
        "sqlsvm_node" AS "sqlsvm_node"
      FROM (
        SELECT
          at AS at,
          CAST((
            base + (
              (
                FLOOR(CAST(slot AS DOUBLE PRECISION) / size)
              ) * size
            )
          ) * CAST(32.0 AS DOUBLE PRECISION) + level AS BIGINT) AS "sqlsvm_node"
        FROM (
          SELECT
            at AS at,
            base AS base,
            most AS most,
            at - base - CAST(1.0 AS DOUBLE PRECISION) AS slot
          FROM (
            SELECT DISTINCT
              at AS at,
              base AS base,
              most AS most
            FROM "sqlsvm_made_line2_0"
            WHERE
              which = 0
          ) AS f
        ) AS p
        JOIN (VALUES
          (CAST(0.0 AS DOUBLE PRECISION), CAST(1.0 AS DOUBLE PRECISION)),
          (CAST(1.0 AS DOUBLE PRECISION), CAST(8.0 AS DOUBLE PRECISION)),
          (CAST(2.0 AS DOUBLE PRECISION), CAST(64.0 AS DOUBLE PRECISION)),
          (CAST(3.0 AS DOUBLE PRECISION), CAST(512.0 AS DOUBLE PRECISION)),
          (CAST(4.0 AS DOUBLE PRECISION), CAST(4096.0 AS DOUBLE PRECISION)),
          (CAST(5.0 AS DOUBLE PRECISION), CAST(32768.0 AS DOUBLE PRECISION)),
          (CAST(6.0 AS DOUBLE PRECISION), CAST(262144.0 AS DOUBLE PRECISION)),
          (CAST(7.0 AS DOUBLE PRECISION), CAST(2097152.0 AS DOUBLE PRECISION)),
          (CAST(8.0 AS DOUBLE PRECISION), CAST(16777216.0 AS DOUBLE PRECISION)),
          (CAST(9.0 AS DOUBLE PRECISION), CAST(134217728.0 AS DOUBLE PRECISION)),
          (CAST(10.0 AS DOUBLE PRECISION), CAST(1073741824.0 AS DOUBLE PRECISION))) AS levels(level, size)
          ON size <= most
      ) AS a
      WHERE
        EXISTS(
          SELECT
            *
          FROM (
            SELECT
              "sqlsvm_row2" AS "sqlsvm_row2",
              CAST((
                base + (
                  (
                    CASE WHEN nth >= 0 THEN a + nth ELSE b + nth END
                  ) * size
                )
              ) * CAST(32.0 AS DOUBLE PRECISION) + level AS BIGINT) AS "sqlsvm_node"
            FROM (
              SELECT
                "sqlsvm_row2" AS "sqlsvm_row2",
                base AS base,
                level AS level,
                size AS size,
                CEIL(CAST(low AS DOUBLE PRECISION) / size) AS a,
                FLOOR(CAST(high AS DOUBLE PRECISION) / size) AS b
              FROM (
                SELECT
                  "sqlsvm_row2" AS "sqlsvm_row2",
                  MIN(base) AS base,
                  CAST(0.0 AS DOUBLE PRECISION) AS low,
                  COALESCE(MIN(CASE WHEN which = 2 THEN at - base END), MIN(most)) AS high
                FROM "sqlsvm_made_line2_0"
                WHERE
                  which <> 0
                GROUP BY
                  "sqlsvm_row2"
              ) AS ends
              JOIN (VALUES
                (CAST(0.0 AS DOUBLE PRECISION), CAST(1.0 AS DOUBLE PRECISION)),
                (CAST(1.0 AS DOUBLE PRECISION), CAST(8.0 AS DOUBLE PRECISION)),
                (CAST(2.0 AS DOUBLE PRECISION), CAST(64.0 AS DOUBLE PRECISION)),
                (CAST(3.0 AS DOUBLE PRECISION), CAST(512.0 AS DOUBLE PRECISION)),
                (CAST(4.0 AS DOUBLE PRECISION), CAST(4096.0 AS DOUBLE PRECISION)),
                (CAST(5.0 AS DOUBLE PRECISION), CAST(32768.0 AS DOUBLE PRECISION)),
                (CAST(6.0 AS DOUBLE PRECISION), CAST(262144.0 AS DOUBLE PRECISION)),
                (CAST(7.0 AS DOUBLE PRECISION), CAST(2097152.0 AS DOUBLE PRECISION)),
                (CAST(8.0 AS DOUBLE PRECISION), CAST(16777216.0 AS DOUBLE PRECISION)),
                (CAST(9.0 AS DOUBLE PRECISION), CAST(134217728.0 AS DOUBLE PRECISION)),
                (CAST(10.0 AS DOUBLE PRECISION), CAST(1073741824.0 AS DOUBLE PRECISION))) AS levels(level, size)
                ON size <= high
            ) AS l
            CROSS JOIN (VALUES
              (CAST(-1.0 AS DOUBLE PRECISION)),
              (CAST(-2.0 AS DOUBLE PRECISION)),
              (CAST(-3.0 AS DOUBLE PRECISION)),
              (CAST(-4.0 AS DOUBLE PRECISION)),
              (CAST(-5.0 AS DOUBLE PRECISION)),
              (CAST(-6.0 AS DOUBLE PRECISION)),
              (CAST(-7.0 AS DOUBLE PRECISION))) AS nths(nth)
            WHERE
              a < b
              AND CASE
                WHEN nth >= 0
                THEN a + nth < LEAST(CAST(8.0 AS DOUBLE PRECISION) * CEIL(a / CAST(8.0 AS DOUBLE PRECISION)), b)
                ELSE b + nth >= GREATEST(
                  LEAST(CAST(8.0 AS DOUBLE PRECISION) * CEIL(a / CAST(8.0 AS DOUBLE PRECISION)), b),
                  CAST(8.0 AS DOUBLE PRECISION) * FLOOR(b / CAST(8.0 AS DOUBLE PRECISION))
                )
              END
          ) AS b
          WHERE
            a."sqlsvm_node" = b."sqlsvm_node"
        )
    ) AS q
      ON p.at = q.at
    WHERE
      p.which = 0
  ) AS n0
) AS "v nodes 2"
  ON "o nodes 2"."sqlsvm_node0" = "v nodes 2"."sqlsvm_node0"
  AND "v nodes 2"."sqlsvm_row2" = "v"."sqlsvm_row2"
