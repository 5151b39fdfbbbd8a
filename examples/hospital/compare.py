"""sqlsvm, scikit-learn and LightGBM tell which patients come back, and the last 1,500 stays measure them.

    pip install scikit-learn lightgbm
    python compare.py

The join has too many rows for the others. They get one row for each stay, with means and shares.
"""

import sys
from pathlib import Path

from load import HERE, load
from sklearn.metrics import roc_auc_score

sys.path.append(str(HERE.parents[1]))

from examples.others import exported, others, timed
from sqlsvm import RelationalSVC
from sqlsvm.engine import connect

QUERY = Path(__file__).with_name("by_stay.sql").read_text(encoding="utf-8")
FIRST = 3501


def share(table: str, column: str, values: str) -> str:
    each = ", ".join(f"AVG(({column} = '{value}')::INT) AS {value}" for value in values.split())
    return f"(SELECT stay, {each} FROM {table} GROUP BY stay)"


ROWS = f"""
SELECT readmitted, s.id >= {FIRST} AS is_later, age, emergency::INT AS emergency,
       d.* EXCLUDE (stay), p.* EXCLUDE (stay), l.* EXCLUDE (stay), v.* EXCLUDE (stay)
FROM stays s
JOIN {share("diagnoses", "chapter", "heart kidney lung injury birth other")} d ON d.stay = s.id
JOIN {share("prescriptions", "drug", "diuretic insulin anticoagulant antibiotic painkiller vitamin")} p ON p.stay = s.id
JOIN (SELECT stay, AVG(creatinine) AS creatinine, AVG(haemoglobin) AS haemoglobin, AVG(sodium) AS sodium
      FROM panels GROUP BY stay) l ON l.stay = s.id
JOIN (SELECT stay, AVG(pulse) AS pulse, AVG(temperature) AS temperature FROM vitals GROUP BY stay) v ON v.stay = s.id
ORDER BY s.id
"""


def main() -> None:
    with connect("duckdb:") as engine:
        load(engine)
        ours = RelationalSVC(weight="share", time="id", holdout=str(FIRST))
        query = QUERY.replace("SELECT s.readmitted,", "SELECT s.readmitted, s.id,")
        seconds, svc = timed(lambda: ours.fit(engine, query, "readmitted"))
        rows = exported(engine, ROWS)
    later = rows[rows["is_later"].astype(bool)]
    # The score of a stay is the mean over its rows: the score of the means.
    weights = [(w.category or term.feature, w.weight) for term in svc.model_.terms for w in term.weights]
    scores = sum(weight * later[column].astype(float) for column, weight in weights)
    area = roc_auc_score(later["readmitted"].astype(bool), scores)
    print(
        f"sqlsvm on 257 million rows, {svc.model_.loss}, lambda {svc.model_.lam:g}: AUC {area:.4f} in {seconds:.1f} s"
    )
    print(f"  gap {svc.certificate_.gap:.1e}")
    for line in others(rows, "readmitted", "is_later", 3):
        print(line)


if __name__ == "__main__":
    main()
