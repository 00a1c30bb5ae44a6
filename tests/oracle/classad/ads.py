"""Reads ads with the reference's own library and prints them: a JSON object a line in, a JSON array a line out."""
import json
import os
import sys

os.environ["CONDOR_CONFIG"] = "/dev/null"
os.environ["TZ"] = "UTC"
import htcondor2  # noqa: F401  switches the library to condor mode and registers its functions
import classad2

Form = classad2.ParserType


def pieces(text, form):
    """The texts of the ads of a list in brackets."""
    if form == "json":
        text = text.removeprefix("[\n").removesuffix("]\n")
    elif form == "new":
        text = text.removeprefix("{\n").removesuffix("}\n")
    elif form == "jsonl":
        return text.splitlines()
    return [piece for piece in text.split("\n,\n") if piece]


def read(text, form):
    if form == "long":
        return classad2.parseAds(text, Form.Old)
    if form == "xml":
        return classad2.parseAds(text, Form.XML)
    kind = Form.New if form == "new" else Form.JSON
    return [ad for piece in pieces(text, form) for ad in classad2.parseAds(piece, kind)]


def answer(question):
    ads = read(question["text"], question["form"])
    if question["constraint"] is None:
        return [repr(ad) for ad in ads]
    constraint = classad2.ExprTree(question["constraint"])
    texts = lambda ad: [repr(ad), ad.printOld(), ad.printJson()]
    return [texts(ad) + [str(constraint.eval(ad) is True)] for ad in ads]


print(json.dumps(classad2.version()), flush=True)
for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
