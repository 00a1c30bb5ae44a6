# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_htc_hook_test_global_optspecs
    string join \n config-file= set-knob= no-env l/long json jsonl q/quiet color= now= seed= quirks= events= timeout= V/version h/help help-all
end

function __fish_htc_hook_test_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_htc_hook_test_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_htc_hook_test_using_subcommand
    set -l cmd (__fish_htc_hook_test_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -l seed -d 'Begin random() with this number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -l json -d 'Write one JSON array'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -l jsonl -d 'Write one JSON object a line'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -s V -l version -d 'Print the version'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -l help-all -d 'Print all options with notes'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -f -a "fetch" -d 'FETCH_WORK: asks for a job'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -f -a "reply" -d 'REPLY_FETCH: is told \'accept\' or \'reject\''
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -f -a "evict" -d 'EVICT_CLAIM: is told that a claim was given up'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -f -a "prepare-before-transfer" -d 'PREPARE_JOB_BEFORE_TRANSFER: before the input transfer'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -f -a "prepare" -d 'PREPARE_JOB: before the job is started'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -f -a "update" -d 'UPDATE_JOB_INFO of the starter'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -f -a "exit" -d 'JOB_EXIT: is told \'exit\', \'evict\', \'hold\' or \'remove\''
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -f -a "shadow-prepare" -d 'SHADOW_PREPARE_JOB: before the claim is activated'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -f -a "translate" -d 'TRANSLATE_JOB of the job router'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -f -a "router-update" -d 'UPDATE_JOB_INFO of the job router'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -f -a "finalize" -d 'JOB_FINALIZE of the job router'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -f -a "cleanup" -d 'JOB_CLEANUP of the job router'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -f -a "startd-cron" -d 'A cron job of the startd, or its whole list'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -f -a "schedd-cron" -d 'A cron job of the schedd, or its whole list'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -f -a "benchmark" -d 'A benchmark of the startd, or its whole list'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -f -a "run" -d 'Run suites of cases, cron jobs among them'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -f -a "init" -d 'Print a first suite for a hook or cron job'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -f -a "record" -d 'Stand in for a hook in a live pool and keep its calls'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -f -a "replay" -d 'Judge recorded calls again, or make them again with another hook'
complete -c htc-hook-test -n "__fish_htc_hook_test_needs_command" -f -a "queue" -d 'Prove that a queue loses no job and hands none out twice'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l slot-ads -d 'Read the slot\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l routed-ads -d 'Read the routed job\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l sample-job -d 'Use a built-in job: vanilla, container, docker, gpu, grid, java, parallel, v1' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l sample-slot -d 'Use a built-in slot: static, partitionable, gpu' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l set -d 'Set an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l delete -d 'Remove an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l set-slot -d 'Set an attribute of the slot; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l set-routed -d 'Set an attribute of the routed job; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l keyword -d 'Look the hook up under this keyword instead of the caller\'s' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l slot -d 'Look keyword and knobs up as this slot does: slot2, slot1_3, or only its number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l slot-type -d 'Type of the slot, for SLOT_TYPE_<N> knobs' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l route -d 'Name of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l target-universe -d 'TargetUniverse of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l grid-resource -d 'GridResource of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l protocol -d 'Speak the protocol of the 7.1 manual' -r -f -a "7.1\t''
present\t''"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l claim-id -d 'Id of the claim' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l env -d 'Set a variable of the hook\'s environment; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l path-prepend -d 'Put a directory in front of the hook\'s PATH; may be repeated' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l user -d 'Run the hook as this account (needs root)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l expect -d 'Must be true of the result (MY) and what went in (TARGET); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l expect-verdict -d 'The verdict must be this word, such as go-on or held; it is then a success' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l keep -d 'Keep argv, env, stdin, stdout, stderr and meta of each call below DIR' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l repeat -d 'Call it N times and compare the answers' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l time -d 'Call it N times and print a table of how long it took' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l fuzz -d 'Change the ad at random N times; --seed repeats it' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l seed -d 'Begin random() with this number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l edit-in-place -d 'The route edits the job in place'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l shadow -d 'The job comes from a schedd, not from a fetch hook: failures hold it or send it back'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l before-job -d 'For update and exit: the job has not been started, so that its ad tells nothing of a run'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l ignore-path-check -d 'Run the hook although its caller would refuse the path'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -s i -l show-input -d 'Print what the hook would get and run nothing'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l probe -d 'Call it again in another directory, with another HOME and with your own environment, and compare'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l explain -d 'Tell how keyword and path were found'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l help-all -d 'Print all options with notes'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l json -d 'Write one JSON array'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -l jsonl -d 'Write one JSON object a line'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand fetch" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l slot-ads -d 'Read the slot\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l routed-ads -d 'Read the routed job\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l sample-job -d 'Use a built-in job: vanilla, container, docker, gpu, grid, java, parallel, v1' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l sample-slot -d 'Use a built-in slot: static, partitionable, gpu' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l set -d 'Set an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l delete -d 'Remove an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l set-slot -d 'Set an attribute of the slot; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l set-routed -d 'Set an attribute of the routed job; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l keyword -d 'Look the hook up under this keyword instead of the caller\'s' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l slot -d 'Look keyword and knobs up as this slot does: slot2, slot1_3, or only its number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l slot-type -d 'Type of the slot, for SLOT_TYPE_<N> knobs' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l route -d 'Name of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l target-universe -d 'TargetUniverse of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l grid-resource -d 'GridResource of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l protocol -d 'Speak the protocol of the 7.1 manual' -r -f -a "7.1\t''
present\t''"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l claim-id -d 'Id of the claim' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l env -d 'Set a variable of the hook\'s environment; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l path-prepend -d 'Put a directory in front of the hook\'s PATH; may be repeated' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l user -d 'Run the hook as this account (needs root)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l expect -d 'Must be true of the result (MY) and what went in (TARGET); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l expect-verdict -d 'The verdict must be this word, such as go-on or held; it is then a success' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l keep -d 'Keep argv, env, stdin, stdout, stderr and meta of each call below DIR' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l repeat -d 'Call it N times and compare the answers' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l time -d 'Call it N times and print a table of how long it took' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l fuzz -d 'Change the ad at random N times; --seed repeats it' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l seed -d 'Begin random() with this number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l edit-in-place -d 'The route edits the job in place'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l shadow -d 'The job comes from a schedd, not from a fetch hook: failures hold it or send it back'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l before-job -d 'For update and exit: the job has not been started, so that its ad tells nothing of a run'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l ignore-path-check -d 'Run the hook although its caller would refuse the path'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -s i -l show-input -d 'Print what the hook would get and run nothing'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l probe -d 'Call it again in another directory, with another HOME and with your own environment, and compare'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l explain -d 'Tell how keyword and path were found'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l help-all -d 'Print all options with notes'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l json -d 'Write one JSON array'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -l jsonl -d 'Write one JSON object a line'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand reply" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l slot-ads -d 'Read the slot\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l routed-ads -d 'Read the routed job\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l sample-job -d 'Use a built-in job: vanilla, container, docker, gpu, grid, java, parallel, v1' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l sample-slot -d 'Use a built-in slot: static, partitionable, gpu' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l set -d 'Set an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l delete -d 'Remove an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l set-slot -d 'Set an attribute of the slot; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l set-routed -d 'Set an attribute of the routed job; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l keyword -d 'Look the hook up under this keyword instead of the caller\'s' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l slot -d 'Look keyword and knobs up as this slot does: slot2, slot1_3, or only its number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l slot-type -d 'Type of the slot, for SLOT_TYPE_<N> knobs' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l route -d 'Name of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l target-universe -d 'TargetUniverse of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l grid-resource -d 'GridResource of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l protocol -d 'Speak the protocol of the 7.1 manual' -r -f -a "7.1\t''
present\t''"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l claim-id -d 'Id of the claim' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l env -d 'Set a variable of the hook\'s environment; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l path-prepend -d 'Put a directory in front of the hook\'s PATH; may be repeated' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l user -d 'Run the hook as this account (needs root)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l expect -d 'Must be true of the result (MY) and what went in (TARGET); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l expect-verdict -d 'The verdict must be this word, such as go-on or held; it is then a success' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l keep -d 'Keep argv, env, stdin, stdout, stderr and meta of each call below DIR' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l repeat -d 'Call it N times and compare the answers' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l time -d 'Call it N times and print a table of how long it took' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l fuzz -d 'Change the ad at random N times; --seed repeats it' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l seed -d 'Begin random() with this number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l edit-in-place -d 'The route edits the job in place'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l shadow -d 'The job comes from a schedd, not from a fetch hook: failures hold it or send it back'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l before-job -d 'For update and exit: the job has not been started, so that its ad tells nothing of a run'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l ignore-path-check -d 'Run the hook although its caller would refuse the path'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -s i -l show-input -d 'Print what the hook would get and run nothing'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l probe -d 'Call it again in another directory, with another HOME and with your own environment, and compare'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l explain -d 'Tell how keyword and path were found'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l help-all -d 'Print all options with notes'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l json -d 'Write one JSON array'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -l jsonl -d 'Write one JSON object a line'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand evict" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l slot-ads -d 'Read the slot\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l routed-ads -d 'Read the routed job\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l sample-job -d 'Use a built-in job: vanilla, container, docker, gpu, grid, java, parallel, v1' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l sample-slot -d 'Use a built-in slot: static, partitionable, gpu' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l set -d 'Set an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l delete -d 'Remove an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l set-slot -d 'Set an attribute of the slot; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l set-routed -d 'Set an attribute of the routed job; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l keyword -d 'Look the hook up under this keyword instead of the caller\'s' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l slot -d 'Look keyword and knobs up as this slot does: slot2, slot1_3, or only its number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l slot-type -d 'Type of the slot, for SLOT_TYPE_<N> knobs' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l route -d 'Name of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l target-universe -d 'TargetUniverse of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l grid-resource -d 'GridResource of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l protocol -d 'Speak the protocol of the 7.1 manual' -r -f -a "7.1\t''
present\t''"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l claim-id -d 'Id of the claim' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l env -d 'Set a variable of the hook\'s environment; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l path-prepend -d 'Put a directory in front of the hook\'s PATH; may be repeated' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l user -d 'Run the hook as this account (needs root)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l expect -d 'Must be true of the result (MY) and what went in (TARGET); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l expect-verdict -d 'The verdict must be this word, such as go-on or held; it is then a success' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l keep -d 'Keep argv, env, stdin, stdout, stderr and meta of each call below DIR' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l repeat -d 'Call it N times and compare the answers' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l time -d 'Call it N times and print a table of how long it took' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l fuzz -d 'Change the ad at random N times; --seed repeats it' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l seed -d 'Begin random() with this number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l edit-in-place -d 'The route edits the job in place'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l shadow -d 'The job comes from a schedd, not from a fetch hook: failures hold it or send it back'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l before-job -d 'For update and exit: the job has not been started, so that its ad tells nothing of a run'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l ignore-path-check -d 'Run the hook although its caller would refuse the path'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -s i -l show-input -d 'Print what the hook would get and run nothing'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l probe -d 'Call it again in another directory, with another HOME and with your own environment, and compare'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l explain -d 'Tell how keyword and path were found'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l help-all -d 'Print all options with notes'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l json -d 'Write one JSON array'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -l jsonl -d 'Write one JSON object a line'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare-before-transfer" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l slot-ads -d 'Read the slot\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l routed-ads -d 'Read the routed job\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l sample-job -d 'Use a built-in job: vanilla, container, docker, gpu, grid, java, parallel, v1' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l sample-slot -d 'Use a built-in slot: static, partitionable, gpu' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l set -d 'Set an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l delete -d 'Remove an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l set-slot -d 'Set an attribute of the slot; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l set-routed -d 'Set an attribute of the routed job; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l keyword -d 'Look the hook up under this keyword instead of the caller\'s' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l slot -d 'Look keyword and knobs up as this slot does: slot2, slot1_3, or only its number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l slot-type -d 'Type of the slot, for SLOT_TYPE_<N> knobs' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l route -d 'Name of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l target-universe -d 'TargetUniverse of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l grid-resource -d 'GridResource of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l protocol -d 'Speak the protocol of the 7.1 manual' -r -f -a "7.1\t''
present\t''"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l claim-id -d 'Id of the claim' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l env -d 'Set a variable of the hook\'s environment; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l path-prepend -d 'Put a directory in front of the hook\'s PATH; may be repeated' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l user -d 'Run the hook as this account (needs root)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l expect -d 'Must be true of the result (MY) and what went in (TARGET); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l expect-verdict -d 'The verdict must be this word, such as go-on or held; it is then a success' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l keep -d 'Keep argv, env, stdin, stdout, stderr and meta of each call below DIR' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l repeat -d 'Call it N times and compare the answers' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l time -d 'Call it N times and print a table of how long it took' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l fuzz -d 'Change the ad at random N times; --seed repeats it' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l seed -d 'Begin random() with this number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l edit-in-place -d 'The route edits the job in place'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l shadow -d 'The job comes from a schedd, not from a fetch hook: failures hold it or send it back'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l before-job -d 'For update and exit: the job has not been started, so that its ad tells nothing of a run'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l ignore-path-check -d 'Run the hook although its caller would refuse the path'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -s i -l show-input -d 'Print what the hook would get and run nothing'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l probe -d 'Call it again in another directory, with another HOME and with your own environment, and compare'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l explain -d 'Tell how keyword and path were found'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l help-all -d 'Print all options with notes'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l json -d 'Write one JSON array'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -l jsonl -d 'Write one JSON object a line'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand prepare" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l slot-ads -d 'Read the slot\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l routed-ads -d 'Read the routed job\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l sample-job -d 'Use a built-in job: vanilla, container, docker, gpu, grid, java, parallel, v1' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l sample-slot -d 'Use a built-in slot: static, partitionable, gpu' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l set -d 'Set an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l delete -d 'Remove an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l set-slot -d 'Set an attribute of the slot; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l set-routed -d 'Set an attribute of the routed job; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l keyword -d 'Look the hook up under this keyword instead of the caller\'s' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l slot -d 'Look keyword and knobs up as this slot does: slot2, slot1_3, or only its number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l slot-type -d 'Type of the slot, for SLOT_TYPE_<N> knobs' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l route -d 'Name of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l target-universe -d 'TargetUniverse of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l grid-resource -d 'GridResource of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l protocol -d 'Speak the protocol of the 7.1 manual' -r -f -a "7.1\t''
present\t''"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l claim-id -d 'Id of the claim' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l env -d 'Set a variable of the hook\'s environment; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l path-prepend -d 'Put a directory in front of the hook\'s PATH; may be repeated' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l user -d 'Run the hook as this account (needs root)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l expect -d 'Must be true of the result (MY) and what went in (TARGET); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l expect-verdict -d 'The verdict must be this word, such as go-on or held; it is then a success' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l keep -d 'Keep argv, env, stdin, stdout, stderr and meta of each call below DIR' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l repeat -d 'Call it N times and compare the answers' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l time -d 'Call it N times and print a table of how long it took' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l fuzz -d 'Change the ad at random N times; --seed repeats it' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l seed -d 'Begin random() with this number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l edit-in-place -d 'The route edits the job in place'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l shadow -d 'The job comes from a schedd, not from a fetch hook: failures hold it or send it back'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l before-job -d 'For update and exit: the job has not been started, so that its ad tells nothing of a run'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l ignore-path-check -d 'Run the hook although its caller would refuse the path'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -s i -l show-input -d 'Print what the hook would get and run nothing'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l probe -d 'Call it again in another directory, with another HOME and with your own environment, and compare'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l explain -d 'Tell how keyword and path were found'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l help-all -d 'Print all options with notes'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l json -d 'Write one JSON array'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -l jsonl -d 'Write one JSON object a line'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand update" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l slot-ads -d 'Read the slot\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l routed-ads -d 'Read the routed job\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l sample-job -d 'Use a built-in job: vanilla, container, docker, gpu, grid, java, parallel, v1' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l sample-slot -d 'Use a built-in slot: static, partitionable, gpu' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l set -d 'Set an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l delete -d 'Remove an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l set-slot -d 'Set an attribute of the slot; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l set-routed -d 'Set an attribute of the routed job; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l keyword -d 'Look the hook up under this keyword instead of the caller\'s' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l slot -d 'Look keyword and knobs up as this slot does: slot2, slot1_3, or only its number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l slot-type -d 'Type of the slot, for SLOT_TYPE_<N> knobs' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l route -d 'Name of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l target-universe -d 'TargetUniverse of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l grid-resource -d 'GridResource of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l protocol -d 'Speak the protocol of the 7.1 manual' -r -f -a "7.1\t''
present\t''"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l claim-id -d 'Id of the claim' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l env -d 'Set a variable of the hook\'s environment; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l path-prepend -d 'Put a directory in front of the hook\'s PATH; may be repeated' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l user -d 'Run the hook as this account (needs root)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l expect -d 'Must be true of the result (MY) and what went in (TARGET); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l expect-verdict -d 'The verdict must be this word, such as go-on or held; it is then a success' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l keep -d 'Keep argv, env, stdin, stdout, stderr and meta of each call below DIR' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l repeat -d 'Call it N times and compare the answers' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l time -d 'Call it N times and print a table of how long it took' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l fuzz -d 'Change the ad at random N times; --seed repeats it' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l seed -d 'Begin random() with this number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l edit-in-place -d 'The route edits the job in place'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l shadow -d 'The job comes from a schedd, not from a fetch hook: failures hold it or send it back'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l before-job -d 'For update and exit: the job has not been started, so that its ad tells nothing of a run'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l ignore-path-check -d 'Run the hook although its caller would refuse the path'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -s i -l show-input -d 'Print what the hook would get and run nothing'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l probe -d 'Call it again in another directory, with another HOME and with your own environment, and compare'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l explain -d 'Tell how keyword and path were found'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l help-all -d 'Print all options with notes'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l json -d 'Write one JSON array'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -l jsonl -d 'Write one JSON object a line'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand exit" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l slot-ads -d 'Read the slot\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l routed-ads -d 'Read the routed job\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l sample-job -d 'Use a built-in job: vanilla, container, docker, gpu, grid, java, parallel, v1' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l sample-slot -d 'Use a built-in slot: static, partitionable, gpu' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l set -d 'Set an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l delete -d 'Remove an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l set-slot -d 'Set an attribute of the slot; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l set-routed -d 'Set an attribute of the routed job; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l keyword -d 'Look the hook up under this keyword instead of the caller\'s' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l slot -d 'Look keyword and knobs up as this slot does: slot2, slot1_3, or only its number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l slot-type -d 'Type of the slot, for SLOT_TYPE_<N> knobs' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l route -d 'Name of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l target-universe -d 'TargetUniverse of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l grid-resource -d 'GridResource of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l protocol -d 'Speak the protocol of the 7.1 manual' -r -f -a "7.1\t''
present\t''"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l claim-id -d 'Id of the claim' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l env -d 'Set a variable of the hook\'s environment; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l path-prepend -d 'Put a directory in front of the hook\'s PATH; may be repeated' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l user -d 'Run the hook as this account (needs root)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l expect -d 'Must be true of the result (MY) and what went in (TARGET); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l expect-verdict -d 'The verdict must be this word, such as go-on or held; it is then a success' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l keep -d 'Keep argv, env, stdin, stdout, stderr and meta of each call below DIR' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l repeat -d 'Call it N times and compare the answers' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l time -d 'Call it N times and print a table of how long it took' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l fuzz -d 'Change the ad at random N times; --seed repeats it' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l seed -d 'Begin random() with this number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l edit-in-place -d 'The route edits the job in place'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l shadow -d 'The job comes from a schedd, not from a fetch hook: failures hold it or send it back'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l before-job -d 'For update and exit: the job has not been started, so that its ad tells nothing of a run'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l ignore-path-check -d 'Run the hook although its caller would refuse the path'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -s i -l show-input -d 'Print what the hook would get and run nothing'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l probe -d 'Call it again in another directory, with another HOME and with your own environment, and compare'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l explain -d 'Tell how keyword and path were found'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l help-all -d 'Print all options with notes'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l json -d 'Write one JSON array'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -l jsonl -d 'Write one JSON object a line'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand shadow-prepare" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l slot-ads -d 'Read the slot\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l routed-ads -d 'Read the routed job\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l sample-job -d 'Use a built-in job: vanilla, container, docker, gpu, grid, java, parallel, v1' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l sample-slot -d 'Use a built-in slot: static, partitionable, gpu' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l set -d 'Set an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l delete -d 'Remove an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l set-slot -d 'Set an attribute of the slot; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l set-routed -d 'Set an attribute of the routed job; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l keyword -d 'Look the hook up under this keyword instead of the caller\'s' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l slot -d 'Look keyword and knobs up as this slot does: slot2, slot1_3, or only its number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l slot-type -d 'Type of the slot, for SLOT_TYPE_<N> knobs' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l route -d 'Name of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l target-universe -d 'TargetUniverse of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l grid-resource -d 'GridResource of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l protocol -d 'Speak the protocol of the 7.1 manual' -r -f -a "7.1\t''
present\t''"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l claim-id -d 'Id of the claim' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l env -d 'Set a variable of the hook\'s environment; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l path-prepend -d 'Put a directory in front of the hook\'s PATH; may be repeated' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l user -d 'Run the hook as this account (needs root)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l expect -d 'Must be true of the result (MY) and what went in (TARGET); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l expect-verdict -d 'The verdict must be this word, such as go-on or held; it is then a success' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l keep -d 'Keep argv, env, stdin, stdout, stderr and meta of each call below DIR' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l repeat -d 'Call it N times and compare the answers' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l time -d 'Call it N times and print a table of how long it took' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l fuzz -d 'Change the ad at random N times; --seed repeats it' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l seed -d 'Begin random() with this number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l edit-in-place -d 'The route edits the job in place'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l shadow -d 'The job comes from a schedd, not from a fetch hook: failures hold it or send it back'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l before-job -d 'For update and exit: the job has not been started, so that its ad tells nothing of a run'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l ignore-path-check -d 'Run the hook although its caller would refuse the path'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -s i -l show-input -d 'Print what the hook would get and run nothing'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l probe -d 'Call it again in another directory, with another HOME and with your own environment, and compare'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l explain -d 'Tell how keyword and path were found'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l help-all -d 'Print all options with notes'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l json -d 'Write one JSON array'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -l jsonl -d 'Write one JSON object a line'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand translate" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l slot-ads -d 'Read the slot\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l routed-ads -d 'Read the routed job\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l sample-job -d 'Use a built-in job: vanilla, container, docker, gpu, grid, java, parallel, v1' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l sample-slot -d 'Use a built-in slot: static, partitionable, gpu' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l set -d 'Set an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l delete -d 'Remove an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l set-slot -d 'Set an attribute of the slot; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l set-routed -d 'Set an attribute of the routed job; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l keyword -d 'Look the hook up under this keyword instead of the caller\'s' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l slot -d 'Look keyword and knobs up as this slot does: slot2, slot1_3, or only its number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l slot-type -d 'Type of the slot, for SLOT_TYPE_<N> knobs' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l route -d 'Name of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l target-universe -d 'TargetUniverse of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l grid-resource -d 'GridResource of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l protocol -d 'Speak the protocol of the 7.1 manual' -r -f -a "7.1\t''
present\t''"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l claim-id -d 'Id of the claim' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l env -d 'Set a variable of the hook\'s environment; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l path-prepend -d 'Put a directory in front of the hook\'s PATH; may be repeated' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l user -d 'Run the hook as this account (needs root)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l expect -d 'Must be true of the result (MY) and what went in (TARGET); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l expect-verdict -d 'The verdict must be this word, such as go-on or held; it is then a success' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l keep -d 'Keep argv, env, stdin, stdout, stderr and meta of each call below DIR' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l repeat -d 'Call it N times and compare the answers' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l time -d 'Call it N times and print a table of how long it took' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l fuzz -d 'Change the ad at random N times; --seed repeats it' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l seed -d 'Begin random() with this number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l edit-in-place -d 'The route edits the job in place'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l shadow -d 'The job comes from a schedd, not from a fetch hook: failures hold it or send it back'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l before-job -d 'For update and exit: the job has not been started, so that its ad tells nothing of a run'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l ignore-path-check -d 'Run the hook although its caller would refuse the path'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -s i -l show-input -d 'Print what the hook would get and run nothing'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l probe -d 'Call it again in another directory, with another HOME and with your own environment, and compare'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l explain -d 'Tell how keyword and path were found'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l help-all -d 'Print all options with notes'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l json -d 'Write one JSON array'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -l jsonl -d 'Write one JSON object a line'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand router-update" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l slot-ads -d 'Read the slot\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l routed-ads -d 'Read the routed job\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l sample-job -d 'Use a built-in job: vanilla, container, docker, gpu, grid, java, parallel, v1' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l sample-slot -d 'Use a built-in slot: static, partitionable, gpu' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l set -d 'Set an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l delete -d 'Remove an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l set-slot -d 'Set an attribute of the slot; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l set-routed -d 'Set an attribute of the routed job; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l keyword -d 'Look the hook up under this keyword instead of the caller\'s' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l slot -d 'Look keyword and knobs up as this slot does: slot2, slot1_3, or only its number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l slot-type -d 'Type of the slot, for SLOT_TYPE_<N> knobs' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l route -d 'Name of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l target-universe -d 'TargetUniverse of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l grid-resource -d 'GridResource of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l protocol -d 'Speak the protocol of the 7.1 manual' -r -f -a "7.1\t''
present\t''"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l claim-id -d 'Id of the claim' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l env -d 'Set a variable of the hook\'s environment; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l path-prepend -d 'Put a directory in front of the hook\'s PATH; may be repeated' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l user -d 'Run the hook as this account (needs root)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l expect -d 'Must be true of the result (MY) and what went in (TARGET); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l expect-verdict -d 'The verdict must be this word, such as go-on or held; it is then a success' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l keep -d 'Keep argv, env, stdin, stdout, stderr and meta of each call below DIR' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l repeat -d 'Call it N times and compare the answers' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l time -d 'Call it N times and print a table of how long it took' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l fuzz -d 'Change the ad at random N times; --seed repeats it' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l seed -d 'Begin random() with this number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l edit-in-place -d 'The route edits the job in place'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l shadow -d 'The job comes from a schedd, not from a fetch hook: failures hold it or send it back'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l before-job -d 'For update and exit: the job has not been started, so that its ad tells nothing of a run'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l ignore-path-check -d 'Run the hook although its caller would refuse the path'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -s i -l show-input -d 'Print what the hook would get and run nothing'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l probe -d 'Call it again in another directory, with another HOME and with your own environment, and compare'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l explain -d 'Tell how keyword and path were found'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l help-all -d 'Print all options with notes'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l json -d 'Write one JSON array'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -l jsonl -d 'Write one JSON object a line'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand finalize" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l slot-ads -d 'Read the slot\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l routed-ads -d 'Read the routed job\'s ad from FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l sample-job -d 'Use a built-in job: vanilla, container, docker, gpu, grid, java, parallel, v1' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l sample-slot -d 'Use a built-in slot: static, partitionable, gpu' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l set -d 'Set an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l delete -d 'Remove an attribute of the job (of the slot, for fetch); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l set-slot -d 'Set an attribute of the slot; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l set-routed -d 'Set an attribute of the routed job; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l keyword -d 'Look the hook up under this keyword instead of the caller\'s' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l slot -d 'Look keyword and knobs up as this slot does: slot2, slot1_3, or only its number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l slot-type -d 'Type of the slot, for SLOT_TYPE_<N> knobs' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l route -d 'Name of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l target-universe -d 'TargetUniverse of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l grid-resource -d 'GridResource of the route' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l protocol -d 'Speak the protocol of the 7.1 manual' -r -f -a "7.1\t''
present\t''"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l claim-id -d 'Id of the claim' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l env -d 'Set a variable of the hook\'s environment; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l path-prepend -d 'Put a directory in front of the hook\'s PATH; may be repeated' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l user -d 'Run the hook as this account (needs root)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l expect -d 'Must be true of the result (MY) and what went in (TARGET); may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l expect-verdict -d 'The verdict must be this word, such as go-on or held; it is then a success' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l keep -d 'Keep argv, env, stdin, stdout, stderr and meta of each call below DIR' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l repeat -d 'Call it N times and compare the answers' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l time -d 'Call it N times and print a table of how long it took' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l fuzz -d 'Change the ad at random N times; --seed repeats it' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l seed -d 'Begin random() with this number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l edit-in-place -d 'The route edits the job in place'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l shadow -d 'The job comes from a schedd, not from a fetch hook: failures hold it or send it back'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l before-job -d 'For update and exit: the job has not been started, so that its ad tells nothing of a run'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l ignore-path-check -d 'Run the hook although its caller would refuse the path'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -s i -l show-input -d 'Print what the hook would get and run nothing'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l probe -d 'Call it again in another directory, with another HOME and with your own environment, and compare'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l explain -d 'Tell how keyword and path were found'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l help-all -d 'Print all options with notes'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l json -d 'Write one JSON array'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -l jsonl -d 'Write one JSON object a line'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand cleanup" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l name -d 'Only this job of the list, or the name of the job' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l prefix -d 'PREFIX of the job' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l slots -d 'SLOTS of the job, such as 1,2' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l metrics -d 'METRICS of the job, such as SUM:GPUs' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l runs -d 'Run each job N times; an OneShot job once' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l for -d 'Let SECONDS pass instead; nothing is waited for while no program runs' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l reconfig -d 'Read the configuration again after so many seconds; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l reconfig-file -d 'The configuration that is read from the first --reconfig on' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l job-begins -d 'A job begins in the slot that --job-slot names, after so many seconds: monitors count for it from then on' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l job-slot -d 'The slot of --job-begins, by its number among the ads' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l slot -d 'Show only what reaches the slot of that number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l slot-ads -d 'The ads of the slots, or of the schedd, instead of a built-in one' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l env -d 'Set a variable of the program\'s environment; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l path-prepend -d 'Put a directory in front of the program\'s PATH; may be repeated' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l user -d 'Run the program as this account (needs root)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l expect -d 'Must be true of each slot\'s ad afterwards; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l seed -d 'Begin random() with this number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -s i -l show-input -d 'Print how each program would be called and run nothing'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l help-all -d 'Print all options with notes'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l json -d 'Write one JSON array'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -l jsonl -d 'Write one JSON object a line'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand startd-cron" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l name -d 'Only this job of the list, or the name of the job' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l prefix -d 'PREFIX of the job' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l slots -d 'SLOTS of the job, such as 1,2' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l metrics -d 'METRICS of the job, such as SUM:GPUs' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l runs -d 'Run each job N times; an OneShot job once' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l for -d 'Let SECONDS pass instead; nothing is waited for while no program runs' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l reconfig -d 'Read the configuration again after so many seconds; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l reconfig-file -d 'The configuration that is read from the first --reconfig on' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l job-begins -d 'A job begins in the slot that --job-slot names, after so many seconds: monitors count for it from then on' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l job-slot -d 'The slot of --job-begins, by its number among the ads' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l slot -d 'Show only what reaches the slot of that number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l slot-ads -d 'The ads of the slots, or of the schedd, instead of a built-in one' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l env -d 'Set a variable of the program\'s environment; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l path-prepend -d 'Put a directory in front of the program\'s PATH; may be repeated' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l user -d 'Run the program as this account (needs root)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l expect -d 'Must be true of each slot\'s ad afterwards; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l seed -d 'Begin random() with this number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -s i -l show-input -d 'Print how each program would be called and run nothing'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l help-all -d 'Print all options with notes'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l json -d 'Write one JSON array'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -l jsonl -d 'Write one JSON object a line'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand schedd-cron" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l name -d 'Only this job of the list, or the name of the job' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l prefix -d 'PREFIX of the job' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l slots -d 'SLOTS of the job, such as 1,2' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l metrics -d 'METRICS of the job, such as SUM:GPUs' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l runs -d 'Run each job N times; an OneShot job once' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l for -d 'Let SECONDS pass instead; nothing is waited for while no program runs' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l reconfig -d 'Read the configuration again after so many seconds; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l reconfig-file -d 'The configuration that is read from the first --reconfig on' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l job-begins -d 'A job begins in the slot that --job-slot names, after so many seconds: monitors count for it from then on' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l job-slot -d 'The slot of --job-begins, by its number among the ads' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l slot -d 'Show only what reaches the slot of that number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l slot-ads -d 'The ads of the slots, or of the schedd, instead of a built-in one' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l env -d 'Set a variable of the program\'s environment; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l path-prepend -d 'Put a directory in front of the program\'s PATH; may be repeated' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l user -d 'Run the program as this account (needs root)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l expect -d 'Must be true of each slot\'s ad afterwards; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l seed -d 'Begin random() with this number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -s i -l show-input -d 'Print how each program would be called and run nothing'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l help-all -d 'Print all options with notes'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l json -d 'Write one JSON array'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -l jsonl -d 'Write one JSON object a line'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand benchmark" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand run" -l filter -d 'Run only cases whose name contains TEXT' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand run" -s j -l jobs -d 'Run N cases side by side' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand run" -l junit -d 'Write results as JUnit XML to FILE' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand run" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand run" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand run" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand run" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand run" -l seed -d 'Begin random() with this number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand run" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand run" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand run" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand run" -l list -d 'Print the names of the cases and run nothing'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand run" -l update -d 'Write the present verdicts into the suites'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand run" -l tap -d 'Write results as TAP to standard output'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand run" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand run" -l help-all -d 'Print all options with notes'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand run" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand run" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand run" -l json -d 'Write one JSON array'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand run" -l jsonl -d 'Write one JSON object a line'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand run" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand init" -l type -d 'Its type, such as prepare or startd-cron; guessed from its name otherwise' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand init" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand init" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand init" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand init" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand init" -l seed -d 'Begin random() with this number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand init" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand init" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand init" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand init" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand init" -l help-all -d 'Print all options with notes'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand init" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand init" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand init" -l json -d 'Write one JSON array'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand init" -l jsonl -d 'Write one JSON object a line'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand init" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand record" -l into -d 'Keep the calls below DIR, readable by this account only; the first 8 MiB of each stream' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand record" -l type -d 'The type of hook, such as prepare, for replay; guessed from the hook\'s name otherwise' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand record" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand record" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand record" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand record" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand record" -l seed -d 'Begin random() with this number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand record" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand record" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand record" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand record" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand record" -l help-all -d 'Print all options with notes'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand record" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand record" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand record" -l json -d 'Write one JSON array'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand record" -l jsonl -d 'Write one JSON object a line'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand record" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand replay" -l hook -d 'Call this hook with each recorded input and show what would change' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand replay" -l type -d 'Only calls of this type; those that do not tell their type are taken for it' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand replay" -l junit -d 'Write results as JUnit XML to FILE: a call that changes is a failure' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand replay" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand replay" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand replay" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand replay" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand replay" -l seed -d 'Begin random() with this number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand replay" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand replay" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand replay" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand replay" -l shadow -d 'The jobs come from a schedd'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand replay" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand replay" -l help-all -d 'Print all options with notes'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand replay" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand replay" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand replay" -l json -d 'Write one JSON array'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand replay" -l jsonl -d 'Write one JSON object a line'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand replay" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -l slots -d 'How many slots fetch at once' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -l jobs -d 'How many jobs the queue holds; without it only what is handed out is looked at' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -l fill -d 'A shell command that fills the queue; JOBS is in its environment' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -l id -d 'What tells one job from another' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -l evict -d 'Share of jobs that are evicted once before they end, in percent' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -l reject -d 'Share of jobs that are rejected once, in percent; 20 on a copy, otherwise 0' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -l kill -d 'Share of calls that are killed in the middle of the last round, in percent; 0 leaves that round out; 5 on a copy, otherwise 0, since a killed fetch excuses a lost job' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -l keyword -d 'Use the hooks of this keyword' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -l seed -d 'Begin random() with this number' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -l in-place -d 'Work on the queue itself, not on copies of the configuration\'s directory; one round only, in which nothing is learnt about exit records'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -l help-all -d 'Print all options with notes'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -l json -d 'Write one JSON array'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -l jsonl -d 'Write one JSON object a line'
complete -c htc-hook-test -n "__fish_htc_hook_test_using_subcommand queue" -s q -l quiet -d 'Say nothing but results and errors'
