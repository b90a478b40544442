# %% [markdown]
# # A history in a notebook
#
# Questions of docs/analytics.md, with DuckDB alone. `TURNFOLD_HISTORY` names the history; without
# it the sample conversations are folded into a temporary folder.

# %%
import os
import re
import subprocess
import tempfile
from pathlib import Path

import duckdb

temporary = tempfile.TemporaryDirectory()
folder = Path(temporary.name)
history = os.environ.get("TURNFOLD_HISTORY")
if history is None:
    history = str(folder / "history")
    subprocess.run(["turnfold", "demo", "--history", history], check=True, capture_output=True)

# %% [markdown]
# `turnfold admin catalog` writes a DuckDB file with tables, views and macros; the data stay
# where they are. It shows the history as it is now: run this cell again for a newer one.

# %%
catalog = folder / "catalog.duckdb"
subprocess.run(
    ["turnfold", "admin", "catalog", str(catalog), "--history", history],
    check=True,
    capture_output=True,
)
db = duckdb.connect(str(catalog), read_only=True)
db.execute("SET TimeZone = 'UTC'")
db.sql(
    "SELECT count(*) AS turns, count(DISTINCT (tenant, user_id)) AS users FROM event_current"
).show()

# %% [markdown]
# The questions of the page by their numbers, as relations that other queries can read.

# %%
page = Path(globals().get("__file__", "analytics_notebook.py")).parent / "analytics.md"
QUESTION = re.compile(r"^### (\d+)\. [^\n]+\n.*?^```sql\n(.*?)^```$", re.MULTILINE | re.DOTALL)
questions = {int(number): sql for number, sql in QUESTION.findall(page.read_text("utf-8"))}

# %% [markdown]
# ## Daily active users

# %%
daily = db.sql(questions[1])
db.sql("SELECT *, bar(users, 0, max(users) OVER (), 40) AS bar FROM daily ORDER BY date").show(
    max_rows=400
)

# %% [markdown]
# ## Of the new users of a week, percent that came in the weeks after

# %%
cohorts = db.sql(questions[3])
db.sql(
    "PIVOT (SELECT cohort, weeks_later, round(100 * users / first(users) OVER ("
    "PARTITION BY cohort ORDER BY weeks_later))::INTEGER AS percent FROM cohorts) "
    "ON weeks_later IN (0, 1, 2, 3, 4, 6, 8, 12) USING first(percent) ORDER BY cohort"
).show(max_rows=400)

# %% [markdown]
# ## What memory holds, by kind

# %%
growth = db.sql(questions[11])
db.sql(
    "SELECT entity_type, kind, max(so_far) AS found, "
    "bar(max(so_far), 0, max(max(so_far)) OVER (), 40) AS bar FROM growth GROUP BY ALL ORDER BY ALL"
).show(max_rows=400)

# %% [markdown]
# ## How far tasks get

# %%
db.sql(questions[18]).show(max_rows=400)

# %%
db.close()
temporary.cleanup()
