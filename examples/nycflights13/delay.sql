SELECT f.arr_delay AS delay,
       f.distance, f.hour, f.month, f.origin, f.dest,
       al.name AS airline,
       p.seats, 2013 - p.year AS age, p.engine,
       a.alt AS altitude,
       w.temp, w.humid, w.wind_speed, w.precip, w.pressure, w.visib
FROM flights f
JOIN airlines al ON al.carrier = f.carrier
JOIN planes p ON p.tailnum = f.tailnum
JOIN weather w ON w.origin = f.origin AND w.time_hour = f.time_hour
LEFT JOIN airports a ON a.faa = f.dest
WHERE f.arr_delay IS NOT NULL
