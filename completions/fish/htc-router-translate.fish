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
complete -c htc-router-translate -n "__fish_htc_router_translate_needs_command" -f -a "compare" -d 'Compare two rule sets on given and made-up ads'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -s r -l rules -d 'Apply the rules of FILE (\'-\' is standard input); may be repeated' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l job-transforms -d 'Apply JOB_TRANSFORM_<name> of the configuration, or of a rules file before' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l route -d 'Apply JOB_ROUTER_ROUTE_<name> of the configuration, or of a rules file before' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l set -d 'Set a macro before each ad, as NAME=VALUE of condor_transform_ads does' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l ads -l in -d 'Read ads from FILE (\'-\' is standard input, which is read when no file is named)' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l out -d 'Write the ads to FILE' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l now -d 'Take T for the present: seconds since 1970 or a date' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l seed -d 'Begin random() with this number' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand transform" -l quirks -d '\'reference\' does exactly as HTCondor 25.14 where it breaks its manual' -r
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
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand lint" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand lint" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand lint" -l json -d 'Write one JSON array'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand lint" -l jsonl -d 'Write one JSON object a line'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand lint" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand lint" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand lint" -l help-all -d 'Print all options with notes'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -l ads -d 'Compare on the ads of FILE too; may be repeated' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -l generate -d 'How many ads are made from what the rules look at' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -l seed -d 'Begin making ads with this number' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -l json -d 'Write one JSON array'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -l jsonl -d 'Write one JSON object a line'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-router-translate -n "__fish_htc_router_translate_using_subcommand compare" -l help-all -d 'Print all options with notes'
