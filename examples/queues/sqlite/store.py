"""A queue of jobs in one SQLite file: what the hooks, the `queue` command and the server of ../http do with it."""

import os
import sqlite3
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# Whoever has held a job for so many seconds without a word has lost it.
LEASE = float(os.environ.get("QUEUE_LEASE_SECONDS", 3600))
# Nobody here wants a job that was refused so often.
MOST_REFUSALS = 3
# A job that had to leave so often is not tried again.
MOST_TRIES = 10

TABLES = """
CREATE TABLE IF NOT EXISTS job (
    id INTEGER PRIMARY KEY,
    ad TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'claimed', 'done', 'failed', 'cancelled')),
    attempt INTEGER NOT NULL DEFAULT 0,
    refused INTEGER NOT NULL DEFAULT 0,
    slot TEXT,
    lease REAL,
    result TEXT,
    outcome TEXT
);
CREATE INDEX IF NOT EXISTS job_order ON job (state, refused, id);
CREATE TABLE IF NOT EXISTS history (at REAL, job INTEGER, attempt INTEGER, what TEXT);
"""


def value(ad, name):
    """The last literal value of an attribute in a printed ad, without quotes; None where there is none."""
    found = None
    for line in ad.splitlines():
        key, equals, text = line.partition("=")
        if equals and key.strip().lower() == name.lower():
            found = text.strip().strip('"')
    return found


class Store:
    """The queue. Every call is one transaction, so a hook that dies in its middle has done nothing."""

    def __init__(self, path=None):
        path = path or os.path.join(HERE, "store", "queue.db")
        self.base = sqlite3.connect(path, timeout=60, isolation_level=None)
        self.base.row_factory = sqlite3.Row

    def __enter__(self):
        self.base.execute("BEGIN IMMEDIATE")
        return self

    def __exit__(self, kind, error, trace):
        self.base.execute("COMMIT" if kind is None else "ROLLBACK")

    def create(self):
        self.base.execute("PRAGMA journal_mode = WAL")
        self.base.executescript(TABLES)

    def note(self, job, attempt, what):
        self.base.execute("INSERT INTO history VALUES (?, ?, ?, ?)", (time.time(), job, attempt, what))

    # What the hooks do.

    def fetch(self, slot):
        """A job for this slot: the ad with the lines by which the later hooks know it; None where there is no work."""
        now = time.time()
        for lost in self.base.execute(
            "SELECT id, attempt FROM job WHERE state = 'claimed' AND lease < ?", (now,)
        ).fetchall():
            self.base.execute("UPDATE job SET state = 'new' WHERE id = ?", (lost["id"],))
            self.note(lost["id"], lost["attempt"], "lease lost")
        job = self.base.execute(
            "SELECT * FROM job WHERE state = 'new' ORDER BY refused, id LIMIT 1"
        ).fetchone()
        if job is None:
            return None
        attempt = job["attempt"] + 1
        self.base.execute(
            "UPDATE job SET state = 'claimed', attempt = ?, slot = ?, lease = ?, outcome = NULL WHERE id = ?",
            (attempt, slot, now + LEASE, job["id"]),
        )
        name = job["id"]
        return (
            f"{job['ad'].rstrip()}\n"
            f'QueueName = "{name}"\nQueueAttempt = {attempt}\nClusterId = {name}\nProcId = 0\n'
            f'Out = "{name}.out"\nErr = "{name}.err"\n'
        )

    def mine(self, ad):
        """The job of an ad, if it is still held by that attempt."""
        return self.base.execute(
            "SELECT * FROM job WHERE id = ? AND attempt = ? AND state IN ('claimed', 'cancelled')",
            (value(ad, "QueueName"), value(ad, "QueueAttempt")),
        ).fetchone()

    def reject(self, ad):
        """The slot did not want the job: it is offered again, behind the others."""
        job = self.mine(ad)
        if job is None or job["state"] != "claimed":
            return
        refused = job["refused"] + 1
        enough = refused >= MOST_REFUSALS
        self.base.execute(
            "UPDATE job SET state = ?, refused = ?, outcome = ? WHERE id = ?",
            ("failed" if enough else "new", refused, f"refused {refused} times", job["id"]),
        )
        self.note(job["id"], job["attempt"], "rejected")

    def update(self, ad):
        """The job runs: its lease begins anew."""
        if (job := self.mine(ad)) is not None:
            self.base.execute("UPDATE job SET lease = ? WHERE id = ?", (time.time() + LEASE, job["id"]))

    def end(self, how, ad):
        """The job has ended (exit, hold) or had to leave (remove, evict)."""
        job = self.mine(ad)
        if job is None:
            # Its lease was lost and somebody else has it, or it has ended already.
            self.note(value(ad, "QueueName"), value(ad, "QueueAttempt"), f"late end: {how}")
            return
        state, outcome = "new", f"had to leave: {how}"
        if how == "exit" and value(ad, "ExitBySignal") == "true":
            state, outcome = "failed", f"died by signal {value(ad, 'ExitSignal')}"
        elif how == "exit":
            status = value(ad, "ExitCode")
            state, outcome = ("done" if status == "0" else "failed"), f"exited with status {status}"
        elif how == "hold":
            state, outcome = "failed", f"held: {value(ad, 'HoldReason')}"
        if state == "new" and job["attempt"] >= MOST_TRIES:
            state = "failed"
        if job["state"] == "cancelled":
            state = "cancelled"
        result = ad if how in ("exit", "hold") else None
        self.base.execute(
            "UPDATE job SET state = ?, outcome = ?, result = ?, lease = NULL WHERE id = ?",
            (state, outcome, result, job["id"]),
        )
        self.note(job["id"], job["attempt"], f"{how}: {outcome}")

    # What a person does.

    def submit(self, text, copies=1):
        """Each ad of the text becomes a job; returns how many."""
        ads = [ad for ad in (part.strip("\n") for part in text.replace("\r\n", "\n").split("\n\n")) if ad.strip()]
        rows = [(ad + "\n",) for ad in ads for _ in range(copies)]
        self.base.executemany("INSERT INTO job (ad) VALUES (?)", rows)
        return len(rows)

    def list(self):
        """Rows of (id, state, tries, outcome)."""
        return [
            (row["id"], row["state"], row["attempt"], row["outcome"] or "")
            for row in self.base.execute("SELECT id, state, attempt, outcome FROM job ORDER BY id")
        ]

    def results(self):
        """The ads of the jobs that have ended, separated by empty lines."""
        rows = self.base.execute("SELECT result FROM job WHERE result IS NOT NULL ORDER BY id")
        return "".join(row["result"].rstrip("\n") + "\n\n" for row in rows)

    def retry(self, ids):
        """Jobs that have ended are new again; `None` means all that failed. Returns how many."""
        change = "UPDATE job SET state = 'new', refused = 0, outcome = NULL, result = NULL WHERE state"
        if ids is None:
            return self.base.execute(f"{change} = 'failed'").rowcount
        return sum(
            self.base.execute(f"{change} IN ('done', 'failed', 'cancelled') AND id = ?", (one,)).rowcount
            for one in ids
        )

    def cancel(self, ids):
        """New jobs are not handed out any more; running ones end as cancelled. Returns how many."""
        change = "UPDATE job SET state = 'cancelled' WHERE state IN ('new', 'claimed') AND id = ?"
        return sum(self.base.execute(change, (one,)).rowcount for one in ids)
