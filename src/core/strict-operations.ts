import type { Operation } from './entities/usage.ts';
import type { Rpc } from './rpcs.ts';

/**
 * Operations whose requests are refused for unknown fields. Speech and transcription drop such fields, chat passes them
 * on, and lists of models ignore them.
 */
export const strictOperations: ReadonlySet<Operation> = new Set(['account', 'manage', 'admin']);

/** Whether the requests of an RPC are refused for unknown fields. */
export function isStrict(rpc: Rpc): boolean {
  return strictOperations.has(rpc.kind === 'admin' ? 'admin' : rpc.operation);
}
