// Does one piece of work several times: speed JOBS SLOT read|print|evaluate|match ROUNDS.
//
// Prints a number that depends on the results: attributes read, lines printed, ads for which the constraint is true, matches.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/PelicanPlatform/classad/classad"
)

const constraint = `JobStatus == 2 && RequestCpus > 1 && RequestMemory < 4096 && Owner != "mallory" && substr(User, 0, 1) != "z"`

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	texts := strings.Split(string(must(os.ReadFile(os.Args[1]))), "\n\n")
	slot := must(classad.ParseOld(string(must(os.ReadFile(os.Args[2])))))
	work, rounds := os.Args[3], must(strconv.Atoi(os.Args[4]))
	wanted := must(classad.ParseExpr(constraint))
	var ads []*classad.ClassAd
	if work != "read" {
		for _, text := range texts {
			ads = append(ads, must(classad.ParseOld(text)))
		}
	}
	result := 0
	for round := 0; round < rounds; round++ {
		result = 0
		switch work {
		case "read":
			for _, text := range texts {
				result += must(classad.ParseOld(text)).Size()
			}
		case "print":
			for _, ad := range ads {
				// The last line has no end.
				result += strings.Count(ad.MarshalOld()+"\n", "\n")
			}
		case "evaluate":
			for _, ad := range ads {
				if value, err := wanted.Eval(ad).BoolValue(); err == nil && value {
					result++
				}
			}
		default:
			for _, ad := range ads {
				if classad.NewMatchClassAd(ad, slot).Match() {
					result++
				}
			}
		}
	}
	fmt.Println(result)
}
