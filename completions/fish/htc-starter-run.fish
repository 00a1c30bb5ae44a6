complete -c htc-starter-run -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-starter-run -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-starter-run -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-starter-run -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-starter-run -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-starter-run -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-starter-run -l slot-name -d 'Name of the slot, such as slot1_2, for _CONDOR_SLOT' -r
complete -c htc-starter-run -l job-input-ad -d 'The same as --ads' -r
complete -c htc-starter-run -l job-keyword -d 'Take what the ad lacks from the configuration: KEY_executable, ...' -r
complete -c htc-starter-run -l job-output-ad -d 'Append the job\'s result attributes alone to FILE' -r
complete -c htc-starter-run -l job-update-ad -d 'Keep the newest update of the running job in FILE' -r
complete -c htc-starter-run -l job-cluster -d 'First part of the job\'s id' -r
complete -c htc-starter-run -l job-proc -d 'Second part of the job\'s id' -r
complete -c htc-starter-run -l job-subproc -d 'Third part of the job\'s id' -r
complete -c htc-starter-run -l job-stdin -d 'Standard input instead of In; \'-\' is ours' -r
complete -c htc-starter-run -l job-stdout -d 'Standard output instead of Out; \'-\' is ours, without the ad then' -r
complete -c htc-starter-run -l job-stderr -d 'Standard error instead of Err; \'-\' is ours' -r
complete -c htc-starter-run -l as -d 'Who is played: fetched, local or shadow' -r -f -a "fetched\t'The starter alone, as for fetched work: nothing is transferred'
local\t'The local universe under a schedd: exit policy, nothing is transferred'
shadow\t'Schedd and shadow too: transfer, policy, the job\'s log'"
complete -c htc-starter-run -l until -d 'With --as shadow: run it again until it is done or held, or N times at most' -r
complete -c htc-starter-run -l hook-timeout -d 'Give up PREPARE_JOB after this long; HTCondor waits for ever' -r
complete -c htc-starter-run -l header -d 'Text in front of messages' -r
complete -c htc-starter-run -s a -l append -d 'Suffix of HTCondor\'s log file; names the slot as --slot-name does' -r
complete -c htc-starter-run -l local-name -d 'Local name for LOCAL.KNOB in the configuration' -r
complete -c htc-starter-run -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-starter-run -l seed -d 'Begin random() with this number' -r
complete -c htc-starter-run -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-starter-run -l slot-ads -d 'The slot\'s ad: .machine.ad, OMP_NUM_THREADS, ...' -r -F
complete -c htc-starter-run -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-starter-run -l carry -d 'Move files for a starter: for its own use'
complete -c htc-starter-run -l dry-run -d 'Say what would be run and called, and run nothing'
complete -c htc-starter-run -l explain -d 'With --dry-run: what led to each word, mount and limit'
complete -c htc-starter-run -l classad -d 'Print what this starter and the container runtimes of the machine can do, and end'
complete -c htc-starter-run -l clean -d 'Remove what starters that were killed have left in EXECUTE, say what, and end'
complete -c htc-starter-run -s f -l foreground -d 'Stay in the foreground, which is always so'
complete -c htc-starter-run -s t -l termlog -d 'Log to the terminal, which is always so'
complete -c htc-starter-run -s V -l version -d 'Print the version'
complete -c htc-starter-run -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-starter-run -l help-all -d 'Print all options with notes'
complete -c htc-starter-run -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-starter-run -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-starter-run -l json -d 'Write one JSON array'
complete -c htc-starter-run -l jsonl -d 'Write one JSON object a line'
complete -c htc-starter-run -s l -l long -d 'Write ads as \'Name = value\' lines'
