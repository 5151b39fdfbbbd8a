"""sqlsvm, scikit-learn and LightGBM train on the sales of TPC-DS before 2002, and those of 2002 measure them.

pip install tpcgen-cli scikit-learn lightgbm
python compare.py
"""

import subprocess
import sys
from pathlib import Path

from sklearn.model_selection import TimeSeriesSplit

sys.path.append(str(Path(__file__).parents[2]))

from examples.others import compare
from sqlsvm import RelationalSVC
from sqlsvm.engine import connect

QUERY = Path(__file__).with_name("query.sql").read_text(encoding="utf-8")
LATER = "2452276"
"""The key of 1 January 2002 in date_dim; keys grow with days."""


def main() -> None:
    if not Path("tpcds").exists():
        subprocess.run(["tpcgen-cli", "tpcds", "parquet", "-s", "0.1", "--output-dir=tpcds"], check=True)
    rows = QUERY.replace("s.ss_sold_date_sk,", f"s.ss_sold_date_sk >= {LATER} AS is_later,", 1)
    with connect("duckdb:") as engine:
        ours = RelationalSVC(nulls="mean", time="ss_sold_date_sk", holdout=LATER)
        compare(ours, engine, QUERY, "returned", rows + " ORDER BY s.ss_sold_date_sk", "is_later", TimeSeriesSplit(3))


if __name__ == "__main__":
    main()
