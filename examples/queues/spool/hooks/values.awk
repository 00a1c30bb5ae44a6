# Prints the last values of the attributes `names` in an ad, one per line, without quotes. Names are compared without regard to
# case, because the starter keeps the spelling of the job ad, such as exitcode.
BEGIN { count = split(tolower(names), wanted, " ") }
{
    at = index($0, "=")
    name = tolower(substr($0, 1, at - 1))
    gsub(/[ \t]/, "", name)
    value = substr($0, at + 1)
    gsub(/^[ \t]*"?|"?[ \t]*$/, "", value)
    found[name] = value
}
END { for (i = 1; i <= count; i++) print found[wanted[i]] }
