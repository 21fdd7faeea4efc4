/**
 * Runs a program under a shell that ends it with everything it started when Parley is gone in any way: the standard
 * input of the shell then ends.
 */

/** Programs are killed before Parley when the memory of the machine runs out. The range is -1000 to 1000. */
const oomScore = 600;

const script = `
{ echo ${oomScore} > /proc/self/oom_score_adj; } 2>/dev/null
# A command in the background gets /dev/null as its standard input, so the watch reads a copy.
exec 3<&0
# An empty trap would be inherited, and the program could not be asked to end.
trap : TERM
"$@" 3<&- </dev/null &
program=$!
(trap '' TERM; read -r _ <&3; kill -KILL 0) >/dev/null 2>&1 &
watch=$!
# The shell would write about the signal that ended the program.
wait $program 2>/dev/null
status=$?
# A signal ends the wait as well.
while kill -0 $program 2>/dev/null; do
  wait $program 2>/dev/null
  status=$?
done
kill -KILL $watch 2>/dev/null
exit $status
`;

/** Arguments of /bin/sh. The shell exits with the status of the program, or 128 plus the signal that ended it. */
export function guarded(name: string, command: readonly string[]): readonly string[] {
  return ['-c', script, name, ...command];
}
