{{ config(materialized='table') }}
SELECT n AS id, CAST(20 + (n * 7) % 50 AS DOUBLE PRECISION) AS age FROM generate_series(1, 100) AS s(n)
