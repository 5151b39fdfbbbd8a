-- What the helpers hand to each other. An upgrade drops them first, like the helpers.
DO $$
BEGIN
    IF pg_catalog.to_regtype('sqlsvm._given') IS NULL THEN
        -- The parameters of the statements of a program
        -- The order is that of IN_ORDER in plan/parameters.py: $1 is theta, $2 is bound, and so on.
        CREATE TYPE sqlsvm._given AS (
            theta float8[], bound float8, buckets float8, label float8, levels float8[], slack float8,
            shift float8, lowest float8, width float8,
            weight_negative float8, weight_positive float8
        );

        -- A scaled number, scale (sum of terms - centre), where terms are less the origin and a missing one is the mean; terms and missing are raw coordinates
        CREATE TYPE sqlsvm._feature AS (
            place integer, name text, terms integer[], missing integer, scale float8, mean float8, centre float8, origin float8
        );

        -- A program with working tables: its moments, its scaling, and the weights at which it counts
        CREATE TYPE sqlsvm._problem AS (
            program text, label text, design jsonb, options jsonb, nulls text, weight_negative float8, weight_positive float8,
            rows jsonb, n float8, n_negative float8, label_total float8, origin float8,
            size integer, dictionary integer[], total float8[], squares float8[], largest float8[], negative float8[], unit float8,
            coordinates integer, dimension integer, constant integer, features sqlsvm._feature[], theta float8[]
        );

        -- R(b) >= intercept + slope.b for all b; at the point of the pass intercept + slope.b + blur = value_low <= R <= value_low + error; what the rounding of offset and slope is multiplied by, and that of the value; how the pass counted a loss that is no hinge
        CREATE TYPE sqlsvm._cut AS (
            slope float8[], intercept float8, value_low float8, error float8, blur float8,
            offset_size float8, slope_size float8, rounded float8, lines jsonb
        );

        -- As solve/rounding.py has it; where slopes are added up the share is this many times larger, and in running sums
        CREATE TYPE sqlsvm._rounding AS (
            share float8, sums float8, lists float8, features float8, sizes float8[]
        );

        -- The place in beta of each dense column; the inverse of the metric along each of sqlsvm_vectors, and of what these leave out; the curvature of the loss along other columns, NULL along dense ones
        CREATE TYPE sqlsvm._metric AS (
            places integer[], inside float8[], rest float8, outside float8[]
        );

        -- lambda |beta|^2 + l1 |beta| with low <= beta <= high; the place of an intercept that has no penalty, and what it gets in its place
        CREATE TYPE sqlsvm._penalty AS (
            lambda float8, l1 float8[], low float8[], high float8[], intercept integer, trace float8
        );

        -- What is minimised together with cuts: the sum of b^2 / (2 weight) + pull b + l1 |b|, with low <= b <= high
        CREATE TYPE sqlsvm._shape AS (
            weight float8[], pull float8[], l1 float8[], low float8[], high float8[]
        );

        -- A training after a pass: its best iterate, its proof, the dual of its bundle, the density at the hinge; the share of a gap that rounding may have made
        CREATE TYPE sqlsvm._state AS (
            pass integer, best integer, stalls integer, objective float8, objective_upper float8,
            bound float8, lower_bound float8, gap float8, alpha float8[], density float8, grain float8, unit float8, width float8, heap boolean, nothing boolean, start float8[], rounded float8
        );

        -- Counts of the scores of all rows; each array is value, lower bound, upper bound
        CREATE TYPE sqlsvm._seen AS (
            negatives float8, positives float8, true_positive float8[], false_positive float8[], auc float8[]
        );
    END IF;
END $$;
