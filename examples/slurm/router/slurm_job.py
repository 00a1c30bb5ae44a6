"""Functions of the router hooks in this directory: ads as text, job ads as batch scripts, and Slurm's output."""

import hashlib
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

# States of squeue and scontrol for a job that will run again, and for one that has ended. In every other state, and with every
# flag that Slurm shows in place of a state for a moment (SIGNALING, RESIZING, ...), it runs.
WAITS = {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
ENDS = {
    "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY",
    "LAUNCH_FAILED", "RECONFIG_FAIL", "REVOKED",
}


# Requests of a job in addition to those that sbatch receives: HTCondor sets RequestDisk for every job, and nodes of
# Slurm seldom report their disk space.
REQUESTS = {"requestcpus", "requestmemory", "requestgpus", "requestdisk"}
# HTCondor's codes for the reason of a hold.
TOO_LONG, OUT_OF_RESOURCES, NOT_STARTED, OTHER = 46, 34, 6, 1


class Refused(Exception):
    """A job is not submitted, or Slurm refuses it; the text is the reason."""


def hook(work):
    """Runs a hook: `work` gets the standard input; a failure gives one message and status 1."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        stream.reconfigure(errors="surrogateescape")
    try:
        work(sys.stdin.read())
    except (Refused, OSError, subprocess.SubprocessError) as why:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {why}")


def parts(text):
    """The texts before and after the line of dashes."""
    first, dashes, second = text.partition("\n------\n")
    if not dashes:
        raise Refused("standard input has no line '------' between two ads")
    return first, second


def read(text):
    """Attributes of a printed ad: names in lower case, and the texts of their values."""
    ad = {}
    for line in text.splitlines():
        name, equals, value = line.partition(" = ")
        if equals:
            ad[name.strip().lower()] = value.strip()
    return ad


def value(ad, name):
    """The text of a value: a literal unchanged, an expression evaluated; None if the job does not have the attribute."""
    text = ad.get(name.lower(), "undefined")
    if not re.fullmatch(r'-?[0-9.]+|true|false|undefined|"([^"\\]|\\.)*"', text, re.I):
        if not shutil.which("htc-classad-eval"):
            raise Refused(f"{name} = {text}: no htc-classad-eval on PATH to evaluate it with")
        lines = "".join(f"{key} = {text}\n" for key, text in ad.items())
        text = run(["htc-classad-eval", "-quiet", "-ads", "-", "-af:V", name], lines)
        if text in ("undefined", "error"):
            raise Refused(f"{name} = {ad[name.lower()]}: that is {text}")
    return None if text.lower() == "undefined" else text


def string(ad, name, default=""):
    """A string attribute, without quotes and escapes."""
    text = value(ad, name)
    if text is None:
        return default
    if text[0] != '"':
        raise Refused(f"{name} = {text}: that is not a string")
    return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), text[1:-1])


def number(ad, name, default=0):
    """An integer; a fraction is rounded up."""
    text = value(ad, name)
    try:
        return default if text is None else math.ceil(float(text))
    except ValueError:
        raise Refused(f"{name} = {text}: that is not a number") from None


def quoted(text):
    """A text as a ClassAd string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def words(text):
    """Words of the new syntax of Arguments and Environment: separated by blanks, except within '...', where '' is a quote."""
    found, word, in_quotes, at = [], None, False, 0
    while at < len(text):
        character = text[at]
        if character == "'":
            word = word or ""
            if in_quotes and text[at + 1 : at + 2] == "'":
                word, at = word + "'", at + 1
            else:
                in_quotes = not in_quotes
        elif character in " \t\n\r" and not in_quotes:
            if word is not None:
                found.append(word)
            word = None
        else:
            word = (word or "") + character
        at += 1
    return found if word is None else found + [word]


def arguments(ad):
    """The arguments of a job: Arguments in the new syntax, else Args split at blanks."""
    return words(string(ad, "Arguments")) if "arguments" in ad else string(ad, "Args").split()


def environment(ad):
    """Name and value of each variable: Environment in the new syntax, else Env split at its delimiter."""
    if "environment" in ad:
        pairs = words(string(ad, "Environment"))
    else:
        pairs = string(ad, "Env").split(string(ad, "EnvDelim", ";"))
    return [tuple(pair.partition("=")[::2]) for pair in pairs if "=" in pair]


def refuse(source):
    """Refuses jobs that Slurm cannot run as a pool would; reports minor differences."""
    universe = number(source, "JobUniverse", 5)
    if universe != 5:
        raise Refused(f"JobUniverse = {universe}: only jobs of the vanilla universe (5) are submitted to Slurm")
    for name in ("WantDocker", "WantContainer"):
        if (value(source, name) or "false").lower() != "false":
            raise Refused(f"{name}: jobs in containers are not submitted to Slurm")
    if not string(source, "Cmd"):
        raise Refused("the job has no Cmd")
    for name in source:
        if name.startswith("request") and name not in REQUESTS and number(source, name):
            raise Refused(f"{name} = {source[name]}: Slurm cannot provide this")
    for name in ("TransferInput", "TransferOutputRemaps"):
        if string(source, name):
            print(f"{name}: files are not transferred, and the job must find them at their locations", file=sys.stderr)


def script(source):
    """The batch script of a job."""
    lines = ["#!/bin/sh"]
    for name, value in environment(source):
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            lines.append(f"export {name}={shlex.quote(value)}")
    iwd = string(source, "Iwd", "/")
    command = [os.path.join(iwd, string(source, "Cmd"))] + arguments(source)
    # Slurm uses /tmp if there is no such directory. Signal 53 is its internal sign that it could not start a job.
    lines.append(f"cd {shlex.quote(iwd)} && test -f {(what := shlex.quote(command[0]))} -a -x {what} || kill -53 $$")
    lines.append("exec " + " ".join(shlex.quote(word) for word in command))
    return "\n".join(lines) + "\n"


def options(source):
    """The options of sbatch for a job."""
    iwd = string(source, "Iwd", "/")
    result = [f"--chdir={iwd}", "--export=NONE", "--no-requeue", "--ntasks=1"]
    result.append(f"--cpus-per-task={number(source, 'RequestCpus', 1)}")
    if (gpus := number(source, "RequestGpus")) > 0:
        result.append(f"--gpus={gpus}")
    if (memory := number(source, "RequestMemory")) > 0:
        result.append(f"--mem={memory}M")
    for option, attribute in (("--output", "Out"), ("--error", "Err"), ("--input", "In")):
        # Slurm replaces %j and the like in names of files; a doubled percent sign stands for itself.
        path = os.path.join(iwd, string(source, attribute, "/dev/null") or "/dev/null")
        result.append(f"{option}={path.replace('%', '%%')}")
    if (longest := number(source, "MaxWallTimeMins")) > 0:
        result.append(f"--time={longest}")
    if queue := string(source, "BatchQueue") or string(source, "remote_queue"):
        result.append(f"--partition={queue}")
    return result


def run(command, text=None):
    """Standard output of a command; if it fails, the hook fails."""
    try:
        result = subprocess.run(
            command, input=text, capture_output=True, text=True, errors="surrogateescape", timeout=120
        )
    except FileNotFoundError:
        raise Refused(f"no {command[0]} on PATH") from None
    if result.returncode != 0:
        raise Refused(result.stderr.strip() or f"{command[0]} ended with status {result.returncode}")
    return result.stdout.strip()


def submit(source):
    """Submits the job to Slurm; returns its number.

    A job that an earlier hook has submitted, and that is active or has ended by itself, is found by its name. The name
    contains a hash that identifies this job and this routing of it: a job that was routed before has its SlurmJobId.
    Without GlobalJobId and QDate it cannot be distinguished from other jobs with its number, so none is looked for.
    """
    refuse(source)
    sbatch_options, batch = options(source), script(source)
    creation = source.get("globaljobid") or source.get("qdate")
    identity = [creation or "", source.get("slurmjobid", ""), source.get("owner", ""), batch, *sbatch_options]
    token = hashlib.sha256("\0".join(identity).encode(errors="surrogateescape")).hexdigest()[:16]
    name = f"htc-{number(source, 'ClusterId')}.{number(source, 'ProcId')}-{token}"
    if creation:
        for job in run(["squeue", "--noheader", "--format=%i", "--me", f"--name={name}", "--states=all"]).split():
            state, reason, _, sign = look(job)
            if is_active(state) or has_ended_by_itself(state, reason, sign):
                return job
    return run(["sbatch", "--parsable", f"--job-name={name}", *sbatch_options], batch).partition(";")[0]


def look(job):
    """(state, reason, exit status, signal) of a Slurm job; the state is None if Slurm no longer knows the job."""
    try:
        fields = run(["scontrol", "--oneliner", "show", "job", str(job)])
    except Refused as why:
        if "Invalid job id" in str(why):
            return None, "", 0, 0
        raise
    fields = dict(word.partition("=")[::2] for word in fields.split())
    status, _, sign = fields.get("ExitCode", "0:0").partition(":")
    if "JobState" not in fields:
        raise Refused(f"scontrol shows no state of job {job}")
    return fields["JobState"], fields.get("Reason", ""), int(status), int(sign or 0)


def is_active(state):
    """True if the job waits or runs: Slurm knows it, and it has not ended."""
    return state is not None and state not in ENDS


def has_ended_by_itself(state, reason, sign):
    """True if the job has ended by its own exit or signal; a job that could not be started is FAILED with signal 53."""
    if state == "FAILED" and reason == "JobLaunchFailure":
        return 0 < sign < 32
    return state == "COMPLETED" or state == "FAILED" and sign < 32


def held(state, reason):
    """Lines that hold the routed job, because of its state in Slurm."""
    code = {"TIMEOUT": TOO_LONG, "OUT_OF_MEMORY": OUT_OF_RESOURCES, "FAILED": NOT_STARTED}.get(state, OTHER)
    if state is None:
        why = "Slurm no longer knows the job"
    elif state == "FAILED":
        why = f"Slurm could not start the job ({reason}): Iwd, Cmd, In, Out and Err must exist on its node"
    else:
        why = f"Slurm ended the job: {state}"
    return ["JobStatus = 5", f"HoldReason = {quoted(why)}", f"HoldReasonCode = {code}"]


def status_of(job):
    """Lines that set the state in Slurm in the routed job."""
    state, reason, status, sign = look(job)
    lines = [f"SlurmState = {quoted(state or 'UNKNOWN')}"]
    if state in WAITS:
        return lines + ["JobStatus = 1"]
    if is_active(state):
        return lines + ["JobStatus = 2"]
    if not has_ended_by_itself(state, reason, sign):
        return lines + held(state, reason)
    now = int(time.time())
    lines += ["JobStatus = 4", f"CompletionDate = {now}", f"JobFinishedHookDone = {now}"]
    if sign:
        return lines + ["ExitBySignal = true", f"ExitSignal = {sign}"]
    return lines + ["ExitBySignal = false", f"ExitCode = {status}", f"ExitStatus = {status}"]
