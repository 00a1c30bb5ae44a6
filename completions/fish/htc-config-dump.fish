# Completion of htc-config-dump in fish: the program itself knows its words.
function _htc_config_dump
    set -l before (commandline -opc)
    env HTC_COMPLETE=fish $before[1] (count $before) $before (commandline -ct) 2>/dev/null
end
complete -c htc-config-dump -f -k -a '(_htc_config_dump)'
