-- s
SELECT CAST("s"."amount" AS DOUBLE PRECISION) AS c0, "s"."big" AS c2, "s"."shop" AS k0
FROM "public".sales AS "s"
WHERE
  NOT "s"."shop" IS NULL
  AND "s"."shop" IN (SELECT "h"."id" AS v FROM "public".shops AS "h" WHERE "h"."country" = 'AT');

-- h
SELECT CAST("h"."area" AS DOUBLE PRECISION) AS c1, "h"."id" AS k0
FROM "public".shops AS "h"
WHERE "h"."country" = 'AT' AND NOT "h"."id" IS NULL;
