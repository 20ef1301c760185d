#!/bin/sh
# Runs a command while it holds an office, with nothing but curl, a POSIX shell and setsid.
#
#   campaign.sh http://127.0.0.1:7480 backup ./nightly-backup --full
#
# The command gets HUSTINGS_OFFICE and HUSTINGS_TOKEN, the fencing token. It is killed before the lease ends, and started
# again when the office is held again. If the API wants a bearer token, put the line "Authorization: Bearer TOKEN" into a
# file that only you can read, and its path into HUSTINGS_HEADER_FILE.
#
# If this script itself is killed with SIGKILL, nobody stops the command: `hustings run` on the host of a node does.
# For exclusive offices give the office a lease of some seconds ([[office]] in the configuration of all nodes): each
# renewal starts a process.
set -u
[ $# -ge 3 ] || { echo "usage: $0 URL OFFICE COMMAND [ARGUMENT...]" >&2; exit 2; }
url=$1 office=$2
shift 2

session= token= work= state=waiting
deadline=0 # until when the command may run, in milliseconds of now()
renew=200  # when to renew next

# Milliseconds since boot: a clock that nobody sets, unlike the time of day.
now() { read -r up _ </proc/uptime; echo "${up%.*}${up#*.}0"; }
seconds() { printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)); }

# post ROUTE BODY MILLISECONDS: prints the reply.
post() {
    curl -sS --max-time "$(seconds "$3")" -H 'Content-Type: application/json' \
        ${HUSTINGS_HEADER_FILE:+-H "@$HUSTINGS_HEADER_FILE"} -d "$2" "$url/v1/offices/$office/$1"
}
field() { printf %s "$reply" | sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }

stop_work() {
    [ -n "$work" ] || return 0
    # The process as well: it may not have its session yet.
    kill -s KILL -- "-$work" "$work" 2>/dev/null
    wait "$work" 2>/dev/null
    echo "stopped $token"
    work=
}

leave() {
    stop_work
    [ -z "$session" ] || { reply=$(post resign "{\"session\":\"$session\"}" 2000); echo "$(field state)"; }
    exit "$1"
}
# Only noted, so that nothing is interrupted halfway.
ending=
trap 'ending=1' INT TERM

while [ -z "$ending" ]; do
    sent=$(now)
    if [ -z "$session" ]; then
        reply=$(post campaign '{"wait_ms":5000}' 10000)
        session=$(field session)
    else
        left=$((deadline - sent))
        [ "$left" -ge 50 ] && [ -n "$work" ] || left=2000
        reply=$(post renew "{\"session\":\"$session\"}" "$left")
    fi
    state=$(field state)
    case $state in
    held)
        # Another token: the office was lost and is held again. The command starts again with it.
        [ "$(field token)" = "$token" ] || stop_work
        token=$(field token) renew=$(field renew_ms)
        # Counted from when the request was sent, less the time to stop.
        deadline=$((sent + $(field lease_ms) - $(field stop_ms)))
        if [ -z "$work" ] && [ "$(now)" -lt "$deadline" ]; then
            echo "held $token"
            # A session of its own, so that it can be killed with everything that it has started.
            HUSTINGS_OFFICE=$office HUSTINGS_TOKEN=$token setsid "$@" &
            work=$!
        fi
        ;;
    stop)
        stop_work
        post renew "{\"session\":\"$session\",\"stopped\":$(field token)}" 2000 >/dev/null
        renew=100
        ;;
    waiting | lost)
        [ -z "$work" ] || echo "lost $token"
        stop_work
        renew=200
        ;;
    *) # An error, or no reply: go on until the deadline.
        [ "$(field code)" != unknown-session ] || { stop_work; session=; }
        renew=100
        ;;
    esac
    # Sleep until the next renewal, but not past the deadline of the command.
    if [ -n "$work" ]; then
        kill -0 "$work" 2>/dev/null || { wait "$work"; status=$?; work=; leave "$status"; }
        left=$((deadline - $(now)))
        [ "$left" -gt 0 ] || { stop_work; continue; }
        [ "$renew" -le "$left" ] || renew=$left
    fi
    sleep "$(seconds "$renew")"
done
leave 0
