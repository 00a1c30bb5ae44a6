# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_htc_slot_run_global_optspecs
    string join \n once max-jobs= idle-exit= hook-timeout= starter= n/dry-run config-file= set-knob= no-env l/long json jsonl q/quiet color= quirks= events= timeout= V/version h/help help-all
end

function __fish_htc_slot_run_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_htc_slot_run_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_htc_slot_run_using_subcommand
    set -l cmd (__fish_htc_slot_run_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l max-jobs -d 'Take at most N jobs, then end' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l idle-exit -d 'End when no slot has had a job for this long' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l hook-timeout -d 'Kill hooks that run longer; a real execution point waits for ever' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l starter -d 'Run jobs with this program instead of STARTER or htc-starter-run' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l once -d 'End when no slot has more work'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -s n -l dry-run -d 'Check the configuration and print the slots; run nothing'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l json -d 'Write one JSON array'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l jsonl -d 'Write one JSON object a line'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -s V -l version -d 'Print the version'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l help-all -d 'Print all options with notes'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -f -a "run" -d 'Fetch and run jobs until told to end (the default)'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -f -a "ads" -d 'Print the ad of each slot as FETCH_WORK would get it'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -f -a "explain" -d 'Tell which slots would take these jobs, and which part of START or of the limits says no'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand run" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand run" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand run" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand run" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand run" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand run" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand run" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand run" -l help-all -d 'Print all options with notes'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand run" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand run" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand run" -l json -d 'Write one JSON array'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand run" -l jsonl -d 'Write one JSON object a line'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand run" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand ads" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand ads" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand ads" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand ads" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand ads" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand ads" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand ads" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand ads" -l help-all -d 'Print all options with notes'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand ads" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand ads" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand ads" -l json -d 'Write one JSON array'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand ads" -l jsonl -d 'Write one JSON object a line'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand ads" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -l help-all -d 'Print all options with notes'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -l json -d 'Write one JSON array'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -l jsonl -d 'Write one JSON object a line'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -s q -l quiet -d 'Say nothing but results and errors'
