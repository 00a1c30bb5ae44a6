"""Does one piece of work several times with HTCondor's library: speed.py JOBS SLOT read|print|evaluate|match ROUNDS.

Prints a number that depends on the results: attributes read, lines printed, ads for which the constraint is true, matches.
"""

import os
import sys

os.environ["CONDOR_CONFIG"] = "/dev/null"
import htcondor2  # noqa: E402, F401  # registers the functions of HTCondor
import classad2  # noqa: E402

CONSTRAINT = 'JobStatus == 2 && RequestCpus > 1 && RequestMemory < 4096 && Owner != "mallory" && substr(User, 0, 1) != "z"'


def main():
    texts = open(sys.argv[1]).read().split("\n\n")
    slot = classad2.parseOne(open(sys.argv[2]).read(), classad2.Parser.Old)
    work, rounds = sys.argv[3], int(sys.argv[4])
    constraint = classad2.ExprTree(CONSTRAINT)
    ads = [] if work == "read" else [classad2.parseOne(text, classad2.Parser.Old) for text in texts]
    result = 0
    for _ in range(rounds):
        if work == "read":
            result = sum(len(classad2.parseOne(text, classad2.Parser.Old)) for text in texts)
        elif work == "print":
            result = sum(ad.printOld().count("\n") for ad in ads)
        elif work == "evaluate":
            result = sum(constraint.eval(ad) is True for ad in ads)
        else:
            result = sum(ad.symmetricMatch(slot) for ad in ads)
    print(result)


main()
