\echo Use "CREATE EXTENSION sqlsvm" to load this file. \quit
