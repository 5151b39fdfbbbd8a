SELECT f.arr_delay > 15 AS late,
       f.distance, f.carrier, f.dest,
       EXTRACT(HOUR FROM f.time_hour) AS hour,
       f.month,
       p.seats, 2013 - p.year AS age, p.engine,
       w.temp, w.humid, w.wind_speed, w.precip, w.pressure, w.visib
FROM flights f
JOIN planes p ON p.tailnum = f.tailnum
JOIN weather w ON w.origin = f.origin AND w.time_hour = f.time_hour
LEFT JOIN airports a ON a.faa = f.dest
WHERE f.arr_delay IS NOT NULL
