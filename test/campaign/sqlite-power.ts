/**
 * The disk fails at a random sync. Either the sync returns an error, and the program ends by itself, or the power
 * fails, and writes since the last sync are lost or torn.
 */
import type { PayingServer } from '../support/kept-promises.ts';
import type { PayingClients } from '../support/paying-clients.ts';
import { missingCompiler, prepareFailingDisk } from './failing-disk.ts';
import type { Scenario } from './scenario.ts';

const failures = 8;
/** The first syncs belong to the start. */
const syncs = { least: 1, most: 120 };

export const sqlitePower: Scenario = {
  missing: missingCompiler,
  async play(round) {
    const { random } = round;
    const { server, disk, clients, keys } = await prepareFailingDisk(round);
    let atStart = 0;
    for (let n = 0; n < failures; n++) {
      const kind = n === 0 || random.onceIn(4) ? 'sync' : 'power';
      const faults = {
        kind,
        every: random.between(syncs.least, syncs.most),
        seed: random.below(2 ** 30),
      } as const;
      if (!(await endsAtSync(server, clients, keys, disk.env(faults), kind))) atStart++;
      if (kind === 'power') round.kills++;
      const { baseUrl } = await server.start();
      await clients.finishErrands({ ...keys, baseUrl });
      server.check(clients);
      await server.serving?.close();
    }
    return `${clients.answered.length} answers, ${clients.refusals} refused, ${atStart} of ${failures} failures in a start`;
  },
};

/** Uses the program until the disk fails. Returns false if that happened before it listened. */
async function endsAtSync(
  server: PayingServer,
  clients: PayingClients,
  keys: Awaited<ReturnType<PayingServer['firstStart']>>,
  env: Record<string, string>,
  kind: 'sync' | 'power',
): Promise<boolean> {
  const serving = await server.start([], env).catch((error: unknown) => error);
  if (serving instanceof Error) {
    if (!serving.message.startsWith('serve did not start')) throw serving;
    return false;
  }
  const { baseUrl, ended, stderr } = serving as Awaited<ReturnType<PayingServer['start']>>;
  const [end] = await Promise.all([ended, clients.useUntilGone({ ...keys, baseUrl })]);
  const isAsPromised =
    kind === 'power'
      ? end.signal === 'SIGKILL'
      : end.code === 1 && stderr().includes('The disk could not be synced.');
  if (!isAsPromised) throw new Error(`ended with ${JSON.stringify(end)}: ${stderr().slice(-2000)}`);
  return true;
}
