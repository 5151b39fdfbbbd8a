-- What computes a score: SQL that the functions take apart and run
ALTER TABLE sqlsvm.versions ADD COLUMN score text;

COMMENT ON COLUMN sqlsvm.versions.score IS 'The score and the probability as SQL, as JSON; NULL if there were no functions yet';

INSERT INTO sqlsvm.schema_version (version) VALUES (4);
