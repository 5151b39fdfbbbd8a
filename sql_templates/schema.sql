CREATE SCHEMA sqlsvm;

COMMENT ON SCHEMA sqlsvm IS 'Linear support vector machines that sqlsvm trained over joins';
