# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_htc_router_translate_global_optspecs
    string join \n V/version h/help help-all
end

function __fish_htc_router_translate_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_htc_router_translate_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_htc_router_translate_using_subcommand
    set -l cmd (__fish_htc_router_translate_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c htc-router-translate -n "__fish_htc_router_translate_needs_command" -s V -l version -d 'Print the version'
complete -c htc-router-translate -n "__fish_htc_router_translate_needs_command" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-router-translate -n "__fish_htc_router_translate_needs_command" -l help-all -d 'Print all options with notes'
complete -c htc-router-translate -n "__fish_htc_router_translate_needs_command" -f -a "transform" -d 'Apply transforms to ads'
complete -c htc-router-translate -n "__fish_htc_router_translate_needs_command" -f -a "lint" -d 'Find mistakes in transforms'
complete -c htc-router-translate -n "__fish_htc_router_translate_needs_command" -f -a "compare" -d 'Compare two rule sets, or two routers, on given and made-up ads'
complete -c htc-router-translate -n "__fish_htc_router_translate_needs_command" -f -a "match" -d 'Tell which route each job gets, and why others do not'
complete -c htc-router-translate -n "__fish_htc_router_translate_needs_command" -f -a "route" -d 'Write the ads that the router would submit'
complete -c htc-router-translate -n "__fish_htc_router_translate_needs_command" -f -a "translate" -d 'Call TRANSLATE_JOB for source jobs and write its answers'
complete -c htc-router-translate -n "__fish_htc_router_translate_needs_command" -f -a "update" -d 'Call UPDATE_JOB_INFO for routed jobs and write them updated'
complete -c htc-router-translate -n "__fish_htc_router_translate_needs_command" -f -a "finalize" -d 'Call JOB_FINALIZE for pairs of source and routed job and write them updated'
complete -c htc-router-translate -n "__fish_htc_router_translate_needs_command" -f -a "cleanup" -d 'Call JOB_CLEANUP for routed jobs'
complete -c htc-router-translate -n "__fish_htc_router_translate_needs_command" -f -a "finish" -d 'Copy back what the router copies back, from pairs of source and routed job'
complete -c htc-router-translate -n "__fish_htc_router_translate_needs_command" -f -a "run" -d 'Route the jobs of a directory for as long as it lives'
complete -c htc-router-translate -n "__fish_htc_router_translate_needs_command" -f -a "simulate" -d 'Play jobs over time through the routes\' limits and throttles'
complete -c htc-router-translate -n "__fish_htc_router_translate_needs_command" -f -a "convert" -d 'Write routes of the old syntax as JOB_ROUTER_ROUTE_<name>'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -s r -l rules -d 'Apply the rules of FILE (\'-\' is standard input); may be repeated' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l job-transforms -d 'Apply JOB_TRANSFORM_<name> of the configuration, or of a rules file before' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l route -d 'Apply JOB_ROUTER_ROUTE_<name> of the configuration, or of a rules file before' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l set -d 'Set a macro before each ad, as NAME=VALUE of condor_transform_ads does' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l ads -l in -d 'Read ads from FILE (\'-\' is standard input, which is read when no file is named)' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l out -d 'Write the ads to FILE' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l threads -d 'Work with N threads where what is written of an ad depends on no other [default: one a processor]' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l seed -d 'Begin random() with this number' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l exec -d 'Run the commands that rules name (\'include command\', TRANSFORM from \'prog |\')'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l trace -d 'Tell on standard error what each statement did to each ad'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l diff -d 'Tell on standard error what each ad gained, lost and changed'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l xml -d 'Write XML'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l new -d 'Write new ClassAds'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l json -d 'Write one JSON array'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l jsonl -d 'Write one JSON object a line'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l help-all -d 'Print all options with notes'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand lint" -s r -l rules -d 'Apply the rules of FILE (\'-\' is standard input); may be repeated' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand lint" -l job-transforms -d 'Apply JOB_TRANSFORM_<name> of the configuration, or of a rules file before' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand lint" -l route -d 'Apply JOB_ROUTER_ROUTE_<name> of the configuration, or of a rules file before' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand lint" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand lint" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand lint" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand lint" -l exec -d 'Run the commands that rules name (\'include command\', TRANSFORM from \'prog |\')'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand lint" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand lint" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand lint" -l json -d 'Write one JSON array'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand lint" -l jsonl -d 'Write one JSON object a line'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand lint" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand lint" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand lint" -l help-all -d 'Print all options with notes'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -l ads -d 'Compare on the ads of FILE too; may be repeated' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -l generate -d 'How many ads are made by chance, beside those that make each condition true and false' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -l seed -d 'Begin making ads with this number' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -l routers -d 'Take the files for configurations of routers: routes, transforms, constraint (the usual guess if they set JOB_ROUTER_ knobs)'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -l exec -d 'Run the commands that rules name (\'include command\', TRANSFORM from \'prog |\'), each once'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -l json -d 'Write one JSON array'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -l jsonl -d 'Write one JSON object a line'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -l help-all -d 'Print all options with notes'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand match" -l queue-log -d 'Count the routed jobs of this job_queue.log against the limits of their routes' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand match" -l owner -d 'Route only jobs of this user, as a router does that is not root' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand match" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand match" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand match" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand match" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand match" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand match" -l seed -d 'Begin random() with this number' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand match" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand match" -l explain -d 'Tell for each job what each route said to it'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand match" -l summary -d 'Only counts: jobs of each route, and why the others got none'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand match" -l ignore-prior-routing -d 'Take every job for idle and never routed before'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand match" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand match" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand match" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand match" -l json -d 'Write one JSON array'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand match" -l jsonl -d 'Write one JSON object a line'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand match" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand match" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand match" -l help-all -d 'Print all options with notes'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -l hook-limit -d 'Kill a hook that takes longer' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -l route -d 'Give every job this route, whatever its requirements and limits' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -l queue-log -d 'Count the routed jobs of this job_queue.log against the limits of their routes' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -l owner -d 'Route only jobs of this user, as a router does that is not root' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -l seed -d 'Begin random() with this number' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -l explain -d 'Tell on standard error for each job what each route said to it, and what became of it'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -l trace -d 'Tell on standard error what each statement of the transforms did'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -l pairs -d 'Write each source job too, as the router would leave it, in front of its copy'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -l no-hooks -d 'Do not call TRANSLATE_JOB hooks'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -l ignore-prior-routing -d 'Take every job for idle and never routed before'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -l json -d 'Write one JSON array'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -l jsonl -d 'Write one JSON object a line'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand route" -l help-all -d 'Print all options with notes'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand translate" -l route -d 'The route that TRANSLATE_JOB is told of' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand translate" -l hook-limit -d 'Kill a hook that takes longer' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand translate" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand translate" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand translate" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand translate" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand translate" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand translate" -l seed -d 'Begin random() with this number' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand translate" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand translate" -l dry-run -d 'Do not call the hook; write what it would read'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand translate" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand translate" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand translate" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand translate" -l json -d 'Write one JSON array'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand translate" -l jsonl -d 'Write one JSON object a line'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand translate" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand translate" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand translate" -l help-all -d 'Print all options with notes'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand update" -l hook-limit -d 'Kill a hook that takes longer' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand update" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand update" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand update" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand update" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand update" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand update" -l seed -d 'Begin random() with this number' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand update" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand update" -l dry-run -d 'Do not call the hook; write what it would read'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand update" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand update" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand update" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand update" -l json -d 'Write one JSON array'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand update" -l jsonl -d 'Write one JSON object a line'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand update" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand update" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand update" -l help-all -d 'Print all options with notes'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finalize" -l hook-limit -d 'Kill a hook that takes longer' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finalize" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finalize" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finalize" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finalize" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finalize" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finalize" -l seed -d 'Begin random() with this number' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finalize" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finalize" -l dry-run -d 'Do not call the hook; write what it would read'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finalize" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finalize" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finalize" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finalize" -l json -d 'Write one JSON array'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finalize" -l jsonl -d 'Write one JSON object a line'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finalize" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finalize" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finalize" -l help-all -d 'Print all options with notes'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand cleanup" -l hook-limit -d 'Kill a hook that takes longer' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand cleanup" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand cleanup" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand cleanup" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand cleanup" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand cleanup" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand cleanup" -l seed -d 'Begin random() with this number' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand cleanup" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand cleanup" -l dry-run -d 'Do not call the hook; write what it would read'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand cleanup" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand cleanup" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand cleanup" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand cleanup" -l json -d 'Write one JSON array'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand cleanup" -l jsonl -d 'Write one JSON object a line'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand cleanup" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand cleanup" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand cleanup" -l help-all -d 'Print all options with notes'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finish" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finish" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finish" -l ads -d 'Read ads from FILE; \'-\' is standard input' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finish" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finish" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finish" -l seed -d 'Begin random() with this number' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finish" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finish" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finish" -l strict-input -d 'Fail at the first malformed ad instead of reporting it'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finish" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finish" -l json -d 'Write one JSON array'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finish" -l jsonl -d 'Write one JSON object a line'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finish" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finish" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand finish" -l help-all -d 'Print all options with notes'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand run" -l queue -d 'The directory: one job a file, CLUSTER.PROC.ad, in the long form' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand run" -l copies -d 'Put copies into this directory, with cluster numbers of its own: the queue that JOB_ROUTER_SCHEDD2_* names' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand run" -l submit -d 'Submit copies through this command; it reads the ad and prints CLUSTER.PROC or, as condor_submit does, \'N job(s) submitted to cluster C.\'' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand run" -l period -d 'Poll this often in place of JOB_ROUTER_POLLING_PERIOD' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand run" -l hook-limit -d 'Kill a hook or a submit command that takes longer' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand run" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand run" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand run" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand run" -l once -d 'Poll once, wait for the hooks it called, and end'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand run" -l idle-exit -d 'End when nothing is left to be managed'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand run" -s q -l quiet -d 'Say nothing of what happens'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand run" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand run" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand run" -l help-all -d 'Print all options with notes'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand simulate" -l svg -d 'Draw a timeline of the jobs of each route' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand simulate" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand simulate" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand simulate" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand simulate" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand simulate" -l trace -d 'Tell what the router would log'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand simulate" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand simulate" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand simulate" -l json -d 'Write one JSON array'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand simulate" -l jsonl -d 'Write one JSON object a line'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand simulate" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand simulate" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand simulate" -l help-all -d 'Print all options with notes'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand convert" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand convert" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand convert" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand convert" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand convert" -l help-all -d 'Print all options with notes'
