-- rows of d
CREATE TEMPORARY TABLE sqlsvm_n1 AS
SELECT
  "d"."k" AS k0,
  CAST("d"."b" AS DOUBLE PRECISION) AS x1,
  CAST("d"."sqlsvm_map2_3_0" AS DOUBLE PRECISION) AS x5,
  CAST("d"."sqlsvm_map3_1_0" AS DOUBLE PRECISION) AS x6
FROM (
  SELECT
    "d".*,
    CASE
      WHEN "d"."sqlsvm_map3_known"
      THEN GREATEST(0.125e0 + (1.0e0 * "d"."sqlsvm_map3_0_0") + ((-2.0e0) * "d"."sqlsvm_map3_0_1"), 0.0e0)
    END AS "sqlsvm_map3_1_0"
  FROM (
    SELECT
      "d".*,
      GREATEST(0.25e0 + (0.5e0 * ("d"."sqlsvm_map3_0" - 3.5e0)), 0.0e0) AS "sqlsvm_map3_0_0",
      GREATEST(0.0e0 + ((-1.0e0) * ("d"."sqlsvm_map3_0" - 3.5e0)), 0.0e0) AS "sqlsvm_map3_0_1"
    FROM (
      SELECT "d".*, CAST("d"."b" AS DOUBLE PRECISION) AS "sqlsvm_map3_0", NOT "d"."b" IS NULL AS "sqlsvm_map3_known"
      FROM (
        SELECT
          "d".*,
          CASE WHEN "d"."sqlsvm_map2_known" THEN 0.0e0 + (1.0e0 * "d"."sqlsvm_map2_2_0")
          END AS "sqlsvm_map2_3_0"
        FROM (
          SELECT
            "d".*,
            EXP(
              GREATEST(
                (-1.2346938775510203e0) + (
                  2.2223355980148636e0 * "d"."sqlsvm_map2_1_0"
               ) - "d"."sqlsvm_map2_1_1",
                (-700.0e0)
             )
           ) AS "sqlsvm_map2_2_0"
          FROM (
            SELECT
              "d".*,
              "d"."sqlsvm_map2_0_0" AS "sqlsvm_map2_1_0",
              "d"."sqlsvm_map2_0_0" * "d"."sqlsvm_map2_0_0" AS "sqlsvm_map2_1_1"
            FROM (
              SELECT "d".*, 0.20203050891044216e0 * ("d"."sqlsvm_map2_0" - 3.5e0) AS "sqlsvm_map2_0_0"
              FROM (
                SELECT
                  "d".*,
                  CAST("d"."b" AS DOUBLE PRECISION) AS "sqlsvm_map2_0",
                  NOT "d"."b" IS NULL AS "sqlsvm_map2_known"
                FROM "public".d AS "d"
             ) AS "d"
           ) AS "d"
         ) AS "d"
       ) AS "d"
     ) AS "d"
   ) AS "d"
 ) AS "d"
) AS "d";

-- rows of s
CREATE TEMPORARY TABLE sqlsvm_n0 AS
SELECT l.k0 AS k0, l.x2 AS x2, l.x3 AS x3, l.x4 AS x4, l.y AS y
FROM (
  SELECT
    "s"."k" AS k0,
    CAST(CASE
      WHEN NOT "s"."a" IS NULL
      THEN CASE
        WHEN CAST("s"."a" AS DOUBLE PRECISION) < 0.0e0
        THEN 1.0e0
        WHEN CAST("s"."a" AS DOUBLE PRECISION) < 4.0e0
        THEN 1.0e0 + ((CAST("s"."a" AS DOUBLE PRECISION) - 0.0e0) * (-0.25e0))
        ELSE 0.0e0
      END
    END AS DOUBLE PRECISION) AS x2,
    CAST(CASE
      WHEN NOT "s"."a" IS NULL
      THEN CASE
        WHEN CAST("s"."a" AS DOUBLE PRECISION) < 0.0e0
        THEN 0.0e0
        WHEN CAST("s"."a" AS DOUBLE PRECISION) < 4.0e0
        THEN 0.0e0 + ((CAST("s"."a" AS DOUBLE PRECISION) - 0.0e0) * 0.25e0)
        WHEN CAST("s"."a" AS DOUBLE PRECISION) < 8.0e0
        THEN 1.0e0 + ((CAST("s"."a" AS DOUBLE PRECISION) - 4.0e0) * (-0.25e0))
        ELSE 0.0e0
      END
    END AS DOUBLE PRECISION) AS x3,
    CAST(CASE
      WHEN NOT ("s"."a" / (1 + "s"."sqlsvm_met0")) IS NULL
      THEN CASE WHEN CAST("s"."a" / (1 + "s"."sqlsvm_met0") AS DOUBLE PRECISION) < 0.7e0 THEN 1.0e0 ELSE 0.0e0
      END
    END AS DOUBLE PRECISION) AS x4,
    CASE WHEN "s"."y" THEN 1 WHEN NOT "s"."y" THEN -1 END AS y
  FROM (
    SELECT "s".*, "d"."b" AS "sqlsvm_met0"
    FROM "public".s AS "s"
    LEFT JOIN "public".d AS "d" ON "s"."k" = "d"."k"
 ) AS "s"
) AS l
JOIN (SELECT n.k0 AS k0, CAST(1.0 AS DOUBLE PRECISION) AS c FROM sqlsvm_n1 AS n) AS sqlsvm_n1
  ON l.k0 = sqlsvm_n1.k0
WHERE NOT l.k0 IS NULL;
