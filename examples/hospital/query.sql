SELECT s.readmitted, s.age, s.emergency,
       d.chapter, p.drug,
       l.creatinine, l.haemoglobin, l.sodium,
       v.pulse, v.temperature
FROM stays s
JOIN diagnoses d ON d.stay = s.id
JOIN prescriptions p ON p.stay = s.id
JOIN panels l ON l.stay = s.id
JOIN vitals v ON v.stay = s.id
