# Completion of @PROGRAM@ in bash: the program itself knows its words.
_@FUNCTION@() {
    local IFS=$'\n'
    COMPREPLY=($(HTC_COMPLETE=bash "$1" "$COMP_CWORD" "${COMP_WORDS[@]}" 2>/dev/null))
    case "${COMPREPLY[0]-}" in
        */*) compopt -o filenames ;;
    esac
    if [ "${#COMPREPLY[@]}" -eq 1 ]; then
        case "${COMPREPLY[0]}" in
            *[=:/]) compopt -o nospace ;;
        esac
    elif [ -e "${COMPREPLY[0]-}" ]; then
        compopt -o filenames
    fi
}
complete -F _@FUNCTION@ @PROGRAM@
