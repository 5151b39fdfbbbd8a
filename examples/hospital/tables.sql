CREATE TABLE stays (id INT PRIMARY KEY, age DOUBLE PRECISION, emergency BOOLEAN, readmitted BOOLEAN);
CREATE TABLE diagnoses (stay INT, chapter TEXT);
CREATE TABLE prescriptions (stay INT, drug TEXT);
CREATE TABLE panels (stay INT, creatinine DOUBLE PRECISION, haemoglobin DOUBLE PRECISION, sodium DOUBLE PRECISION);
CREATE TABLE vitals (stay INT, pulse DOUBLE PRECISION, temperature DOUBLE PRECISION);
