"""Answers questions about ClassAds with the reference's own library, one JSON array a line in, one a line out."""
import json
import os
import resource
import sys

os.environ["CONDOR_CONFIG"] = "/dev/null"
os.environ["TZ"] = "UTC"
import htcondor2  # noqa: F401  switches the library to condor mode and registers its functions
import classad2


def value(expr, my, target):
    try:
        if target is None:
            return repr(expr.simplify(my))
        return repr(expr.simplify(my, target))
    except classad2.ClassAdException:
        return "!fail"


def text_of(flat):
    if isinstance(flat, classad2.ExprTree):
        return repr(flat)
    ad = classad2.ClassAd()
    ad["value"] = flat
    return repr(ad.lookup("value"))


def requirements(my, target):
    try:
        expr = my.lookup("requirements")
    except KeyError:
        return "undefined"
    return value(expr, my, target)


def ask(question):
    kind, my, target, text = question
    try:
        my = classad2.ClassAd(my)
        target = None if target is None else classad2.ClassAd(target)
    except classad2.ClassAdException:
        return "!ad"
    if kind == "print":
        return json.dumps([repr(my), my.printOld(), my.printJson()])
    if kind == "match":
        return json.dumps([requirements(my, target), requirements(target, my)])
    try:
        expr = classad2.ExprTree(text)
    except classad2.ClassAdException:
        return "!parse"
    if kind == "flatten":
        try:
            return text_of(my.flatten(expr))
        except classad2.ClassAdException:
            return "!fail"
    if kind == "refs":
        try:
            external = sorted(name for name in my.externalRefs(expr) if name)
        except classad2.ClassAdException:
            external = "!fail"
        try:
            internal = sorted(name for name in my.internalRefs(expr) if name)
        except classad2.ClassAdException:
            internal = "!fail"
        return json.dumps([external, internal])
    return repr(expr) + "\n" + value(expr, my, target)


def ask_all(questions):
    """Asks in a child, since the library crashes on some questions and never ends on others; goes on in another one behind such
    a question."""
    answers = []
    while len(answers) < len(questions):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
            with os.fdopen(writer, "w") as out:
                for question in questions[len(answers):]:
                    out.write(json.dumps(ask(question)) + "\n")
                    out.flush()
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as lines:
            answers.extend(json.loads(line) for line in lines if line.endswith("\n"))
        os.waitpid(child, 0)
        if len(answers) < len(questions):
            answers.append("!crashed")
    return answers


print(json.dumps(classad2.version()), flush=True)
for line in sys.stdin:
    print(json.dumps(ask_all(json.loads(line))), flush=True)
