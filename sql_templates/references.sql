ALTER TABLE sqlsvm.versions
    ADD CONSTRAINT versions_of_a_model FOREIGN KEY (name) REFERENCES sqlsvm.models (name) ON DELETE CASCADE;

ALTER TABLE sqlsvm.iterations
    ADD CONSTRAINT iterations_of_a_version
    FOREIGN KEY (name, version) REFERENCES sqlsvm.versions (name, version) ON DELETE CASCADE;
