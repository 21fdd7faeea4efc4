/** Resolves the names of webhooks. Queries to DNS hold none of the process's few threads, however slow the servers of a name are. */
import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';

/** Resolves a name to all of its addresses. @param signal ends it early */
export type Resolve = (name: string, signal: AbortSignal) => Promise<readonly LookupAddress[]>;

/** For each server of the machine's configuration. */
const queryMs = 3_000;
/** Lookups by the system, each of which holds a thread. Node has four by default. */
const lookupsMax = 2;
/** DNS has answered that there is none. Any other failure may pass. */
const unknown: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA']);

interface NameOptions {
  /** Whether the system is asked about names that DNS does not know, such as those of its hosts file. */
  readonly asksSystem: boolean;
  /** DNS servers. Default: those of this machine */
  readonly servers?: readonly string[];
}

export function resolverOf({ asksSystem, servers }: NameOptions): Resolve {
  let lookups = 0;
  const askSystem = async (name: string) => {
    if (lookups >= lookupsMax) throw Object.assign(new Error('too many lookups'), { code: 'EAI_AGAIN' });
    lookups++;
    return lookup(name, { all: true }).finally(() => lookups--);
  };
  return async (name, signal) => {
    // DNS does not have names of one label, such as localhost.
    if (!name.includes('.')) return askSystem(name);
    try {
      return await query(name, signal, servers);
    } catch (error) {
      if (!asksSystem || !unknown.has((error as { code?: unknown }).code)) throw error;
      return askSystem(name);
    }
  };
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
