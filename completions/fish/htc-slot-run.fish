# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_htc_slot_run_global_optspecs
    string join \n once max-jobs= idle-exit= hook-timeout= starter= n/dry-run control= config-file= set-knob= no-env local-name= l/long json jsonl q/quiet color= gpus= quirks= events= timeout= V/version h/help help-all
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
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l hook-timeout -d 'Kill FETCH_WORK and PREPARE_JOB that run longer' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l starter -d 'Run jobs with this program instead of STARTER or htc-starter-run' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l control -d 'Take requests (status, claim, drain ...) at this socket; without, at one in LOG' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l local-name -d 'Local name for LOCAL.KNOB in the configuration, as condor_startd\'s -local-name' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -l gpus -d 'Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another' -r -F
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
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -f -a "simulate" -d 'Play a scenario on a clock moved by hand: what would come of this policy in a month'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -f -a "doctor" -d 'Tell whether this configuration will work here, and what to do where it will not'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -f -a "status" -d 'Print slots of a running one (also match claim activate alive hold suspend continue vacate deactivate release-claim drain undrain reconfig off)'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -f -a "match" -d 'Let a running execution point hold a slot for a claimer, as a negotiator does'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -f -a "claim" -d 'Claim a slot for a job, as a schedd does; prints the slot that is claimed'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -f -a "activate" -d 'Run a job under a claim, as a shadow does'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -f -a "alive" -d 'Renew the lease of a claim'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -f -a "hold" -d 'Make the job of a claim leave and tell it that it is put on hold'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -f -a "suspend" -d 'Stop jobs of a running execution point for a while'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -f -a "continue" -d 'Let suspended jobs go on'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -f -a "vacate" -d 'Make jobs leave a running execution point'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -f -a "deactivate" -d 'End the job of a claim; the claim stays'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -f -a "release-claim" -d 'Give a claim back'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -f -a "drain" -d 'Make all jobs leave and let nothing new in'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -f -a "undrain" -d 'End a drain'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -f -a "off" -d 'End a running execution point'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -f -a "reconfig" -d 'Make a running execution point read its configuration again'
complete -c htc-slot-run -n "__fish_htc_slot_run_needs_command" -f -a "explain" -d 'Tell which slots would take these jobs, and which part of START or of the limits says no'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand run" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand run" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand run" -l local-name -d 'Local name for LOCAL.KNOB in the configuration, as condor_startd\'s -local-name' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand run" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand run" -l gpus -d 'Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another' -r -F
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
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand ads" -l local-name -d 'Local name for LOCAL.KNOB in the configuration, as condor_startd\'s -local-name' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand ads" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand ads" -l gpus -d 'Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another' -r -F
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
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand simulate" -l events -d 'Tell all that happens, line by line, instead of a summary; or as JSON to FILE' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand simulate" -l svg -d 'Draw a timeline of all slots' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand simulate" -l html -d 'Write one page with timeline, states, changes and summary' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand simulate" -l why -d 'Tell what became of a job (CLUSTER.PROC), or what decided about a slot (SLOT@TIME, such as slot1@2h)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand simulate" -l compare -d 'Play it with this configuration as well, and tell what differs' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand simulate" -l seed -d 'Begin chance with this number in place of the scenario\'s seed' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand simulate" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand simulate" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand simulate" -l local-name -d 'Local name for LOCAL.KNOB in the configuration, as condor_startd\'s -local-name' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand simulate" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand simulate" -l gpus -d 'Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand simulate" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand simulate" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand simulate" -l init -d 'Write a scenario with comments to begin with, to SCENARIO or to standard output'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand simulate" -l every-poll -d 'Look at every slot in every poll, as the daemon does: slow, and the same'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand simulate" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand simulate" -l help-all -d 'Print all options with notes'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand simulate" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand simulate" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand simulate" -l json -d 'Write one JSON array'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand simulate" -l jsonl -d 'Write one JSON object a line'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand simulate" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand doctor" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand doctor" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand doctor" -l local-name -d 'Local name for LOCAL.KNOB in the configuration, as condor_startd\'s -local-name' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand doctor" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand doctor" -l gpus -d 'Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand doctor" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand doctor" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand doctor" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand doctor" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand doctor" -l help-all -d 'Print all options with notes'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand doctor" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand doctor" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand doctor" -l json -d 'Write one JSON array'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand doctor" -l jsonl -d 'Write one JSON object a line'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand doctor" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand status" -l control -d 'The socket that the execution point was given with --control; without, that in LOG of the same configuration' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand status" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand status" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand status" -l local-name -d 'Local name for LOCAL.KNOB in the configuration, as condor_startd\'s -local-name' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand status" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand status" -l gpus -d 'Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand status" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand status" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand status" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand status" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand status" -l help-all -d 'Print all options with notes'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand status" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand status" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand status" -l json -d 'Write one JSON array'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand status" -l jsonl -d 'Write one JSON object a line'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand status" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand match" -l control -d 'The socket that the execution point was given with --control; without, that in LOG of the same configuration' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand match" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand match" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand match" -l local-name -d 'Local name for LOCAL.KNOB in the configuration, as condor_startd\'s -local-name' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand match" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand match" -l gpus -d 'Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand match" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand match" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand match" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand match" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand match" -l help-all -d 'Print all options with notes'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand match" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand match" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand match" -l json -d 'Write one JSON array'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand match" -l jsonl -d 'Write one JSON object a line'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand match" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand claim" -l control -d 'The socket that the execution point was given with --control; without, that in LOG of the same configuration' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand claim" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand claim" -l lease -d 'Seconds without alive after which an idle claim ends (default: ALIVE_INTERVAL times MAX_CLAIM_ALIVES_MISSED)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand claim" -l schedd -d 'The claimer\'s name, for RemoteScheddName' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand claim" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand claim" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand claim" -l local-name -d 'Local name for LOCAL.KNOB in the configuration, as condor_startd\'s -local-name' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand claim" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand claim" -l gpus -d 'Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand claim" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand claim" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand claim" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand claim" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand claim" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand claim" -l help-all -d 'Print all options with notes'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand claim" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand claim" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand claim" -l json -d 'Write one JSON array'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand claim" -l jsonl -d 'Write one JSON object a line'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand claim" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand activate" -l control -d 'The socket that the execution point was given with --control; without, that in LOG of the same configuration' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand activate" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand activate" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand activate" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand activate" -l local-name -d 'Local name for LOCAL.KNOB in the configuration, as condor_startd\'s -local-name' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand activate" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand activate" -l gpus -d 'Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand activate" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand activate" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand activate" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand activate" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand activate" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand activate" -l help-all -d 'Print all options with notes'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand activate" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand activate" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand activate" -l json -d 'Write one JSON array'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand activate" -l jsonl -d 'Write one JSON object a line'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand activate" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand alive" -l control -d 'The socket that the execution point was given with --control; without, that in LOG of the same configuration' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand alive" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand alive" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand alive" -l local-name -d 'Local name for LOCAL.KNOB in the configuration, as condor_startd\'s -local-name' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand alive" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand alive" -l gpus -d 'Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand alive" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand alive" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand alive" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand alive" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand alive" -l help-all -d 'Print all options with notes'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand alive" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand alive" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand alive" -l json -d 'Write one JSON array'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand alive" -l jsonl -d 'Write one JSON object a line'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand alive" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand hold" -l control -d 'The socket that the execution point was given with --control; without, that in LOG of the same configuration' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand hold" -l reason -d 'Why, for HoldReason' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand hold" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand hold" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand hold" -l local-name -d 'Local name for LOCAL.KNOB in the configuration, as condor_startd\'s -local-name' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand hold" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand hold" -l gpus -d 'Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand hold" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand hold" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand hold" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand hold" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand hold" -l help-all -d 'Print all options with notes'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand hold" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand hold" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand hold" -l json -d 'Write one JSON array'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand hold" -l jsonl -d 'Write one JSON object a line'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand hold" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand suspend" -l control -d 'The socket that the execution point was given with --control; without, that in LOG of the same configuration' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand suspend" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand suspend" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand suspend" -l local-name -d 'Local name for LOCAL.KNOB in the configuration, as condor_startd\'s -local-name' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand suspend" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand suspend" -l gpus -d 'Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand suspend" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand suspend" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand suspend" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand suspend" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand suspend" -l help-all -d 'Print all options with notes'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand suspend" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand suspend" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand suspend" -l json -d 'Write one JSON array'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand suspend" -l jsonl -d 'Write one JSON object a line'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand suspend" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand continue" -l control -d 'The socket that the execution point was given with --control; without, that in LOG of the same configuration' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand continue" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand continue" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand continue" -l local-name -d 'Local name for LOCAL.KNOB in the configuration, as condor_startd\'s -local-name' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand continue" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand continue" -l gpus -d 'Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand continue" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand continue" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand continue" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand continue" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand continue" -l help-all -d 'Print all options with notes'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand continue" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand continue" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand continue" -l json -d 'Write one JSON array'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand continue" -l jsonl -d 'Write one JSON object a line'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand continue" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand vacate" -l control -d 'The socket that the execution point was given with --control; without, that in LOG of the same configuration' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand vacate" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand vacate" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand vacate" -l local-name -d 'Local name for LOCAL.KNOB in the configuration, as condor_startd\'s -local-name' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand vacate" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand vacate" -l gpus -d 'Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand vacate" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand vacate" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand vacate" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand vacate" -l fast -d 'At once: no retirement, no vacate time'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand vacate" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand vacate" -l help-all -d 'Print all options with notes'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand vacate" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand vacate" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand vacate" -l json -d 'Write one JSON array'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand vacate" -l jsonl -d 'Write one JSON object a line'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand vacate" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand deactivate" -l control -d 'The socket that the execution point was given with --control; without, that in LOG of the same configuration' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand deactivate" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand deactivate" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand deactivate" -l local-name -d 'Local name for LOCAL.KNOB in the configuration, as condor_startd\'s -local-name' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand deactivate" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand deactivate" -l gpus -d 'Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand deactivate" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand deactivate" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand deactivate" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand deactivate" -l fast -d 'Kill it at once'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand deactivate" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand deactivate" -l help-all -d 'Print all options with notes'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand deactivate" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand deactivate" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand deactivate" -l json -d 'Write one JSON array'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand deactivate" -l jsonl -d 'Write one JSON object a line'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand deactivate" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand release-claim" -l control -d 'The socket that the execution point was given with --control; without, that in LOG of the same configuration' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand release-claim" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand release-claim" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand release-claim" -l local-name -d 'Local name for LOCAL.KNOB in the configuration, as condor_startd\'s -local-name' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand release-claim" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand release-claim" -l gpus -d 'Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand release-claim" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand release-claim" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand release-claim" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand release-claim" -l waiting -d 'The one that waits to take over, not the present one'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand release-claim" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand release-claim" -l help-all -d 'Print all options with notes'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand release-claim" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand release-claim" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand release-claim" -l json -d 'Write one JSON array'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand release-claim" -l jsonl -d 'Write one JSON object a line'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand release-claim" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand drain" -l control -d 'The socket that the execution point was given with --control; without, that in LOG of the same configuration' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand drain" -l reason -d 'Why, for DrainReason' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand drain" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand drain" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand drain" -l local-name -d 'Local name for LOCAL.KNOB in the configuration, as condor_startd\'s -local-name' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand drain" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand drain" -l gpus -d 'Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand drain" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand drain" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand drain" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand drain" -l quick -d 'Without retirement, with vacate time'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand drain" -l fast -d 'Without retirement and vacate time'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand drain" -l resume -d 'Take jobs again when all slots are drained'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand drain" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand drain" -l help-all -d 'Print all options with notes'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand drain" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand drain" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand drain" -l json -d 'Write one JSON array'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand drain" -l jsonl -d 'Write one JSON object a line'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand drain" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand undrain" -l control -d 'The socket that the execution point was given with --control; without, that in LOG of the same configuration' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand undrain" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand undrain" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand undrain" -l local-name -d 'Local name for LOCAL.KNOB in the configuration, as condor_startd\'s -local-name' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand undrain" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand undrain" -l gpus -d 'Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand undrain" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand undrain" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand undrain" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand undrain" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand undrain" -l help-all -d 'Print all options with notes'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand undrain" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand undrain" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand undrain" -l json -d 'Write one JSON array'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand undrain" -l jsonl -d 'Write one JSON object a line'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand undrain" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand off" -l control -d 'The socket that the execution point was given with --control; without, that in LOG of the same configuration' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand off" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand off" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand off" -l local-name -d 'Local name for LOCAL.KNOB in the configuration, as condor_startd\'s -local-name' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand off" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand off" -l gpus -d 'Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand off" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand off" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand off" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand off" -l fast -d 'At once: no retirement, no vacate time'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand off" -l peaceful -d 'Let jobs run to their end'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand off" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand off" -l help-all -d 'Print all options with notes'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand off" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand off" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand off" -l json -d 'Write one JSON array'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand off" -l jsonl -d 'Write one JSON object a line'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand off" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand reconfig" -l control -d 'The socket that the execution point was given with --control; without, that in LOG of the same configuration' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand reconfig" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand reconfig" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand reconfig" -l local-name -d 'Local name for LOCAL.KNOB in the configuration, as condor_startd\'s -local-name' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand reconfig" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand reconfig" -l gpus -d 'Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand reconfig" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand reconfig" -l events -d 'Write JSON events to FILE or fd:N' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand reconfig" -l timeout -d 'Give up after this many seconds (exit status 124)' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand reconfig" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand reconfig" -l help-all -d 'Print all options with notes'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand reconfig" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand reconfig" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand reconfig" -l json -d 'Write one JSON array'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand reconfig" -l jsonl -d 'Write one JSON object a line'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand reconfig" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -l slot-ads -d 'Ask these slots, a pool\'s own ads (condor_status -long), in place of the configuration\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -l set -d 'Let an attribute of all slots have this value, such as LoadAvg=0; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -l compare -d 'Tell how many of the jobs each slot would take with this configuration in place of the present one' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -l local-name -d 'Local name for LOCAL.KNOB in the configuration, as condor_startd\'s -local-name' -r
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-slot-run -n "__fish_htc_slot_run_using_subcommand explain" -l gpus -d 'Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another' -r -F
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
