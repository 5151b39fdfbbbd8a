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
  SELECT
    *
  FROM (
    SELECT
      "sqlsvm_row2" AS "sqlsvm_row2",
      k0 AS k0,
      CAST((
        a
      ) * CAST(32.0 AS DOUBLE PRECISION) + level AS BIGINT) AS "sqlsvm_node"
    FROM (
      SELECT
        "sqlsvm_row2" AS "sqlsvm_row2",
        k0 AS k0,
        CEIL(CAST(low AS DOUBLE PRECISION) / size) AS a,
        FLOOR(CAST(high AS DOUBLE PRECISION) / size) AS b,
        level AS level
      FROM (
        SELECT
          "sqlsvm_row2" AS "sqlsvm_row2",
          k0 AS k0,
          CAST(0.0 AS DOUBLE PRECISION) AS low,
          MIN(CASE WHEN which = 2 THEN slot END) AS high
        FROM (
          SELECT
            "sqlsvm_row2" AS "sqlsvm_row2",
            k0 AS k0,
            which AS which,
            CAST(SUM(start) OVER (PARTITION BY k0 ORDER BY v, place) AS DOUBLE PRECISION) AS slot,
            CAST(SUM(start) OVER (PARTITION BY k0) AS DOUBLE PRECISION) AS most
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
        ) AS slots
        WHERE
          which <> 0
        GROUP BY
          "sqlsvm_row2",
          k0
      ) AS ends
      CROSS JOIN (VALUES
        (0, CAST(1.0 AS DOUBLE PRECISION)),
        (1, CAST(2.0 AS DOUBLE PRECISION)),
        (2, CAST(4.0 AS DOUBLE PRECISION)),
        (3, CAST(8.0 AS DOUBLE PRECISION)),
        (4, CAST(16.0 AS DOUBLE PRECISION)),
        (5, CAST(32.0 AS DOUBLE PRECISION)),
        (6, CAST(64.0 AS DOUBLE PRECISION)),
        (7, CAST(128.0 AS DOUBLE PRECISION)),
        (8, CAST(256.0 AS DOUBLE PRECISION)),
        (9, CAST(512.0 AS DOUBLE PRECISION)),
        (10, CAST(1024.0 AS DOUBLE PRECISION)),
        (11, CAST(2048.0 AS DOUBLE PRECISION)),
        (12, CAST(4096.0 AS DOUBLE PRECISION)),
        (13, CAST(8192.0 AS DOUBLE PRECISION)),
        (14, CAST(16384.0 AS DOUBLE PRECISION)),
        (15, CAST(32768.0 AS DOUBLE PRECISION)),
        (16, CAST(65536.0 AS DOUBLE PRECISION)),
        (17, CAST(131072.0 AS DOUBLE PRECISION)),
        (18, CAST(262144.0 AS DOUBLE PRECISION)),
        (19, CAST(524288.0 AS DOUBLE PRECISION)),
        (20, CAST(1048576.0 AS DOUBLE PRECISION)),
        (21, CAST(2097152.0 AS DOUBLE PRECISION)),
        (22, CAST(4194304.0 AS DOUBLE PRECISION)),
        (23, CAST(8388608.0 AS DOUBLE PRECISION)),
        (24, CAST(16777216.0 AS DOUBLE PRECISION)),
        (25, CAST(33554432.0 AS DOUBLE PRECISION)),
        (26, CAST(67108864.0 AS DOUBLE PRECISION)),
        (27, CAST(134217728.0 AS DOUBLE PRECISION)),
        (28, CAST(268435456.0 AS DOUBLE PRECISION)),
        (29, CAST(536870912.0 AS DOUBLE PRECISION)),
        (30, CAST(1073741824.0 AS DOUBLE PRECISION))) AS levels(level, size)
    ) AS l
    WHERE
      a < b AND a > CAST(2.0 AS DOUBLE PRECISION) * FLOOR(a / CAST(2.0 AS DOUBLE PRECISION))
    UNION ALL
    SELECT
      "sqlsvm_row2" AS "sqlsvm_row2",
      k0 AS k0,
      CAST((
        b - CAST(1.0 AS DOUBLE PRECISION)
      ) * CAST(32.0 AS DOUBLE PRECISION) + level AS BIGINT) AS "sqlsvm_node"
    FROM (
      SELECT
        "sqlsvm_row2" AS "sqlsvm_row2",
        k0 AS k0,
        CEIL(CAST(low AS DOUBLE PRECISION) / size) AS a,
        FLOOR(CAST(high AS DOUBLE PRECISION) / size) AS b,
        level AS level
      FROM (
        SELECT
          "sqlsvm_row2" AS "sqlsvm_row2",
          k0 AS k0,
          CAST(0.0 AS DOUBLE PRECISION) AS low,
          MIN(CASE WHEN which = 2 THEN slot END) AS high
        FROM (
          SELECT
            "sqlsvm_row2" AS "sqlsvm_row2",
            k0 AS k0,
            which AS which,
            CAST(SUM(start) OVER (PARTITION BY k0 ORDER BY v, place) AS DOUBLE PRECISION) AS slot,
            CAST(SUM(start) OVER (PARTITION BY k0) AS DOUBLE PRECISION) AS most
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
        ) AS slots
        WHERE
          which <> 0
        GROUP BY
          "sqlsvm_row2",
          k0
      ) AS ends
      CROSS JOIN (VALUES
        (0, CAST(1.0 AS DOUBLE PRECISION)),
        (1, CAST(2.0 AS DOUBLE PRECISION)),
        (2, CAST(4.0 AS DOUBLE PRECISION)),
        (3, CAST(8.0 AS DOUBLE PRECISION)),
        (4, CAST(16.0 AS DOUBLE PRECISION)),
        (5, CAST(32.0 AS DOUBLE PRECISION)),
        (6, CAST(64.0 AS DOUBLE PRECISION)),
        (7, CAST(128.0 AS DOUBLE PRECISION)),
        (8, CAST(256.0 AS DOUBLE PRECISION)),
        (9, CAST(512.0 AS DOUBLE PRECISION)),
        (10, CAST(1024.0 AS DOUBLE PRECISION)),
        (11, CAST(2048.0 AS DOUBLE PRECISION)),
        (12, CAST(4096.0 AS DOUBLE PRECISION)),
        (13, CAST(8192.0 AS DOUBLE PRECISION)),
        (14, CAST(16384.0 AS DOUBLE PRECISION)),
        (15, CAST(32768.0 AS DOUBLE PRECISION)),
        (16, CAST(65536.0 AS DOUBLE PRECISION)),
        (17, CAST(131072.0 AS DOUBLE PRECISION)),
        (18, CAST(262144.0 AS DOUBLE PRECISION)),
        (19, CAST(524288.0 AS DOUBLE PRECISION)),
        (20, CAST(1048576.0 AS DOUBLE PRECISION)),
        (21, CAST(2097152.0 AS DOUBLE PRECISION)),
        (22, CAST(4194304.0 AS DOUBLE PRECISION)),
        (23, CAST(8388608.0 AS DOUBLE PRECISION)),
        (24, CAST(16777216.0 AS DOUBLE PRECISION)),
        (25, CAST(33554432.0 AS DOUBLE PRECISION)),
        (26, CAST(67108864.0 AS DOUBLE PRECISION)),
        (27, CAST(134217728.0 AS DOUBLE PRECISION)),
        (28, CAST(268435456.0 AS DOUBLE PRECISION)),
        (29, CAST(536870912.0 AS DOUBLE PRECISION)),
        (30, CAST(1073741824.0 AS DOUBLE PRECISION))) AS levels(level, size)
    ) AS l
    WHERE
      a < b AND b > CAST(2.0 AS DOUBLE PRECISION) * FLOOR(b / CAST(2.0 AS DOUBLE PRECISION))
  ) AS nodes
) AS "o nodes 2"
  ON "o"."sqlsvm_row2" = "o nodes 2"."sqlsvm_row2"
