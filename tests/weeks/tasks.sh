# Sourced by the weeks: a task runs a command from the book and checks that the output contains what its
# reader wants to know.
number=0
# task WHAT WANTED COMMAND: the output of the command, run by bash, must match WANTED (a pattern of grep -E).
task() {
    number=$((number + 1))
    printed=$(bash -c "$3" 2>&1) || true
    if printf '%s\n' "$printed" | grep -qE -- "$2"; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        echo "# $3"
        printf '%s\n' "$printed" | sed 's/^/# /'
    fi
}
