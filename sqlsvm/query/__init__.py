"""SQL text -> FeatureQuery: parse the query, refuse what cannot be trained on, and take the rest apart.

No database is needed here. Facts that only the database knows are passed as values, in three steps:

    select = parse(text, engine.dialect)
    items = sources(select, engine.fold)
    columns = {item.alias: engine.describe(item.probe) for item in items}
    query = feature_query(text, select, items, columns, engine.fold, dialect=engine.dialect, label="late")
    query = ruled(query, Facts(engine))

`sent(text, engine.dialect).functions(engine.fold)` names every function called. The caller asks the database whether
one of them is volatile: only the functions that come with the engine are known here.
"""

from sqlsvm.query.guards import check_view
from sqlsvm.query.ir import Equality, Feature, FeatureQuery, Fold, LeftJoin, Relation, Term
from sqlsvm.query.outputs import feature_query
from sqlsvm.query.parse import parse
from sqlsvm.query.sources import Source, sources

__all__ = ["Equality", "Feature", "FeatureQuery", "Fold", "LeftJoin", "Relation", "Source", "Term"]
__all__ += ["check_view", "feature_query", "parse", "sources"]
