# The last values of the attributes `names` in a printed ad, one per line, without quotes. An attribute that the job ad
# has in another spelling, such as exitcode, is printed in that spelling.
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
