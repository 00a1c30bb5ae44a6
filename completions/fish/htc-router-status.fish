# Completion of htc-router-status in fish: the program itself knows its words.
function _htc_router_status
    set -l before (commandline -opc)
    env HTC_COMPLETE=fish $before[1] (count $before) $before (commandline -ct) 2>/dev/null
end
complete -c htc-router-status -f -k -a '(_htc_router_status)'
