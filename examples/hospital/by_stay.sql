SELECT s.readmitted, s.age, s.emergency,
       d.chapter, p.drug,
       l.creatinine, l.haemoglobin, l.sodium,
       v.pulse, v.temperature,
       s.share
FROM (
  SELECT stays.*, 1.0 / (nd.n * np.n * nl.n * nv.n) AS share
  FROM stays
  JOIN (SELECT stay, COUNT(*) AS n FROM diagnoses GROUP BY stay) nd ON nd.stay = stays.id
  JOIN (SELECT stay, COUNT(*) AS n FROM prescriptions GROUP BY stay) np ON np.stay = stays.id
  JOIN (SELECT stay, COUNT(*) AS n FROM panels GROUP BY stay) nl ON nl.stay = stays.id
  JOIN (SELECT stay, COUNT(*) AS n FROM vitals GROUP BY stay) nv ON nv.stay = stays.id
) s
JOIN diagnoses d ON d.stay = s.id
JOIN prescriptions p ON p.stay = s.id
JOIN panels l ON l.stay = s.id
JOIN vitals v ON v.stay = s.id
