"""
Features that cost money
========================

The rows of this data are patients, the columns are laboratory tests, and a test that nobody has ordered is
not known. Each has its price. A support vector machine is trained without ordering them all: under a budget,
from a database, and again after an interruption, without paying for anything twice.
"""

# %%
# A laboratory
# ------------
# To have something to sell, we put the breast cancer data of scikit-learn into a SQLite database: a table of
# results with one column for each test, and a table of prices, which are made up: 1 for a mean, 2 for a
# standard error, 5 for a worst value.

import json
import sqlite3
import tempfile
import threading
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import urlopen

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from hinge import LinearSVC, Oracle

warnings.simplefilter("ignore", ConvergenceWarning)  # fits that may not read all rows say that they have no certificate
data = load_breast_cancer()
X = StandardScaler().fit_transform(data.data)
y = np.where(data.target == 0, 1, -1)  # malignant is positive
n, d = X.shape
tests = [name.replace(" ", "_") for name in data.feature_names]
prices = [5.0 if "worst" in name else 2.0 if "error" in name else 1.0 for name in tests]

folder = Path(tempfile.mkdtemp())
database = sqlite3.connect(folder / "laboratory.db")
database.execute(f"CREATE TABLE results (patient INTEGER PRIMARY KEY, {', '.join(f'{t} REAL' for t in tests)})")
database.execute("CREATE TABLE tests (number INTEGER PRIMARY KEY, name TEXT, price REAL)")
database.executemany(
    f"INSERT INTO results VALUES ({', '.join('?' * (d + 1))})", [(i, *X[i].tolist()) for i in range(n)]
)
database.executemany("INSERT INTO tests VALUES (?, ?, ?)", list(zip(range(d), tests, prices, strict=True)))
database.commit()

# %%
# What it has to offer
# --------------------
# A `shape`, `row` and `column` are all that is needed. `cells` says that single tests can be ordered: without
# it, whoever wants one would have to buy all tests of the patient. `prices` has one for each column.


class Laboratory:
    """Tests of patients, ordered from a database."""

    def __init__(self, database):
        self.database = database
        listed = self.order("SELECT name, price FROM tests ORDER BY number")
        self.names, self.prices = zip(*listed, strict=True)
        self.shape = self.order("SELECT COUNT(*) FROM results")[0][0], len(self.names)

    def order(self, query, *values):
        return self.database.execute(query, values).fetchall()

    def row(self, i):
        return self.cells(i, range(self.shape[1]))

    def column(self, j):
        return [value for (value,) in self.order(f"SELECT {self.names[j]} FROM results ORDER BY patient")]

    def cells(self, i, columns):
        names = ", ".join(self.names[j] for j in columns)
        return self.order(f"SELECT {names} FROM results WHERE patient = ?", i)[0]


# %%
# `Oracle` counts, keeps what was paid for, and asks again where a call fails.

table = Oracle(Laboratory(database))
table.block(np.arange(3), np.array([0, 20]))  # two tests of three patients
print(f"{table.bill.cells} cells for {table.bill.cost:g}, in {table.calls} calls")
table.row(0)  # the other 28 tests of the first one
print(f"{table.bill.cells} cells for {table.bill.cost:g}, in {table.calls} calls")

# %%
# A model for a quarter of the price
# ----------------------------------
# All tests of all patients have their price. We pay a quarter of it at most: `max_cost` is a limit of the
# laboratory's customer, whatever the method does. (`max_reads` would limit the number of tests instead.)

everything = n * sum(prices)
model = LinearSVC(lam=0.01, random_state=0)
model.fit(Oracle(Laboratory(database), max_cost=everything / 4), y)
print(f"ended by {model.stop_reason_}, with an error of {1 - model.score(X, y):.3f} on all patients")
print(f"{model.n_feature_reads_} cells, {model.n_distinct_reads_} distinct, {model.bytes_read_} bytes")
print(f"paid {model.cost_:.0f} of {everything:.0f}")

# %%
# The same model from all tests, for comparison.

whole = LinearSVC(lam=0.01, random_state=0).fit(X, y)
print(f"error {1 - whole.score(X, y):.3f} from {n * d} cells")

# %%
# Interrupted, and resumed
# ------------------------
# Where a result has cost money, it should not be lost with the process. With `cache`, all that was paid for
# is in a folder before it is handed out. Here the laboratory closes after a hundred orders, as if someone
# had pressed Ctrl-C.


class ClosingLaboratory(Laboratory):
    """A laboratory that closes in the middle of our work."""

    orders = 0

    def cells(self, i, columns):
        self.orders += 1
        if self.orders > 100:
            raise KeyboardInterrupt
        return super().cells(i, columns)


cut_short = Oracle(ClosingLaboratory(database), max_cost=everything / 4, cache=folder / "paid", name="laboratory")
try:
    model.fit(cut_short, y)
except KeyboardInterrupt:
    print(f"closed after {cut_short.bill.cells} cells for {cut_short.bill.cost:.0f}")
cut_short.close()

# %%
# The next day nothing is paid for twice. The budget is still that of both days together: what the cache has
# counts.

resumed = Oracle(Laboratory(database), max_cost=everything / 4, cache=folder / "paid", name="laboratory")
print(f"{resumed.recovered} cells are known")
model.fit(resumed, y)
print(f"paid {model.cost_:.0f} more; error {1 - model.score(X, y):.3f}")
resumed.close()

# %%
# What a budget buys
# ------------------

shares = [0.05, 0.1, 0.2, 0.4, 0.8]
errors = []
for share in shares:
    bought = LinearSVC(lam=0.01, random_state=0).fit(Oracle(Laboratory(database), max_cost=share * everything), y)
    errors.append(1 - bought.score(X, y))
fig, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
ax.plot(shares, errors, "o-", label="under a budget")
ax.axhline(1 - whole.score(X, y), color="grey", ls=":", label="all tests of all patients")
ax.set(xlabel="share of the full price", ylabel="error on all patients", ylim=0)
ax.legend()
plt.show()

# %%
# Over HTTP
# ---------
# The seller may as well be a service. This one answers on this machine only; nothing but the class that asks differs.


class Service(BaseHTTPRequestHandler):
    """``/i?columns`` gives some tests of patient i."""

    def do_GET(self):
        i, _, columns = self.path.strip("/").partition("?")
        answer = json.dumps(X[int(i), [int(j) for j in columns.split(",")]].tolist()).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        """Say nothing."""


class Remote:
    """The same laboratory, asked over the network."""

    shape, prices = (n, d), prices

    def __init__(self, address):
        self.address = address

    def cells(self, i, columns):
        with urlopen(f"{self.address}/{i}?{','.join(map(str, columns))}", timeout=5) as answer:
            return json.load(answer)

    def row(self, i):
        return self.cells(i, range(d))

    def column(self, j):
        return [self.cells(i, [j])[0] for i in range(n)]


server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
threading.Thread(target=server.serve_forever, daemon=True).start()
remote = Oracle(Remote(f"http://127.0.0.1:{server.server_port}"), max_cost=everything / 10, retries=2, timeout=5)
model.fit(remote, y)
print(f"{remote.calls} requests, paid {model.cost_:.0f}; error {1 - model.score(X, y):.3f}")
server.shutdown()
server.server_close()
database.close()
