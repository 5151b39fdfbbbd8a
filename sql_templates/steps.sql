-- One text for each step. What analyses a working table is made of its name, so a reader sees all that runs. The type is changed,
-- because an UPDATE would sign the rows in another name.
ALTER TABLE sqlsvm.statements ALTER COLUMN texts TYPE text USING texts[1];
ALTER TABLE sqlsvm.statements RENAME COLUMN texts TO text;

COMMENT ON COLUMN sqlsvm.statements.text IS 'What is executed; a working table is analysed after it';

INSERT INTO sqlsvm.schema_version (version) VALUES (3);
