# Does what a message says, however bad: see handler.py. Two kinds are for kill -9:
# "nap" takes a moment, "stray" as well and leaves something that a sweep has to find.

note() { echo "$1 $id $receives $$ $kind" >>"$DIARY"; }

deep() { deep; }

bomb() { bomb | bomb & }

escape() { env -i setsid sh -c "sleep 600; : $id/$receives" & }

# handle sets class, for ends that a handler can choose.
handle() {
	class=done
	case $kind in
	good) ;;
	nap) sleep "0.$((RANDOM % 2))$((RANDOM % 10))" ;;
	stray) escape; sleep 0.2 ;;
	segv) kill -SEGV $$ ;;
	abort) kill -ABRT $$ ;;
	oom) for ((hoard = 1; ; )); do hoard=$hoard$hoard; done ;;
	loop) trap '' TERM; while :; do [ -n "$BEZOAR_SOAK" ] || sleep 600; done ;; # waits, which leaves the tests a processor
	bomb) bomb; exec sleep 600 ;;
	escape) escape ;;
	invalid) class=invalid ;;
	later) [ "$receives" -gt 3 ] || class=transient ;;
	overflow) ulimit -s 512; deep ;;
	flood) head -c 50M /dev/zero | tr '\0' x >&2; echo >&2; no_such_command_of_the_flood; exit 1 ;;
	*) echo "no kind $kind" >&2; exit 1 ;;
	esac
}

if [ "$1" != pool ]; then
	id=$BEZOAR_MESSAGE_ID receives=$BEZOAR_RECEIVE_COUNT
	read -r kind _
	note begin
	handle
	note end
	case $class in done) exit 0 ;; invalid) exit 65 ;; transient) exit 75 ;; esac
fi
while read -r line; do
	[[ $line =~ \"id\":\"([^\"]*)\" ]] || { echo '{"bezoar":1}'; continue; }
	id=${BASH_REMATCH[1]}
	[[ $line =~ \"body\":\"([a-z]*) ]] && kind=${BASH_REMATCH[1]}
	[[ $line =~ \"receives\":([0-9]*) ]] && receives=${BASH_REMATCH[1]}
	note begin
	handle
	note end
	echo "{\"bezoar\":1,\"id\":\"$id\",\"class\":\"$class\"}"
done
