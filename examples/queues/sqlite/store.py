"""A queue of jobs in one SQLite file: operations for the hooks, the `queue` command and the server of ../http."""

import math
import os
import re
import sqlite3
import sys
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
# Number of refusals after which a job fails.
MAX_REFUSALS = 3
# Number of evictions and lost leases after which a job is not tried again.
MAX_TRIES = 10
# Maximum number of jobs submitted at once, so that a typing error does not fill the disk.
MAX_JOBS = 1_000_000

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


def raw(text):
    """The bytes from which a text was decoded."""
    return None if text is None else str(text).encode("utf-8", "surrogateescape")


class Refused(Exception):
    """A request is refused; the text is the reason."""


def report_error(kind, error, trace):
    """Reports errors caused by users or a full disk in one line."""
    if not issubclass(kind, (Refused, sqlite3.Error, OSError)):
        return sys.__excepthook__(kind, error, trace)
    print(f"{os.path.basename(sys.argv[0])}: {error}", file=sys.stderr)


sys.excepthook = report_error
# Ads may contain any bytes, which are returned unchanged.
for stream in (sys.stdin, sys.stdout):
    stream.reconfigure(encoding="utf-8", errors="surrogateescape")


def lease(text):
    """Seconds without an update after which a job counts as lost, from a text [default: one hour]."""
    try:
        seconds = float(text or 3600)
    except ValueError:
        seconds = 0.0
    if not (math.isfinite(seconds) and seconds > 0):
        raise Refused(f"QUEUE_LEASE_SECONDS = '{text}' is not a number of seconds")
    return seconds


def value(ad, name):
    """The last literal value of an attribute in a printed ad, without quotes, or None."""
    found = None
    for line in ad.split("\n"):
        key, equals, text = line.partition("=")
        if equals and key.strip().lower() == name.lower():
            found = text.strip().strip('"')
    return found


# Attributes that an earlier run has added to an ad.
EARLIER = re.compile(r"\s*(queue(name|attempt|slot|refused)|exit(bysignal|signal|code))\s*=", re.IGNORECASE)


def ads(text):
    """The ads in a text, separated by empty lines, without comments and attributes of an earlier run."""
    ad = []
    for number, line in enumerate((text + "\n\n").split("\n"), 1):
        line = line.rstrip("\r")
        if line.strip():
            if not re.match(r"\s*([A-Za-z_][\w.]*\s*=\s*[^\s=]|#)", line):
                raise Refused(f"line {number} is not an attribute of an ad: {ascii(line[:60])}")
            if not line.lstrip().startswith("#") and not EARLIER.match(line):
                ad.append(line + "\n")
        elif ad:
            yield "".join(ad)
            ad = []


