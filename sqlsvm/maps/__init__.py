"""FeatureQuery -> FeatureQuery: columns that are computed from other columns of one relation (`--map`)."""
