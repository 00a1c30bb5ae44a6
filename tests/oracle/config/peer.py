"""Expands configurations with the reference's own library: a line of [path, names] pairs in, a line of answers out."""
import json
import os
import resource
import sys

os.environ["CONDOR_CONFIG"] = "/dev/null"
os.environ["TZ"] = "UTC"
import classad2
import htcondor2


def values(path, names):
    os.environ["CONDOR_CONFIG"] = path
    htcondor2.reload_config()
    return {"Values": [str(htcondor2.param.get(name) or "") for name in names]}


def all_values(questions):
    """Each is read in a child that goes on with the next: the library ends the process for a configuration that it refuses."""
    answers = []
    while len(answers) < len(questions):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            resource.setrlimit(resource.RLIMIT_CPU, (1, 2))
            with os.fdopen(writer, "w") as out:
                for path, names in questions[len(answers):]:
                    out.write(json.dumps(values(path, names)) + "\n")
                    out.flush()
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as lines:
            answers.extend(json.loads(line) for line in lines if line.endswith("\n"))
        _, status = os.waitpid(child, 0)
        if len(answers) < len(questions):
            answers.append("Crashed" if os.WIFSIGNALED(status) else "Refused")
    return answers


print(json.dumps(classad2.version()), flush=True)
for line in sys.stdin:
    print(json.dumps(all_values(json.loads(line))), flush=True)
