SELECT i.arr_delay <= 15 AS on_time,
       i.hour - j.hour AS hour,
       CAST(i.origin = 'EWR' AS INT) - CAST(j.origin = 'EWR' AS INT) AS ewr,
       CAST(i.origin = 'JFK' AS INT) - CAST(j.origin = 'JFK' AS INT) AS jfk,
       CAST(i.carrier = 'UA' AS INT) - CAST(j.carrier = 'UA' AS INT) AS ua,
       CAST(i.carrier = 'B6' AS INT) - CAST(j.carrier = 'B6' AS INT) AS b6,
       CAST(i.carrier = 'EV' AS INT) - CAST(j.carrier = 'EV' AS INT) AS ev,
       CAST(i.carrier = 'DL' AS INT) - CAST(j.carrier = 'DL' AS INT) AS dl,
       CAST(i.carrier = 'AA' AS INT) - CAST(j.carrier = 'AA' AS INT) AS aa,
       CAST(i.carrier = 'MQ' AS INT) - CAST(j.carrier = 'MQ' AS INT) AS mq
FROM flights i
JOIN flights j ON j.dest = i.dest AND j.month = i.month AND j.day = i.day
WHERE i.arr_delay <= 15 AND j.arr_delay > 15
