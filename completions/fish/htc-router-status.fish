complete -c htc-router-status -s V -l version -d 'Print the version'
complete -c htc-router-status -s h -l help -d 'Print this help; --help-all prints all options'
complete -c htc-router-status -l help-all -d 'Print all options with notes'
