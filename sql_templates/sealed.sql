-- What runs of a score. Nobody can write it: PostgreSQL makes it of what is stored, with functions that it cannot change.
ALTER TABLE sqlsvm.versions ADD COLUMN IF NOT EXISTS expressions jsonb GENERATED ALWAYS AS (sqlsvm._expressions(score)) STORED;

COMMENT ON COLUMN sqlsvm.versions.expressions IS 'The score as it runs: what is stored, taken apart and put together again';
