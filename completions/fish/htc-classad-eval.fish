# Completion of htc-classad-eval in fish: the program itself knows its words.
function _htc_classad_eval
    set -l before (commandline -opc)
    env HTC_COMPLETE=fish $before[1] (count $before) $before (commandline -ct) 2>/dev/null
end
complete -c htc-classad-eval -f -k -a '(_htc_classad_eval)'
