/** Sends alerts over HTTP. Each attempt has its own connection, to an address that is checked when the connection opens. */
import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import type { buildConnector, Dispatcher } from 'undici';
import type { WebhookSender } from '../core/entities/alert.ts';
import { type AddressRules, literalAddress, mayReach, permittedLookup } from '../core/values/addresses.ts';

const attemptMsByDefault = 10_000;
const headerBytesMax = 16_384;
const tooManyRequests = 429;
const bodyBytesMax = 4_096;

export interface SenderOptions {
  readonly rules: AddressRules;
  readonly userAgent: string;
  /** Limit from the name's resolution to the end of the answer's headers. Default: 10 seconds */
  readonly attemptMsMax?: number;
  /** Default: the resolver of this machine. */
  readonly resolve?: Resolve | undefined;
}

export function httpSender({
  rules,
  userAgent,
  attemptMsMax = attemptMsByDefault,
  resolve = resolverOf({ asksSystem: rules.allowedNetworks.length > 0 }),
}: SenderOptions): WebhookSender {
  const connectorFor = (
    build: typeof buildConnector,
    url: URL,
    signal: AbortSignal,
  ): buildConnector.connector => {
    const scheme = url.protocol === 'https:' ? 'https' : 'http';
    const literal = literalAddress(url);
    const isPermitted = (address: string) => mayReach(address, scheme, rules);
    const lookup = permittedLookup((name) => resolve(name, signal), isPermitted, refusal);
    const connect = build({ timeout: attemptMsMax, lookup });
    return (options, done) => {
      // An address in place of a name is not looked up.
      if (literal !== undefined && !isPermitted(literal)) done(refusal(), null);
      else connect(options, done);
    };
  };
  return {
    async send({ method, headers, body, receiver, ...request }, signal) {
      const url = new URL(request.url);
      const time = AbortSignal.timeout(attemptMsMax);
      const either = signal ? AbortSignal.any([signal, time]) : time;
      // Loaded for the first attempt: commands and most servers send none. In a bundle, CommonJS has a default export only.
      const { default: undici } = await import('undici');
      const client = new undici.Client(url.origin, {
        connect: connectorFor(undici.buildConnector, url, either),
        maxHeaderSize: headerBytesMax,
        maxResponseSize: bodyBytesMax,
        pipelining: 1,
      });
      try {
        const answer = await client.request({
          path: url.pathname + url.search,
          method,
          headers: { ...headers, 'user-agent': userAgent },
          body,
          signal: either,
        });
        // Nobody reads most answers. Their streams fail when the connection ends.
        answer.body.on('error', () => undefined);
        const waitMs = await retryAfterMs(answer);
        return { status: answer.statusCode, ...(waitMs !== undefined && { retryAfterMs: waitMs }) };
      } catch (error) {
        return { failure: failureOf(error, receiver) };
      } finally {
        await client.destroy().catch(() => undefined);
      }
    },
  };
}

/**
 * How long a receiver that has too many requests asks to wait: in the header `Retry-After`, or as Matrix does, in JSON.
 * Undefined if it does not say. A date counts as none.
 */
async function retryAfterMs({
  statusCode,
  headers,
  body,
}: Dispatcher.ResponseData): Promise<number | undefined> {
  if (statusCode !== tooManyRequests) return undefined;
  const header = headers['retry-after'];
  if (typeof header === 'string' && /^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  const json = await body.json().catch(() => undefined);
  const { retry_after_ms: waitMs } = Object(json) as { readonly retry_after_ms?: unknown };
  return Number.isSafeInteger(waitMs) && Number(waitMs) > 0 ? Number(waitMs) : undefined;
}

/** DNS has answered that there is no address. Any other failure may pass. */
const unresolvable = /ENOTFOUND|EAI_NODATA|ENODATA/;
/** The name may still have an address. */
const unanswered = /EAI_AGAIN|ETIMEOUT|ESERVFAIL|EREFUSED|EBADRESP|ECANCELLED/;
const late = /TimeoutError|ConnectTimeoutError|HeadersTimeoutError|ETIMEDOUT/;
const untrusted = /CERT|SIGNATURE|ERR_TLS|SELF_SIGNED|ERR_SSL/;

function reasonOf(error: unknown): string {
  const { name, code } = Object(error) as { readonly name?: unknown; readonly code?: unknown };
  return `${name} ${code}`;
}

/** The name of a receiver has no address that alerts may reach. */
function refusal(): Error {
  return failure('ENOTFOUND', 'the address is not allowed');
}

/**
 * Says why a receiver did not answer, and reveals nothing about the server's network.
 * @param receiver the subject of a sentence, such as `The webhook`
 */
function failureOf(error: unknown, receiver: string): string {
  const named = receiver.replace(/^The /, 'the ');
  const reason = reasonOf(error);
  if (late.test(reason)) return `${receiver} did not answer in time.`;
  // One sentence for all cases, so that callers cannot find out which names the server's network knows.
  if (unresolvable.test(reason)) return `The name of ${named} has no public address.`;
  if (unanswered.test(reason)) return `The name of ${named} could not be looked up.`;
  if (untrusted.test(reason)) return `The TLS certificate of ${named} could not be verified.`;
  return `${receiver} could not be reached.`;
}

/**
 * Resolves a name to all its addresses, by DNS queries that do not occupy the process's few threads.
 * @param signal ends the resolution early
 */
export type Resolve = (name: string, signal: AbortSignal) => Promise<readonly LookupAddress[]>;

/** Time limit for each server of the machine's configuration. */
const queryMs = 3_000;
/** Maximum number of lookups by the system, as each occupies a thread. Node has four by default. */
const lookupsMax = 2;

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
      if (!asksSystem || !unresolvable.test(reasonOf(error))) throw error;
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
    throw errors.find((error) => !unresolvable.test(reasonOf(error))) ?? errors[0];
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}
