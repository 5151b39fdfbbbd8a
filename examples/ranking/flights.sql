SELECT f.arr_delay <= 15 AS on_time, f.hour AS hour,
       CAST(f.origin = 'EWR' AS INT) AS ewr, CAST(f.origin = 'JFK' AS INT) AS jfk,
       CAST(f.carrier = 'UA' AS INT) AS ua, CAST(f.carrier = 'B6' AS INT) AS b6, CAST(f.carrier = 'EV' AS INT) AS ev,
       CAST(f.carrier = 'DL' AS INT) AS dl, CAST(f.carrier = 'AA' AS INT) AS aa, CAST(f.carrier = 'MQ' AS INT) AS mq
FROM flights f
WHERE f.month = 12 AND f.day = 20 AND f.dest = 'BOS'
ORDER BY f.sched_dep_time
LIMIT 3
