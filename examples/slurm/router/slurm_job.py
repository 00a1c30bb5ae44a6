"""What the router hooks of this directory have in common: ads as text, job ads as batch scripts, and Slurm's answers."""

import os
import re
import shlex
import subprocess
import time

# What squeue and scontrol call a job that will run again or still, and what has ended otherwise than by its own exit.
WAITS = {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
RUNS = {"RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"}


def read(text):
    """Attributes of a printed ad: names in small letters to the text of their values."""
    ad = {}
    for line in text.splitlines():
        name, equals, value = line.partition(" = ")
        if equals:
            ad[name.strip().lower()] = value
    return ad


def string(ad, name, default=""):
    """A string attribute, without quotes and escapes."""
    text = ad.get(name.lower(), "")
    if not (len(text) >= 2 and text[0] == text[-1] == '"'):
        return default
    return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), text[1:-1])


def number(ad, name, default=0):
    """A whole number; an expression that only a pool can evaluate counts as missing."""
    text = ad.get(name.lower(), "")
    return int(text) if re.fullmatch(r"-?\d+", text) else default


def quoted(text):
    """A text as a ClassAd string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def words(text):
    """Words of the new syntax of Arguments and Environment: blanks part them, '...' keeps them, '' is a quote within."""
    found, word, inside, at = [], None, False, 0
    while at < len(text):
        one = text[at]
        if one == "'":
            word = word or ""
            if inside and text[at + 1 : at + 2] == "'":
                word, at = word + "'", at + 1
            else:
                inside = not inside
        elif one in " \t\n\r" and not inside:
            if word is not None:
                found.append(word)
            word = None
        else:
            word = (word or "") + one
        at += 1
    return found if word is None else found + [word]


def arguments(ad):
    """The arguments of a job: Arguments in the new syntax, else Args parted at blanks."""
    return words(string(ad, "Arguments")) if "arguments" in ad else string(ad, "Args").split()


def environment(ad):
    """Name and value of each variable: Environment in the new syntax, else Env parted at its delimiter."""
    if "environment" in ad:
        pairs = words(string(ad, "Environment"))
    else:
        pairs = string(ad, "Env").split(string(ad, "EnvDelim", ";"))
    return [tuple(pair.partition("=")[::2]) for pair in pairs if "=" in pair]


def name_of(source):
    """The name under which Slurm knows a job of the queue: the same however often it is routed in this second."""
    return "htc-{}.{}-{}".format(
        number(source, "ClusterId"), number(source, "ProcId"), number(source, "QDate")
    )


def script(source):
    """The batch script of a job."""
    lines = ["#!/bin/sh"]
    for name, value in environment(source):
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            lines.append(f"export {name}={shlex.quote(value)}")
    iwd = string(source, "Iwd", "/")
    command = [os.path.join(iwd, string(source, "Cmd"))] + arguments(source)
    lines.append("exec " + " ".join(shlex.quote(word) for word in command))
    return "\n".join(lines) + "\n"


def options(source):
    """What sbatch is told of a job."""
    iwd = string(source, "Iwd", "/")
    told = [f"--job-name={name_of(source)}", f"--chdir={iwd}", "--export=NONE", "--no-requeue"]
    told.append(f"--cpus-per-task={number(source, 'RequestCpus', 1)}")
    told.append("--ntasks=1")
    if (memory := number(source, "RequestMemory")) > 0:
        told.append(f"--mem={memory}M")
    for option, attribute in (("--output", "Out"), ("--error", "Err"), ("--input", "In")):
        # Slurm reads %j and the like in names of files; a doubled sign is itself.
        path = os.path.join(iwd, string(source, attribute, "/dev/null") or "/dev/null")
        told.append(f"{option}={path.replace('%', '%%')}")
    if (longest := number(source, "MaxWallTimeMins")) > 0:
        told.append(f"--time={longest}")
    if queue := string(source, "BatchQueue") or string(source, "remote_queue"):
        told.append(f"--partition={queue}")
    return told


def run(command, text=None):
    """Standard output of a command; its failure is the hook's."""
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True, timeout=120)
    return done.stdout.strip()


def submit(source):
    """Hands the job to Slurm; gives its number. A job that a hook before us has handed in is found by its name."""
    there = run(["squeue", "--noheader", "--format=%i", f"--name={name_of(source)}", "--states=all"]).split()
    if there:
        return there[0]
    return run(["sbatch", "--parsable", *options(source)], script(source)).partition(";")[0]


def look(job):
    """(state, exit status, signal) of a Slurm job; the state is None where Slurm knows it no more."""
    done = subprocess.run(
        ["scontrol", "--oneliner", "show", "job", str(job)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120,
    )
    if done.returncode != 0:
        if "Invalid job id" in done.stderr:
            return None, 0, 0
        raise SystemExit(done.stderr)
    told = dict(word.partition("=")[::2] for word in done.stdout.split())
    status, _, sign = told.get("ExitCode", "0:0").partition(":")
    return told.get("JobState", ""), int(status), int(sign or 0)


def status_of(job):
    """Lines that tell the routed job what has become of it in Slurm."""
    state, status, sign = look(job)
    lines = [f"SlurmState = {quoted(state or 'UNKNOWN')}"]
    if state in WAITS:
        lines.append("JobStatus = 1")
    elif state in RUNS:
        lines.append("JobStatus = 2")
    elif state in ("COMPLETED", "FAILED") or (state == "OUT_OF_MEMORY" and sign):
        now = int(time.time())
        lines += ["JobStatus = 4", f"CompletionDate = {now}", f"JobFinishedHookDone = {now}"]
        # The shell of a batch script says 128 + n for a program that signal n has ended.
        if sign:
            lines += ["ExitBySignal = true", f"ExitSignal = {sign}"]
        else:
            lines += ["ExitBySignal = false", f"ExitCode = {status}", f"ExitStatus = {status}"]
    else:
        why = "Slurm does not know the job any more" if state is None else f"Slurm ended the job: {state}"
        lines += ["JobStatus = 5", f"HoldReason = {quoted(why)}", "HoldReasonCode = 1"]
    return lines
