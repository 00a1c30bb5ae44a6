# Completion of htc-slot-run in fish: the program itself knows its words.
function _htc_slot_run
    set -l before (commandline -opc)
    env HTC_COMPLETE=fish $before[1] (count $before) $before (commandline -ct) 2>/dev/null
end
complete -c htc-slot-run -f -k -a '(_htc_slot_run)'
