# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_htc_config_dump_global_optspecs
    string join \n dump raw expanded default v/verbose why hooks summary sources trace macro check-if= subsystem= local-name= exec config-file= json V/version h/help help-all l/long jsonl q/quiet color= redact no-env set-knob=
end

function __fish_htc_config_dump_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_htc_config_dump_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_htc_config_dump_using_subcommand
    set -l cmd (__fish_htc_config_dump_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -l check-if -d 'Say whether CONDITION holds in an \'if\' (exit status 1 if not)' -r
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -l subsystem -d 'Read as this daemon' -r
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -l local-name -d 'Read as the daemon of this local name' -r
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -l dump -d 'Print all parameters, defaults too, or those whose names match'
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -l raw -d 'Print values before expansion'
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -l expanded -d 'Print expanded values, also with --dump and use'
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -l default -d 'Print compiled-in defaults'
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -s v -l verbose -d 'Print location, raw value and default, too'
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -l why -d 'Tell the story of each value: definitions, conditions, steps of its expansion'
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -l hooks -d 'List the hooks of every slot, starter, shadow and router'
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -l summary -d 'Print only what files changed, by file'
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -l sources -d 'Print the files that were read'
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -l trace -d 'Print each change of the values while files were read'
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -l macro -d 'Expand the words as texts'
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -l exec -d 'Run the commands that the configuration names'
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -l json -d 'Write one JSON array'
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -s V -l version -d 'Print the version'
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -l help-all -d 'Print all options with notes'
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -l jsonl -d 'Write one JSON object a line'
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -l redact -d 'Mask passwords and other secrets'
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -a "lint" -d 'Find mistakes that HTCondor passes over in silence (exit status 1 if there are any, 4 if there is none but not all could be looked at)'
complete -c htc-config-dump -n "__fish_htc_config_dump_needs_command" -a "use" -d 'Print the statements of a template, or the templates of a category'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand lint" -l job-ad -d 'Look at the ad of a fetched job in place of the configuration; \'-\' is standard input' -r -F
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand lint" -l subsystem -d 'Read as this daemon' -r
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand lint" -l local-name -d 'Read as the daemon of this local name' -r
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand lint" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand lint" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand lint" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand lint" -l here -d 'Say instead what is set that these programs do not do, and what a pool would do with it (exit status 1 if there is anything)'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand lint" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand lint" -l help-all -d 'Print all options with notes'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand lint" -l expanded -d 'Print expanded values, also with --dump and use'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand lint" -s v -l verbose -d 'Print location, raw value and default, too'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand lint" -l exec -d 'Run the commands that the configuration names'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand lint" -l json -d 'Write one JSON array'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand lint" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand lint" -l jsonl -d 'Write one JSON object a line'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand lint" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand lint" -l redact -d 'Mask passwords and other secrets'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand lint" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand use" -l subsystem -d 'Read as this daemon' -r
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand use" -l local-name -d 'Read as the daemon of this local name' -r
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand use" -l config-file -d 'Read this configuration instead of CONDOR_CONFIG\'s' -r -F
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand use" -l color -d 'Use colours: auto, always or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set or TERM is `dumb`'
always\t'Always'
never\t'Never'"
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand use" -l set-knob -d 'Set a knob above all files; may be repeated' -r
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand use" -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand use" -l help-all -d 'Print all options with notes'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand use" -l expanded -d 'Print expanded values, also with --dump and use'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand use" -s v -l verbose -d 'Print location, raw value and default, too'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand use" -l exec -d 'Run the commands that the configuration names'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand use" -l json -d 'Write one JSON array'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand use" -s l -l long -d 'Write ads as \'Name = value\' lines'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand use" -l jsonl -d 'Write one JSON object a line'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand use" -s q -l quiet -d 'Say nothing but results and errors'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand use" -l redact -d 'Mask passwords and other secrets'
complete -c htc-config-dump -n "__fish_htc_config_dump_using_subcommand use" -l no-env -d 'Ignore _CONDOR_* variables of the environment'
