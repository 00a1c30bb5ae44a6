#!/bin/sh
# Stands where a hook or a job is expected: records how it was called, then behaves as scripts/NAME does.
top=@TOP@
name=${0##*/}
what=${0%/*}; what=${what##*/}
r=$top/records/$(/bin/date +%s.%N)-$name-$$
/bin/mkdir -m 0755 "$r"
{
  umask
  IFS= read -r stat < /proc/$$/stat; echo "$stat"
  /bin/readlink /proc/$$/cwd
  for fd in 0 1 2; do
    if [ -e /proc/$$/fd/$fd ]; then
      echo "$(/bin/readlink /proc/$$/fd/$fd) $(/bin/grep '^flags:' /proc/$$/fdinfo/$fd)"
    else
      echo closed
    fi
  done
  /bin/ls -l /proc/$$/fd
} > "$r/facts" 2>/dev/null
/bin/cat /proc/$$/environ > "$r/environ"
/bin/cat /proc/$$/status > "$r/status"
/bin/cat /proc/$$/limits > "$r/limits"
{ printf '%s\0' "$0" "$@"; } > "$r/argv"
[ -n "$_CONDOR_JOB_AD" ] && [ -r "$_CONDOR_JOB_AD" ] && /bin/cat "$_CONDOR_JOB_AD" > "$r/job.ad"
[ -n "$_CONDOR_MACHINE_AD" ] && [ -r "$_CONDOR_MACHINE_AD" ] && /bin/cat "$_CONDOR_MACHINE_AD" > "$r/machine.ad"
if [ "$what" = job.d ]; then
  : > "$r/ready"
  exec "$top/local/scripts/$name" "$@"
fi
mode=
[ -r "$top/local/scripts/MODES" ] && mode=$(/bin/sed -n "s/^$name\.//p" "$top/local/scripts/MODES")
case $mode in
direct)
  : > "$r/ready"
  exec "$top/local/scripts/$name" "$@";;
nostdin)
  : > "$r/ready"
  "$top/local/scripts/$name" "$@" > "$r/stdout" 2> "$r/stderr";;
*)
  /bin/cat > "$r/stdin"
  : > "$r/ready"
  "$top/local/scripts/$name" "$@" < "$r/stdin" > "$r/stdout" 2> "$r/stderr";;
esac
status=$?
[ -s "$r/stdout" ] && /bin/cat "$r/stdout"
[ -s "$r/stderr" ] && /bin/cat "$r/stderr" >&2
if [ $status -gt 128 ]; then
  echo "signalled $((status - 128))" > "$r/exit"
  kill -$((status - 128)) $$
fi
echo "exited $status" > "$r/exit"
exit $status