class Store:
    """The queue. Each use is one transaction, so a hook that dies changes nothing."""

    def __init__(self, mode="rw"):
        self.begin = "BEGIN" if mode == "ro" else "BEGIN IMMEDIATE"
        path = urllib.parse.quote(os.path.join(HERE, "store", "queue.db"))
        self.base = sqlite3.connect(f"file:{path}?mode={mode}", uri=True, timeout=60, isolation_level=None)
        self.base.row_factory = sqlite3.Row
        # The value is declared as text (CAST), whatever bytes it contains.
        self.base.text_factory = lambda text: text.decode("utf-8", "surrogateescape")

    def __enter__(self):
        self.base.execute(self.begin)
        return self

    def __exit__(self, kind, error, trace):
        try:
            self.base.execute("COMMIT" if kind is None else "ROLLBACK")
        finally:
            self.base.close()

    @staticmethod
    def create():
        store = Store("rwc")
        store.base.execute("PRAGMA journal_mode = WAL")
        store.base.executescript(TABLES)
        store.base.close()

    def note(self, job, attempt, what):
        row = (time.time(), raw(job), raw(attempt), raw(what))
        self.base.execute("INSERT INTO history VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT))", row)

    # Functions for the hooks.

    def fetch(self, slot, held, output):
        """A job for this slot, with a lease in seconds: the ad with the lines by which the later hooks recognize it, and a
        directory for its output unless the job names one; None if there is no work."""
        now = time.time()
        for lost in self.base.execute(
            "SELECT id, attempt FROM job WHERE state = 'claimed' AND lease < ?", (now,)
        ).fetchall():
            has_failed = lost["attempt"] >= MAX_TRIES
            self.base.execute(
                "UPDATE job SET state = ?, outcome = ?, lease = NULL WHERE id = ?",
                ("failed" if has_failed else "new", f"lost {lost['attempt']} times" if has_failed else None, lost["id"]),
            )
            self.note(lost["id"], lost["attempt"], "lease lost")
        job = self.base.execute(
            "SELECT * FROM job WHERE state = 'new' ORDER BY refused, id LIMIT 1"
        ).fetchone()
        if job is None:
            return None
        attempt = job["attempt"] + 1
        self.base.execute(
            "UPDATE job SET state = 'claimed', attempt = ?, slot = CAST(? AS TEXT), lease = ?, outcome = NULL WHERE id = ?",
            (attempt, raw(slot), now + held, job["id"]),
        )
        name, ad = job["id"], job["ad"]
        output = output.replace('"', '\\"')
        places = {"Iwd": output, "Out": f"{output}/{name}.out", "Err": f"{output}/{name}.err"}
        where = "".join(f'{key} = "{place}"\n' for key, place in places.items() if value(ad, key) is None)
        return (
            f"{ad.rstrip()}\n"
            f'QueueName = "{name}"\nQueueAttempt = {attempt}\nClusterId = {name}\nProcId = 0\n{where}'
        )

    def give_back(self, ad):
        """Makes a job new again, because the output of `fetch` was not received."""
        if (job := self.claimed_job(ad)) is not None and job["state"] == "claimed":
            self.base.execute("UPDATE job SET state = 'new', lease = NULL WHERE id = ?", (job["id"],))
            self.note(job["id"], job["attempt"], "not received")

    def claimed_job(self, ad):
        """Returns the job of an ad, or None if this attempt has lost its lease."""
        return self.base.execute(
            "SELECT * FROM job WHERE id = CAST(? AS TEXT) AND attempt = CAST(? AS TEXT) AND state IN ('claimed', 'cancelled')",
            (raw(value(ad, "QueueName")), raw(value(ad, "QueueAttempt"))),
        ).fetchone()

    def reject(self, ad):
        """Records that the slot refused the job, which is offered again after the others."""
        job = self.claimed_job(ad)
        if job is None:
            return
        if job["state"] == "cancelled":
            self.base.execute("UPDATE job SET lease = NULL WHERE id = ?", (job["id"],))
            return
        refused = job["refused"] + 1
        has_failed = refused >= MAX_REFUSALS
        self.base.execute(
            "UPDATE job SET state = ?, refused = ?, outcome = ?, lease = NULL WHERE id = ?",
            ("failed" if has_failed else "new", refused, f"refused {refused} times", job["id"]),
        )
        self.note(job["id"], job["attempt"], "rejected")

    def update(self, ad, held):
        """Renews the lease of a running job."""
        if (job := self.claimed_job(ad)) is not None:
            self.base.execute("UPDATE job SET lease = ? WHERE id = ?", (time.time() + held, job["id"]))

    def end(self, how, ad):
        """Records that the job has ended (exit, hold), or was removed or evicted."""
        job = self.claimed_job(ad)
        if job is None:
            # Its lease has expired and another slot has it, or it has already ended.
            self.note(value(ad, "QueueName"), value(ad, "QueueAttempt"), f"late end: {how}")
            return
        state, outcome = "new", f"did not finish: {how}"
        if how == "exit" and value(ad, "ExitBySignal") == "true":
            state, outcome = "failed", f"died by signal {value(ad, 'ExitSignal')}"
        elif how == "exit":
            status = value(ad, "ExitCode")
            state, outcome = ("done" if status == "0" else "failed"), f"exited with status {status}"
        elif how == "hold":
            state, outcome = "failed", f"held: {value(ad, 'HoldReason')}"
        if state == "new" and job["attempt"] >= MAX_TRIES:
            state = "failed"
        if job["state"] == "cancelled":
            state = "cancelled"
        result = ad if how in ("exit", "hold") else None
        self.base.execute(
            "UPDATE job SET state = ?, outcome = CAST(? AS TEXT), result = CAST(? AS TEXT), lease = NULL WHERE id = ?",
            (state, raw(outcome), raw(result), job["id"]),
        )
        self.note(job["id"], job["attempt"], f"{how}: {outcome}")

    # Functions for users.

    def submit(self, text, copies=1):
        """Submits each ad of the text as a job; returns the number of jobs."""
        found = [raw(ad) for ad in ads(text)]
        jobs = len(found) * copies
        if not found:
            raise Refused("it contains no ad")
        if not 0 < jobs <= MAX_JOBS:
            raise Refused(f"{jobs} jobs cannot be submitted at once, only 1 to {MAX_JOBS}")
        rows = ((ad,) for ad in found for _ in range(copies))
        self.base.executemany("INSERT INTO job (ad) VALUES (CAST(? AS TEXT))", rows)
        return jobs

    def list(self):
        """Rows of (id, state, tries, result)."""
        return [
            (row["id"], row["state"], row["attempt"], row["outcome"] or "")
            for row in self.base.execute("SELECT id, state, attempt, outcome FROM job ORDER BY id")
        ]

    def results(self):
        """The ads of the jobs that have ended, separated by empty lines."""
        rows = self.base.execute("SELECT result FROM job WHERE result IS NOT NULL ORDER BY id")
        return "".join(row["result"].rstrip("\n") + "\n\n" for row in rows)

    def retry(self, ids):
        """Makes jobs that have ended new again, or all failed jobs for `None`. Returns their number. A job that was cancelled
        while it ran has ended when its end was reported, or its lease has expired."""
        change = "UPDATE job SET state = 'new', refused = 0, outcome = NULL, result = NULL, lease = NULL WHERE state"
        if ids is None:
            return self.base.execute(f"{change} = 'failed'").rowcount
        change += " IN ('done', 'failed', 'cancelled') AND (lease IS NULL OR lease < ?) AND id = ?"
        return sum(self.base.execute(change, (time.time(), one)).rowcount for one in ids)

    def cancel(self, ids):
        """Cancels jobs: new ones are not started, running ones end as cancelled. Returns their number."""
        change = "UPDATE job SET state = 'cancelled' WHERE state IN ('new', 'claimed') AND id = ?"
        return sum(self.base.execute(change, (one,)).rowcount for one in ids)
