# Runs the script $2 as on the hosts of the pages. It is called in mount, network and PID namespaces of its own, and ends
# with everything that it started. $1 is an empty folder, whose contents are in memory.
#
# What the pages write to is an overlay: /etc, /run, /var and /usr/local. `dpkg`, `scp`, `ssh`, `systemctl` and `cargo
# install` are stand-ins below, because there are neither packages nor remote hosts here. Everything else is real.
set -u
memory=$1 script=$2
ip link set lo up
for host in 1 2 3 4 9; do ip address add "10.0.0.$host/32" dev lo; done
mount -t tmpfs -o mode=755 tmpfs "$memory"
for place in etc run var usr/local; do
    mkdir -p "$memory/upper/$place" "$memory/scratch/$place"
    mount -t overlay overlay -o "lowerdir=/$place,upperdir=$memory/upper/$place,workdir=$memory/scratch/$place" "/$place"
done
HOSTS=$memory/hosts
mkdir -p "$HOSTS/bin" "$memory/work" /run/hustings /usr/local/bin
export HOSTS HOST=a
cp "$PROGRAM" /usr/local/bin/hustings
export PATH=$HOSTS/bin:/usr/local/bin:$PATH
cd "$memory/work"

stand_in() { { printf '#!/bin/bash\nset -eu\n'; cat; } >"$HOSTS/bin/$1" && chmod 755 "$HOSTS/bin/$1"; }

# The host whose address is 10.0.0.1 is a, and so on. Its /etc/hustings is the folder of that name in $HOSTS.
stand_in scp <<'END'
[ "$1" = -r ] && shift
target=${@: -1}
host=$(printf '%s' "${target%%:*}" | cut -d. -f4 | tr 1234 abcd)
cp -r "${@:1:$#-1}" "$HOSTS/$host${target#*:/etc/hustings}"
END
stand_in ssh <<'END'
host=$(printf '%s' "$1" | cut -d. -f4 | tr 1234 abcd)
HOST=$host exec "${@:2}"
END
# The user, and the folder, of the package: on every host.
stand_in dpkg <<'END'
[ "$1" = -i ]
echo 'hustings:x:987:' >>/etc/group
echo 'hustings:x:987:987::/:/usr/sbin/nologin' >>/etc/passwd
mkdir -p "$HOSTS/a" "$HOSTS/b" "$HOSTS/c"
END
# The node of the host, as the packaged unit starts it; `start` on all hosts.
stand_in systemctl <<'END'
pid() { cat "$HOSTS/$1.pid"; }
case "$*" in
    'start hustings')
        for host in a b c; do
            folder=$HOSTS/$host.state
            mkdir -p "$folder"
            chown hustings "$folder"
            HUSTINGS_CONFIG=$HOSTS/$host/hustings.toml HUSTINGS_DATA=$folder/data HUSTINGS_SOCKET=$folder/hustings.sock \
                setpriv --reuid hustings --regid hustings --clear-groups hustings node 2>"$HOSTS/$host.log" &
            echo $! >"$HOSTS/$host.pid"
        done
        ln -sfn "$HOSTS/a.state/hustings.sock" /run/hustings/hustings.sock ;;
    'reload hustings') kill -HUP "$(pid "$HOST")" ;;
    'kill -s KILL hustings') kill -KILL "$(pid "$HOST")" ;;
    *) echo "systemctl $*: not known here" >&2; exit 1 ;;
esac
END
stand_in cargo <<'END'
[ "$*" = 'install --path crates/hustings' ]
END

# This shell is on that host from now on.
on() {
    HOST=$1
    ln -sfn "$HOSTS/$1" /etc/hustings
    ln -sfn "$HOSTS/$1/hustings.sock" /run/hustings/hustings.sock
}
# The files of the cluster shop, with these members and options; its hosts have them.
init() {
    hustings init shop "$@" >/dev/null
    for folder in shop/*/; do
        host=$(basename "$folder")
        ln -sfn "$PWD/shop/$host" "$HOSTS/$host"
    done
}
# Starts the nodes of these hosts.
start() {
    for host in "$@"; do
        hustings node --config "$PWD/shop/$host/hustings.toml" 2>>"$HOSTS/$host.log" &
        echo $! >"$HOSTS/$host.pid"
    done
    for host in "$@"; do hustings leader --wait 60s --config "shop/$host/hustings.toml" >/dev/null; done
}
# Ends the nodes of these hosts, at once.
kill_nodes() {
    for host in "$@"; do
        kill -KILL "$(cat "$HOSTS/$host.pid")"
        wait "$(cat "$HOSTS/$host.pid")" 2>/dev/null || true
    done
}
# Three hosts with a running cluster; this shell is on the first one, whose configuration has these lines in addition.
cluster() {
    init --node a=10.0.0.1:7401,priority=3 --node b=10.0.0.2:7401 --node c=10.0.0.3:7401
    # No office moves because this machine is busy.
    sed -i 's/^lease = .*/lease = "5s"/; s/^silence-floor = .*/silence-floor = "3s"/; s/^silence-ceiling = .*/silence-ceiling = "5s"/' \
        shop/?/hustings.toml
    printf '\n%s\n' "$@" >>shop/a/hustings.toml
    start a b c
    on a
}
# Repeats a command until it succeeds.
until_it_is_so() {
    for _ in $(seq 200); do "$@" && return; sleep 0.1; done
    echo "never: $*" >&2
    return 1
}
# Fails unless its input has this text.
has() { local text; text=$(cat); case $text in *"$1"*) ;; *) printf 'expected %s in:\n%s\n' "$1" "$text" >&2; return 1 ;; esac; }

# A command may have one of these exit codes.
on_error() {
    local code=$?
    case " $CODES " in
        *" $code "*) ;;
        *)
            printf 'line %s of the script: exit code %s\n' "${BASH_LINENO[0]}" "$code" >&2
            cat -n "$script" >&2
            tail -n 5 "$HOSTS"/*.log >&2 2>/dev/null
            exit 1 ;;
    esac
}
set -E
trap on_error ERR
set -m
# shellcheck disable=SC1090
source "$script"
