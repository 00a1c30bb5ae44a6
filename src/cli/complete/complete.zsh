#compdef @PROGRAM@
# Completion of @PROGRAM@ in zsh: the program itself knows its words.
_@FUNCTION@() {
    local -a found open closed
    local line
    found=("${(@f)$(HTC_COMPLETE=zsh "${words[1]}" $((CURRENT - 1)) "${(@)words}" 2>/dev/null)}")
    for line in $found; do
        case "${line%%:*}" in
            *[=/]) open+=("$line") ;;
            *) closed+=("$line") ;;
        esac
    done
    (( $#open )) && _describe -V word open -S ''
    (( $#closed )) && _describe -V word closed
}
_@FUNCTION@ "$@"
