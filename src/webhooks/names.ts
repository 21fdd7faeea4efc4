/** Resolves the names of webhooks. DNS queries do not occupy the process's few threads, however slow a name's servers are. */
import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';

/**
 * Resolves a name to all its addresses.
 * @param signal ends the resolution early
 */
export type Resolve = (name: string, signal: AbortSignal) => Promise<readonly LookupAddress[]>;

/** Time limit for each server of the machine's configuration. */
const queryMs = 3_000;
/** Maximum number of lookups by the system, as each occupies a thread. Node has four by default. */
const lookupsMax = 2;
/** DNS has answered that there is no address. Any other failure may pass. */
const unknown: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA']);

interface NameOptions {
  /** Whether to ask the system about names that DNS does not know, such as those of its hosts file. */
  readonly asksSystem: boolean;
  /** DNS servers. Default: those of this machine */
  readonly servers?: readonly string[];
}

export function resolverOf({ asksSystem, servers }: NameOptions): Resolve {
  /** By name: concurrent attempts share a lookup. */
  const lookups = new Map<string, Promise<readonly LookupAddress[]>>();
  const askSystem = async (name: string) => {
    const running = lookups.get(name);
    if (running) return running;
    if (lookups.size >= lookupsMax) throw failure('EAI_AGAIN', 'too many lookups');
    const asked = lookup(name, { all: true }).finally(() => lookups.delete(name));
    lookups.set(name, asked);
    return asked;
  };
  return async (name, signal) => {
    // DNS has no names of one label, such as localhost. No public address has one.
    if (!name.includes('.')) {
      if (!asksSystem) throw failure('ENOTFOUND', 'a name of one label');
      return askSystem(name);
    }
    try {
      return await query(name, signal, servers);
    } catch (error) {
      if (!asksSystem || !unknown.has((error as { code?: unknown }).code)) throw error;
      return askSystem(name);
    }
  };
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

async function query(name: string, signal: AbortSignal, servers: NameOptions['servers']) {
  const resolver = new Resolver({ timeout: queryMs, tries: 1 });
  if (servers) resolver.setServers(servers);
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = found.flatMap((one, at) =>
      one.status === 'rejected' ? [] : one.value.map((address) => ({ address, family: at === 0 ? 4 : 6 })),
    );
    if (addresses.length > 0) return addresses;
    const errors = found.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    throw errors.find(({ code }) => !unknown.has(code)) ?? errors[0];
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}
