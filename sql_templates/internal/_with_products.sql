-- Measures the products of the terms of sums, and refuses sums that hardly vary
-- The variance of a sum over several tables contains the products of its terms. A sum that varies much less than its terms has
-- lost the digits in which the rows differ.
CREATE OR REPLACE FUNCTION sqlsvm._with_products(p sqlsvm._problem, given sqlsvm._given)
RETURNS sqlsvm._problem LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found jsonb := '{}';
    answers jsonb;
    item jsonb;
    odd text;
BEGIN
    FOR item IN SELECT i FROM jsonb_array_elements(p.design -> 'products') AS i LOOP
        EXIT WHEN p.squares[(item ->> 'of')::integer] IS NULL;
        answers := sqlsvm._run(item ->> 'part', given);
        PERFORM sqlsvm._drop(item ->> 'part');
        found := found || (SELECT jsonb_object_agg((item ->> 'of') || ' ' || (a ->> 'with'), answers -> (a ->> 'name') -> 0 -> (a ->> 'column'))
            FROM jsonb_array_elements(item -> 'answers') AS a);
    END LOOP;
    p.design := p.design || jsonb_build_object('product sums', found);
    SELECT f.item ->> 'feature' INTO odd
    FROM jsonb_array_elements(p.design -> 'features') AS f (item),
        LATERAL sqlsvm._variance(p, ARRAY(SELECT t::integer FROM jsonb_array_elements_text(f.item -> 'terms') AS t), p.n) AS v
    WHERE jsonb_array_length(f.item -> 'terms') > 1 AND v.variance <= 1e-10 * v.squares AND v.squares > 0 LIMIT 1;
    IF odd IS NOT NULL THEN
        RAISE EXCEPTION 'feature "%" hardly varies in the join, compared with its terms', odd USING ERRCODE = 'SV004',
            DETAIL = 'Sums of such terms lose the digits in which their sum differs.',
            HINT = 'Leave it out if it is constant; else subtract a constant from each term, and compile the query again.';
    END IF;
    RETURN p;
END $$;
