# Completion of @PROGRAM@ in fish: the program itself knows its words.
function _@FUNCTION@
    set -l before (commandline -opc)
    env HTC_COMPLETE=fish $before[1] (count $before) $before (commandline -ct) 2>/dev/null
end
complete -c @PROGRAM@ -f -k -a '(_@FUNCTION@)'
