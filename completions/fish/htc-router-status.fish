# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_htc_router_status_global_optspecs
    string join \n by= running idle held route= constraint= af= watch= patience= limit= config-file= set-knob= no-env l/long json jsonl q/quiet color= now= seed= V/version h/help help-all
end

function __fish_htc_router_status_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_htc_router_status_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_htc_router_status_using_subcommand
    set -l cmd (__fish_htc_router_status_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -l by -d 'Count jobs by state for each of these' -r -f -a "route\t''
user\t''
site\t''"
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -l route -d 'Only jobs of this route' -r
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -l constraint -d 'Only jobs for which the expression is true' -r
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -l af -l autoformat -d 'Print these attributes or expressions of each job, with blanks between' -r
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -l watch -d 'Show everything again every so often' -r
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -l patience -d 'How long a claim or an end may lead to nothing before doctor calls it trouble' -r
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -l limit -d 'At most so many records of the history' -r
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -l seed -d 'Begin random() with this number' -r
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -l running -d 'Only running jobs'
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -l idle -d 'Only idle jobs'
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -l held -d 'Only held jobs'
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -l json -d 'Write one JSON array'
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -l jsonl -d 'Write one JSON object a line'
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -s V -l version -d 'Print the version'
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -l help-all -d 'Print all options with notes'
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -a "queue" -d 'Routed jobs in the queue (the default)'
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -a "doctor" -d 'Find what is wrong; exit status 1 if there is anything'
complete -c htc-router-status -n "__fish_htc_router_status_needs_command" -a "history" -d 'Routed jobs that have left the queue, the newest first'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand queue" -l by -d 'Count jobs by state for each of these' -r -f -a "route\t''
user\t''
site\t''"
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand queue" -l route -d 'Only jobs of this route' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand queue" -l constraint -d 'Only jobs for which the expression is true' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand queue" -l af -l autoformat -d 'Print these attributes or expressions of each job, with blanks between' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand queue" -l watch -d 'Show everything again every so often' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand queue" -l patience -d 'How long a claim or an end may lead to nothing before doctor calls it trouble' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand queue" -l limit -d 'At most so many records of the history' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand queue" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand queue" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand queue" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand queue" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand queue" -l seed -d 'Begin random() with this number' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand queue" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand queue" -l help-all -d 'Print all options with notes'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand queue" -l running -d 'Only running jobs'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand queue" -l idle -d 'Only idle jobs'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand queue" -l held -d 'Only held jobs'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand queue" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand queue" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand queue" -l json -d 'Write one JSON array'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand queue" -l jsonl -d 'Write one JSON object a line'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand queue" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand doctor" -l by -d 'Count jobs by state for each of these' -r -f -a "route\t''
user\t''
site\t''"
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand doctor" -l route -d 'Only jobs of this route' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand doctor" -l constraint -d 'Only jobs for which the expression is true' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand doctor" -l af -l autoformat -d 'Print these attributes or expressions of each job, with blanks between' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand doctor" -l watch -d 'Show everything again every so often' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand doctor" -l patience -d 'How long a claim or an end may lead to nothing before doctor calls it trouble' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand doctor" -l limit -d 'At most so many records of the history' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand doctor" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand doctor" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand doctor" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand doctor" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand doctor" -l seed -d 'Begin random() with this number' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand doctor" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand doctor" -l help-all -d 'Print all options with notes'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand doctor" -l running -d 'Only running jobs'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand doctor" -l idle -d 'Only idle jobs'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand doctor" -l held -d 'Only held jobs'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand doctor" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand doctor" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand doctor" -l json -d 'Write one JSON array'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand doctor" -l jsonl -d 'Write one JSON object a line'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand doctor" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand history" -l by -d 'Count jobs by state for each of these' -r -f -a "route\t''
user\t''
site\t''"
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand history" -l route -d 'Only jobs of this route' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand history" -l constraint -d 'Only jobs for which the expression is true' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand history" -l af -l autoformat -d 'Print these attributes or expressions of each job, with blanks between' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand history" -l watch -d 'Show everything again every so often' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand history" -l patience -d 'How long a claim or an end may lead to nothing before doctor calls it trouble' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand history" -l limit -d 'At most so many records of the history' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand history" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand history" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand history" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand history" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand history" -l seed -d 'Begin random() with this number' -r
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand history" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand history" -l help-all -d 'Print all options with notes'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand history" -l running -d 'Only running jobs'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand history" -l idle -d 'Only idle jobs'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand history" -l held -d 'Only held jobs'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand history" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand history" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand history" -l json -d 'Write one JSON array'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand history" -l jsonl -d 'Write one JSON object a line'
complete -c htc-router-status -n "__fish_htc_router_status_using_subcommand history" -s q -l quiet -d 'Say nothing but results and errors'
