# Runs a private PostgreSQL for as long as the process lives that holds the
# other end of standard input, and cleans up behind both, however that process
# ends. Arguments: folder to work in and remove, data folder, folder of the
# binaries, superuser, then the settings for postgres.
dir=$1 data=$2 bin=$3 superuser=$4
shift 4
exec 3<&0 </dev/null
cd /

# supervise runs a command and asks it to end when descriptor 3 does. A shell
# starts background commands with SIGINT ignored until they say otherwise, so
# SIGTERM goes first: it also ends one that has not come so far.
supervise() {
    "$@" 3<&- &
    child=$!
    { read -r _ <&3; kill -TERM "$child"; kill -INT "$child"; } 2>/dev/null &
    watcher=$!
    wait "$child"
    result=$?
    kill "$watcher" 2>/dev/null
    return $result
}

# A cluster takes its place only when it is complete.
prepare() {
    [ -d "$data/cluster" ] && return
    rm -rf "$data/new"
    supervise "$bin/initdb" -D "$data/new" -U "$superuser" --auth-local=trust \
        --auth-host=scram-sha-256 --encoding=UTF8 --locale=C --no-sync &&
        mv "$data/new" "$data/cluster"
}

prepare && supervise "$bin/postgres" -D "$data/cluster" -k "$dir" "$@"
echo "ended with status $?" >"$dir/ended"

# The other side may want to read the log before it lets go.
read -r _ <&3
rm -rf "$dir" || { sleep 1; rm -rf "$dir"; }
