"""Mean relative errors of scikit-learn's ExtraTreesRegressor on rows of `target,network,variant,value,features...`."""
import csv
import sys

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor

FIT = {0, 30, 50, 70, 90}
SCORE = {5, 10, 15, 20, 25, 35, 40, 45, 55, 60, 65, 75, 80, 85}

with open(sys.argv[1], newline="") as file:
    rows = list(csv.reader(file))
target, network, level = (np.array(column) for column in list(zip(*rows))[:3])
level = level.astype(int)
value = np.array([float(row[3]) for row in rows])
X = np.array([[float(cell) for cell in row[4:]] for row in rows])


def error(fit, score):
    errors = []
    for seed in range(3):
        model = ExtraTreesRegressor(300, random_state=seed, n_jobs=2).fit(X[fit], value[fit])
        errors.append(100 * np.mean(np.abs(model.predict(X[score]) - value[score]) / value[score]))
    return np.mean(errors)


for what in ("latency", "memory"):
    for name in sorted(set(network)):
        own = (target == what) & (network == name)
        same = error(own & np.isin(level, list(FIT)), own & np.isin(level, list(SCORE)))
        print(f"same,{what},{name},{same}")
        print(f"unseen,{what},{name},{error((target == what) & (network != name), own)}")
