/** The program in this thread, so that coverage includes it. */
import { type Parley, startParley } from '../../support/parley.ts';

export async function withParley(read: (parley: Parley, input: Buffer) => Promise<void>) {
  const parley = await startParley();
  return { read: (input: Buffer) => read(parley, input), close: () => parley.close() };
}
