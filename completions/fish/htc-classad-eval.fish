complete -c htc-classad-eval -l my-file -d 'Take the first ad of FILE for MY' -r -F
complete -c htc-classad-eval -l target-file -d 'Take the first ad of FILE for TARGET' -r -F
complete -c htc-classad-eval -l from -d 'Form of the ads: long, json, jsonl, xml, new, newl [default: found out]' -r
complete -c htc-classad-eval -s c -l constraint -d 'Keep the ads for which EXPR is true; all of several must be' -r
complete -c htc-classad-eval -l match -d 'Match each ad with those of FILE and print the pairs' -r -F
complete -c htc-classad-eval -l sort -d 'Sort by EXPR; may be repeated' -r
complete -c htc-classad-eval -l limit -d 'Stop after N results' -r
complete -c htc-classad-eval -l threads -d 'Work with N threads where what is printed of an ad depends on no other [default: one a processor]' -r
complete -c htc-classad-eval -l autoformat -d 'Print columns, as -af:jh does for condor_q' -r
complete -c htc-classad-eval -s f -l format -d 'Print EXPR by a printf format' -r
complete -c htc-classad-eval -l attributes -d 'Only these attributes' -r
complete -c htc-classad-eval -l undefined -d 'Print STR where a column is undefined' -r
complete -c htc-classad-eval -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-classad-eval -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-classad-eval -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-classad-eval -l seed -d 'Begin random() with this number' -r
complete -c htc-classad-eval -l strict -d 'Evaluate in strict mode, as with STRICT_CLASSAD_EVALUATION'
complete -c htc-classad-eval -l explain -d 'Show the value of each part, where names were found, and why'
complete -c htc-classad-eval -l parse -d 'Print the expressions with all parentheses instead of evaluating them'
complete -c htc-classad-eval -l refs -d 'Print the names that the expressions refer to'
complete -c htc-classad-eval -s e -l exit-status -d 'Exit with the last value: true 0, false 1, undefined 4, all else 5'
complete -c htc-classad-eval -l rank -d 'With --match: the best first, by Rank of the ads of --ads'
complete -c htc-classad-eval -l unique -d 'Print equal results once'
complete -c htc-classad-eval -l count -d 'Print the number of results only'
complete -c htc-classad-eval -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-classad-eval -l json -d 'Write one JSON array'
complete -c htc-classad-eval -l jsonl -d 'Write one JSON object a line'
complete -c htc-classad-eval -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-classad-eval -l xml -d 'Write XML'
complete -c htc-classad-eval -l new -d 'Write ads in brackets'
complete -c htc-classad-eval -s V -l version -d 'Print the version'
complete -c htc-classad-eval -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-classad-eval -l help-all -d 'Print all options with notes'
complete -c htc-classad-eval -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
