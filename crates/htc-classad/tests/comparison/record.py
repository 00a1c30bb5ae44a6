"""Records the results for the comparison table of the README.

    record.py REPOSITORY >recorded.tsv

REPOSITORY is a clone of https://github.com/PelicanPlatform/classad. Each string of its Go tests that may be an expression or
an ad is an input; HTCondor's library (the Python modules htcondor2 and classad2 of 25.14) evaluates it. The results of the Go
library are those that its test TestCppParity expects. Inputs whose value depends on the time or on random numbers are left out.

A line has an input, the result of classad2, and the result of Go or `-`, separated by tabs and escaped as Rust strings are.
"""

import json
import pathlib
import re
import subprocess
import sys

import htcondor2  # registers the functions of HTCondor  # noqa: F401
import classad2

LITERAL = r'`[^`]*`|"(?:[^"\\\n]|\\.)*"'
CASE = re.compile(r"\{\s*(" + LITERAL + r")\s*,\s*(" + LITERAL + r")\s*\}")
CHANGING = re.compile(r"\b(time|currenttime|random|daytime|timezoneoffset|absTime|formattime|localtimestring|localtime|"
                      r"userhome|usermap|strftime|eval\b.*time)\b", re.IGNORECASE)
WORD = re.compile(r"^[\w .:/-]*$")


def text_of(literal):
    """Returns the value of a Go string literal, or None if it is not text."""
    if literal[0] == "`":
        return literal[1:-1]
    try:
        return json.loads(re.sub(r"\\([av'])|\\x([0-9a-fA-F]{2})|\\([0-7]{3})",
                                 lambda found: {"a": "\\u0007", "v": "\\u000b", "'": "'"}.get(found[1])
                                 or f"\\u{int(found[2] or found[3], 16 if found[2] else 8):04x}", literal))
    except (ValueError, TypeError):
        return None


def parse(kind, text):
    try:
        return kind(text)
    except Exception:
        return None


def answer(text):
    """Returns the value of an expression, or those of an ad's attributes, as the library prints them."""
    tree = parse(classad2.ExprTree, text)
    if tree is None:
        return "parse error"
    ad = parse(classad2.ClassAd, text)
    if ad is None or not text.lstrip().startswith("["):
        return repr(tree.simplify(classad2.ClassAd()))
    names = sorted(ad.keys(), key=lambda name: (name.lower(), name))
    return "; ".join(f"{name} = {ad.lookup(name).simplify(ad)!r}" for name in names)


def of_go(tag):
    """Returns the value that a tag of TestCppParity stands for, in the form of the library."""
    kind, _, rest = tag.partition(":")
    texts = {"U": "undefined", "E": "error", "B": rest, "I": rest}
    if kind in texts:
        return texts[kind]
    if kind == "S":
        return classad2.quote(rest)
    special = {"NaN": 'real("NaN")', "+Inf": 'real("INF")', "-Inf": 'real("-INF")'}.get(rest)
    return repr(classad2.ExprTree(special or repr(float(rest))).simplify(classad2.ClassAd()))


def escaped(text):
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def main():
    place = pathlib.Path(sys.argv[1])
    commit = subprocess.run(["git", "-C", place, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    parity, others = {}, {}
    for path in sorted(place.glob("*/*_test.go")):
        if path.parent.name not in ("ast", "classad", "parser"):
            continue
        source = path.read_text()
        if path.name == "cpp_parity_test.go":
            for found in CASE.finditer(source):
                text, tag = text_of(found[1]), text_of(found[2])
                if text and tag and re.match(r"[UE]$|[BIRS]:", tag):
                    parity.setdefault(text, of_go(tag))
            continue
        for literal in re.findall(LITERAL, re.sub(r"(?m)//.*$|^import \((.|\n)*?^\)", "", source)):
            text = text_of(literal)
            if text and not WORD.match(text) and "%" not in re.sub(r"% \d", "", text) and "\0" not in text:
                others.setdefault(text, "-")
    print(f"# Inputs of the tests of https://github.com/PelicanPlatform/classad, commit {commit} (Apache License 2.0),")
    print("# answers of classad2 25.14, and those that its test TestCppParity expects. Written by record.py.")
    for text, go in [*parity.items(), *((text, "-") for text in others if text not in parity)]:
        if CHANGING.search(text):
            continue
        known = answer(text)
        # A text that no library reads is a message, not an expression.
        if known == "parse error" and go == "-":
            continue
        if any(ord(letter) > 0x10FFFF or 0xD800 <= ord(letter) < 0xE000 for letter in text + known):
            continue
        print("\t".join(map(escaped, (text, known, go))))


main()