JOIN (
  SELECT
    *
  FROM (
    SELECT
      "sqlsvm_row2" AS "sqlsvm_row2",
      k0 AS k0,
      CAST((
        FLOOR(CAST(slot AS DOUBLE PRECISION) / size)
      ) * CAST(32.0 AS DOUBLE PRECISION) + level AS BIGINT) AS "sqlsvm_node"
    FROM (
      SELECT
        "sqlsvm_row2" AS "sqlsvm_row2",
        k0 AS k0,
        slot - CAST(1.0 AS DOUBLE PRECISION) AS slot,
        most AS most
      FROM (
        SELECT
          "sqlsvm_row2" AS "sqlsvm_row2",
          k0 AS k0,
          which AS which,
          CAST(SUM(start) OVER (PARTITION BY k0 ORDER BY v, place) AS DOUBLE PRECISION) AS slot,
          CAST(SUM(start) OVER (PARTITION BY k0) AS DOUBLE PRECISION) AS most
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
      ) AS slots
      WHERE
        which = 0
    ) AS p
    CROSS JOIN (VALUES
      (0, CAST(1.0 AS DOUBLE PRECISION)),
      (1, CAST(2.0 AS DOUBLE PRECISION)),
      (2, CAST(4.0 AS DOUBLE PRECISION)),
      (3, CAST(8.0 AS DOUBLE PRECISION)),
      (4, CAST(16.0 AS DOUBLE PRECISION)),
      (5, CAST(32.0 AS DOUBLE PRECISION)),
      (6, CAST(64.0 AS DOUBLE PRECISION)),
      (7, CAST(128.0 AS DOUBLE PRECISION)),
      (8, CAST(256.0 AS DOUBLE PRECISION)),
      (9, CAST(512.0 AS DOUBLE PRECISION)),
      (10, CAST(1024.0 AS DOUBLE PRECISION)),
      (11, CAST(2048.0 AS DOUBLE PRECISION)),
      (12, CAST(4096.0 AS DOUBLE PRECISION)),
      (13, CAST(8192.0 AS DOUBLE PRECISION)),
      (14, CAST(16384.0 AS DOUBLE PRECISION)),
      (15, CAST(32768.0 AS DOUBLE PRECISION)),
      (16, CAST(65536.0 AS DOUBLE PRECISION)),
      (17, CAST(131072.0 AS DOUBLE PRECISION)),
      (18, CAST(262144.0 AS DOUBLE PRECISION)),
      (19, CAST(524288.0 AS DOUBLE PRECISION)),
      (20, CAST(1048576.0 AS DOUBLE PRECISION)),
      (21, CAST(2097152.0 AS DOUBLE PRECISION)),
      (22, CAST(4194304.0 AS DOUBLE PRECISION)),
      (23, CAST(8388608.0 AS DOUBLE PRECISION)),
      (24, CAST(16777216.0 AS DOUBLE PRECISION)),
      (25, CAST(33554432.0 AS DOUBLE PRECISION)),
      (26, CAST(67108864.0 AS DOUBLE PRECISION)),
      (27, CAST(134217728.0 AS DOUBLE PRECISION)),
      (28, CAST(268435456.0 AS DOUBLE PRECISION)),
      (29, CAST(536870912.0 AS DOUBLE PRECISION)),
      (30, CAST(1073741824.0 AS DOUBLE PRECISION))) AS levels(level, size)
    WHERE
      size <= most
  ) AS a
  WHERE
    EXISTS(
      SELECT
        *
      FROM (
        SELECT
          "o nodes 2"."k0" AS k0,
          "o nodes 2"."sqlsvm_node" AS "sqlsvm_node"
        FROM (
          SELECT
            *
          FROM (
            SELECT
              "sqlsvm_row2" AS "sqlsvm_row2",
              k0 AS k0,
              CAST((
                a
              ) * CAST(32.0 AS DOUBLE PRECISION) + level AS BIGINT) AS "sqlsvm_node"
            FROM (
              SELECT
                "sqlsvm_row2" AS "sqlsvm_row2",
                k0 AS k0,
                CEIL(CAST(low AS DOUBLE PRECISION) / size) AS a,
                FLOOR(CAST(high AS DOUBLE PRECISION) / size) AS b,
                level AS level
              FROM (
                SELECT
                  "sqlsvm_row2" AS "sqlsvm_row2",
                  k0 AS k0,
                  CAST(0.0 AS DOUBLE PRECISION) AS low,
                  MIN(CASE WHEN which = 2 THEN slot END) AS high
                FROM (
                  SELECT
                    "sqlsvm_row2" AS "sqlsvm_row2",
                    k0 AS k0,
                    which AS which,
                    CAST(SUM(start) OVER (PARTITION BY k0 ORDER BY v, place) AS DOUBLE PRECISION) AS slot,
                    CAST(SUM(start) OVER (PARTITION BY k0) AS DOUBLE PRECISION) AS most
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
                ) AS slots
                WHERE
                  which <> 0
                GROUP BY
                  "sqlsvm_row2",
                  k0
              ) AS ends
              CROSS JOIN (VALUES
                (0, CAST(1.0 AS DOUBLE PRECISION)),
                (1, CAST(2.0 AS DOUBLE PRECISION)),
                (2, CAST(4.0 AS DOUBLE PRECISION)),
                (3, CAST(8.0 AS DOUBLE PRECISION)),
                (4, CAST(16.0 AS DOUBLE PRECISION)),
                (5, CAST(32.0 AS DOUBLE PRECISION)),
                (6, CAST(64.0 AS DOUBLE PRECISION)),
                (7, CAST(128.0 AS DOUBLE PRECISION)),
                (8, CAST(256.0 AS DOUBLE PRECISION)),
                (9, CAST(512.0 AS DOUBLE PRECISION)),
                (10, CAST(1024.0 AS DOUBLE PRECISION)),
                (11, CAST(2048.0 AS DOUBLE PRECISION)),
                (12, CAST(4096.0 AS DOUBLE PRECISION)),
                (13, CAST(8192.0 AS DOUBLE PRECISION)),
                (14, CAST(16384.0 AS DOUBLE PRECISION)),
                (15, CAST(32768.0 AS DOUBLE PRECISION)),
                (16, CAST(65536.0 AS DOUBLE PRECISION)),
                (17, CAST(131072.0 AS DOUBLE PRECISION)),
                (18, CAST(262144.0 AS DOUBLE PRECISION)),
                (19, CAST(524288.0 AS DOUBLE PRECISION)),
                (20, CAST(1048576.0 AS DOUBLE PRECISION)),
                (21, CAST(2097152.0 AS DOUBLE PRECISION)),
                (22, CAST(4194304.0 AS DOUBLE PRECISION)),
                (23, CAST(8388608.0 AS DOUBLE PRECISION)),
                (24, CAST(16777216.0 AS DOUBLE PRECISION)),
                (25, CAST(33554432.0 AS DOUBLE PRECISION)),
                (26, CAST(67108864.0 AS DOUBLE PRECISION)),
                (27, CAST(134217728.0 AS DOUBLE PRECISION)),
                (28, CAST(268435456.0 AS DOUBLE PRECISION)),
                (29, CAST(536870912.0 AS DOUBLE PRECISION)),
                (30, CAST(1073741824.0 AS DOUBLE PRECISION))) AS levels(level, size)
            ) AS l
            WHERE
              a < b AND a > CAST(2.0 AS DOUBLE PRECISION) * FLOOR(a / CAST(2.0 AS DOUBLE PRECISION))
            UNION ALL
            SELECT
              "sqlsvm_row2" AS "sqlsvm_row2",
              k0 AS k0,
              CAST((
                b - CAST(1.0 AS DOUBLE PRECISION)
              ) * CAST(32.0 AS DOUBLE PRECISION) + level AS BIGINT) AS "sqlsvm_node"
            FROM (
              SELECT
                "sqlsvm_row2" AS "sqlsvm_row2",
                k0 AS k0,
                CEIL(CAST(low AS DOUBLE PRECISION) / size) AS a,
                FLOOR(CAST(high AS DOUBLE PRECISION) / size) AS b,
                level AS level
              FROM (
                SELECT
                  "sqlsvm_row2" AS "sqlsvm_row2",
                  k0 AS k0,
                  CAST(0.0 AS DOUBLE PRECISION) AS low,
                  MIN(CASE WHEN which = 2 THEN slot END) AS high
                FROM (
                  SELECT
                    "sqlsvm_row2" AS "sqlsvm_row2",
                    k0 AS k0,
                    which AS which,
                    CAST(SUM(start) OVER (PARTITION BY k0 ORDER BY v, place) AS DOUBLE PRECISION) AS slot,
                    CAST(SUM(start) OVER (PARTITION BY k0) AS DOUBLE PRECISION) AS most
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
                ) AS slots
                WHERE
                  which <> 0
                GROUP BY
                  "sqlsvm_row2",
                  k0
              ) AS ends
              CROSS JOIN (VALUES
                (0, CAST(1.0 AS DOUBLE PRECISION)),
                (1, CAST(2.0 AS DOUBLE PRECISION)),
                (2, CAST(4.0 AS DOUBLE PRECISION)),
                (3, CAST(8.0 AS DOUBLE PRECISION)),
                (4, CAST(16.0 AS DOUBLE PRECISION)),
                (5, CAST(32.0 AS DOUBLE PRECISION)),
                (6, CAST(64.0 AS DOUBLE PRECISION)),
                (7, CAST(128.0 AS DOUBLE PRECISION)),
                (8, CAST(256.0 AS DOUBLE PRECISION)),
                (9, CAST(512.0 AS DOUBLE PRECISION)),
                (10, CAST(1024.0 AS DOUBLE PRECISION)),
                (11, CAST(2048.0 AS DOUBLE PRECISION)),
                (12, CAST(4096.0 AS DOUBLE PRECISION)),
                (13, CAST(8192.0 AS DOUBLE PRECISION)),
                (14, CAST(16384.0 AS DOUBLE PRECISION)),
                (15, CAST(32768.0 AS DOUBLE PRECISION)),
                (16, CAST(65536.0 AS DOUBLE PRECISION)),
                (17, CAST(131072.0 AS DOUBLE PRECISION)),
                (18, CAST(262144.0 AS DOUBLE PRECISION)),
                (19, CAST(524288.0 AS DOUBLE PRECISION)),
                (20, CAST(1048576.0 AS DOUBLE PRECISION)),
                (21, CAST(2097152.0 AS DOUBLE PRECISION)),
                (22, CAST(4194304.0 AS DOUBLE PRECISION)),
                (23, CAST(8388608.0 AS DOUBLE PRECISION)),
                (24, CAST(16777216.0 AS DOUBLE PRECISION)),
                (25, CAST(33554432.0 AS DOUBLE PRECISION)),
                (26, CAST(67108864.0 AS DOUBLE PRECISION)),
                (27, CAST(134217728.0 AS DOUBLE PRECISION)),
                (28, CAST(268435456.0 AS DOUBLE PRECISION)),
                (29, CAST(536870912.0 AS DOUBLE PRECISION)),
                (30, CAST(1073741824.0 AS DOUBLE PRECISION))) AS levels(level, size)
            ) AS l
            WHERE
              a < b AND b > CAST(2.0 AS DOUBLE PRECISION) * FLOOR(b / CAST(2.0 AS DOUBLE PRECISION))
          ) AS nodes
        ) AS "o nodes 2"
      ) AS b
      WHERE
        a.k0 = b.k0 AND a."sqlsvm_node" = b."sqlsvm_node"
    )
) AS "v nodes 2"
  ON "o nodes 2"."k0" = "v nodes 2"."k0"
  AND "o nodes 2"."sqlsvm_node" = "v nodes 2"."sqlsvm_node"
  AND "v nodes 2"."sqlsvm_row2" = "v"."sqlsvm_row2"
