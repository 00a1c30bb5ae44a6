# Completion of htc-hook-test in fish: the program itself knows its words.
function _htc_hook_test
    set -l before (commandline -opc)
    env HTC_COMPLETE=fish $before[1] (count $before) $before (commandline -ct) 2>/dev/null
end
complete -c htc-hook-test -f -k -a '(_htc_hook_test)'
