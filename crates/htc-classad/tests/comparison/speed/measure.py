"""Measures the speed that the table of the README compares, and writes it to speed.tsv.

    measure.py REPOSITORY

REPOSITORY is a clone of https://github.com/PelicanPlatform/classad. Run this with a Python that has HTCondor's library (the
modules htcondor2 and classad2), and with cargo and go on PATH. Three programs do the same work on the same job ads and the
same slot ad: speed.rs, speed.py and speed.go. Each figure is the processor time of the whole process, all its threads
included, minus that of the process without the work; the best of five runs is used. The time of classad2 includes
Python. Fails if the results of the programs differ.
"""

import os
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ADS = 2000
RUNS = 5
# Number of times that each kind of work is done with all ads; LIBRARIES has a factor for each library.
ROUNDS = {"read": 10, "print": 20, "evaluate": 100, "match": 50}
LIBRARIES = {"htc-classad": 10, "classad2": 1, "go": 1}

JOB = """\
Args = "--input file{number} --mode fast {filler}"
ClusterId = {cluster}
ProcId = {proc}
Cmd = "/usr/bin/analyse"
Owner = "{owner}"
User = "{owner}@example.org"
JobUniverse = 5
JobStatus = {status}
JobPrio = 0
RequestCpus = {cpus}
RequestMemory = {memory}
RequestDisk = DiskUsage
DiskUsage = {disk}
ImageSize = 1000
Rank = 0.0
NiceUser = false
Iwd = "/home/{owner}/work"
In = "/dev/null"
Out = "out.{number}"
Err = "err.{number}"
UserLog = "/home/{owner}/log.{cluster}"
QDate = {date}
EnteredCurrentStatus = {date}
Environment = "A=1 B=2 PATH=/usr/bin:/bin HOME=/home/user LANG=C.UTF-8"
AccountingGroup = "group_{group}"
TransferInput = "a.dat,b.dat,c.dat"
LeaveJobInQueue = JobStatus == 4 && (time() - CompletionDate) < 86400
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Disk >= RequestDisk) && \
(TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
PeriodicRemove = (JobStatus == 5) && ((time() - EnteredCurrentStatus) > 604800)
NumJobStarts = 0
"""

SLOT = """\
Arch = "X86_64"
OpSys = "LINUX"
Name = "slot1@host.example.org"
Memory = 3000
Disk = 40000
Cpus = 6
State = "Unclaimed"
Activity = "Idle"
LoadAvg = 0.05
KeyboardIdle = 4000
Requirements = (LoadAvg < 0.3) && (KeyboardIdle > 15 * 60) && (TARGET.JobUniverse == 5) && \
(TARGET.RequestMemory <= Memory) && (TARGET.Owner != "mallory")
Rank = TARGET.JobPrio
"""


def job(number, chance):
    """Returns a job ad in long form."""
    owner = chance.choice("ana bob carla dave eve frank grace heidi ivan judy mallory niaj".split())
    return JOB.format(number=number, cluster=number // 10, proc=number % 10, owner=owner, filler="x" * chance.randrange(140, 220),
                      status=chance.randrange(1, 6), cpus=chance.randrange(1, 9), memory=chance.randrange(512, 4608),
                      disk=chance.randrange(50000), date=1700000000 + number, group=chance.randrange(13))


def run(command, work, rounds):
    """Returns the processor time of a program in seconds, and its output."""
    best = None
    for _ in range(RUNS):
        before = os.times()
        output = subprocess.run([*command, work, str(rounds)], stdout=subprocess.PIPE, check=True).stdout
        after = os.times()
        time = (after.children_user + after.children_system) - (before.children_user + before.children_system)
        best = time if best is None else min(best, time)
    return best, output


def programs(repository, place):
    """Builds the three programs and returns the command of each."""
    cargo = ["cargo", "build", "--quiet", "--release", "-p", "htc-classad", "--example", "comparison_speed"]
    subprocess.run(cargo, cwd=HERE, check=True)
    target = os.environ.get("CARGO_TARGET_DIR") or HERE.parents[4] / "target"
    copy = place / "classad"
    subprocess.run(["git", "clone", "--quiet", repository, copy], check=True)
    (copy / "cmd" / "speed").mkdir(parents=True)
    (copy / "cmd" / "speed" / "main.go").write_text((HERE / "speed.go").read_text())
    subprocess.run(["go", "build", "-o", place / "speed-go", "./cmd/speed"], cwd=copy, check=True)
    return {
        "htc-classad": [pathlib.Path(target) / "release" / "examples" / "comparison_speed"],
        "classad2": [sys.executable, HERE / "speed.py"],
        "go": [place / "speed-go"],
    }


def main():
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        chance = random.Random(1)
        (place / "jobs").write_text("\n".join(job(number, chance) for number in range(ADS)))
        (place / "slot").write_text(SLOT)
        commands = programs(sys.argv[1], place)
        lines = ["# Nanoseconds of processor time for one ad, written by measure.py: work, then each library."]
        for work, rounds in ROUNDS.items():
            figures, results = [], set()
            for library, factor in LIBRARIES.items():
                command = [*commands[library], place / "jobs", place / "slot"]
                # One more round for the result, which does not depend on the number of rounds.
                idle, _ = run(command, work, 1)
                busy, result = run(command, work, rounds * factor + 1)
                results.add(result)
                figures.append(f"{(busy - idle) / (rounds * factor * ADS) * 1e9:.0f}")
            if len(results) != 1:
                sys.exit(f"measure.py: the results of '{work}' differ: {results}")
            lines.append("\t".join([work, *figures]))
            print(lines[-1])
        (HERE / "speed.tsv").write_text("\n".join(lines) + "\n")


main()
