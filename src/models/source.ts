/** Opens the sources of model files. Every hop needs https, and a redirect cannot lead to a private address. */
import { lookup } from 'node:dns/promises';
import { open } from 'node:fs/promises';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { fileURLToPath } from 'node:url';
import { isWithinAddresses, literalAddress, mayReach, permittedLookup } from '../core/values/addresses.ts';
import { fileReason, systemCode } from '../files/reason.ts';
import { ModelError } from './manifest.ts';

const redirectsMax = 5;
const idleMsByDefault = 30_000;
const loopback = ['127.0.0.0/8', '::1'];
const publicOnly = { allowedNetworks: [] };

/** The source may deliver the file at another try. */
export class SourceFailed extends ModelError {}

export interface SourceOptions {
  readonly signal?: AbortSignal | undefined;
  /** A bearer token. Only this origin gets it, and only before the first redirect to another. */
  readonly token?: { readonly origin: string; readonly value: string } | undefined;
  /** How long a source may send nothing. Default: 30 seconds */
  readonly idleMs?: number | undefined;
}

export interface Source {
  /** The first byte of `body`: the offset that was asked for, or 0. */
  readonly offset: number;
  /** Bytes of the whole file, if the source states them. */
  readonly bytes: number | undefined;
  /** Stays the same as long as the content does; undefined if the source gives no such mark. */
  readonly validator: string | undefined;
  /** Throws SourceFailed when the connection ends early. */
  readonly body: AsyncIterable<Buffer>;
  close(): void;
}

/**
 * @param offset bytes that need not be sent, if the source knows ranges
 * @param validator the mark that the content must still have to be resumed
 * @throws SourceFailed if it may work later, else ModelError
 */
export async function openSource(
  url: string,
  options: SourceOptions,
  offset = 0,
  validator?: string,
): Promise<Source> {
  const first = new URL(url);
  if (first.protocol === 'file:') return openFile(fileURLToPath(first), offset);
  const response = await follow(first, options, {
    'accept-encoding': 'identity',
    ...(offset > 0 && { range: `bytes=${offset}-` }),
    ...(offset > 0 && validator !== undefined && { 'if-range': validator }),
  });
  try {
    return readHeaders(response, first.host, offset);
  } catch (error) {
    response.destroy();
    throw error;
  }
}

/** @throws ModelError as well if the source does not report the size of its file */
export async function sizeAt(url: string, options: SourceOptions) {
  const { bytes, validator, close } = await openSource(url, options);
  close();
  if (bytes === undefined) throw new ModelError(`${url} does not report the size of its file.`);
  return { bytes, validator };
}

async function openFile(path: string, offset: number): Promise<Source> {
  try {
    const handle = await open(path);
    const { size: bytes } = await handle.stat();
    // Closes the file when it ends or is destroyed.
    const body = handle.createReadStream({ start: offset });
    return { offset, bytes, validator: undefined, body, close: () => body.destroy() };
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
    throw new ModelError(`${path} cannot be read (${fileReason(error)}).`, error);
  }
}

/** Follows redirects. The first origin may be private, as the operator has named it. */
async function follow(first: URL, options: SourceOptions, headers: object): Promise<IncomingMessage> {
  let target = first;
  let hasLeft = false;
  for (let hops = 0; hops <= redirectsMax; hops++) {
    hasLeft ||= target.origin !== first.origin;
    checkTarget(target, hasLeft, first);
    const { token } = options;
    const isTrusted = !hasLeft && token?.origin === target.origin;
    const authorization = isTrusted ? { authorization: `Bearer ${token.value}` } : {};
    const response = await request(target, { ...headers, ...authorization }, hasLeft, options);
    const { statusCode = 0, headers: answered } = response;
    if (![301, 302, 303, 307, 308].includes(statusCode)) return response;
    response.destroy();
    const next = URL.parse(answered.location ?? '', target.href);
    if (next === null) throw new ModelError(`${target.host} redirects to no valid URL.`);
    target = next;
  }
  throw new ModelError(`${first.host} redirects more than ${redirectsMax} times.`);
}

function checkTarget(target: URL, hasLeft: boolean, first: URL): void {
  const shown = `${target.protocol}//${target.host}`;
  const how = hasLeft ? `${first.host} redirects to ${shown}, which` : shown;
  if (target.username !== '' || target.password !== '') {
    throw new ModelError(`${how} has a user or a password in its URL. Use a token instead.`);
  }
  const isOwnMachine = target.hostname === 'localhost' || isLoopback(target);
  const isPlain = target.protocol === 'http:' && isOwnMachine && !hasLeft;
  if (target.protocol !== 'https:' && !isPlain) throw new ModelError(`${how} is not https.`);
  const address = literalAddress(target);
  if (hasLeft && address !== undefined && !mayReach(address, 'https', publicOnly)) {
    throw new ModelError(`${how} is not a public address.`);
  }
}

function isLoopback(url: URL): boolean {
  const address = literalAddress(url);
  return address !== undefined && isWithinAddresses(loopback, address);
}

function request(
  target: URL,
  headers: object,
  hasLeft: boolean,
  { signal, idleMs = idleMsByDefault }: SourceOptions,
): Promise<IncomingMessage> {
  const { get } = target.protocol === 'https:' ? https : http;
  return new Promise((resolve, reject) => {
    const call = get(
      target,
      // A connection of its own: a shared one may lead to an address that was not checked.
      {
        agent: false,
        headers: { ...headers },
        ...(signal && { signal }),
        ...(hasLeft && { lookup: lookUpPublic }),
      },
      resolve,
    );
    call.setTimeout(idleMs, () => call.destroy(new SourceFailed(`${target.host} sends nothing.`)));
    call.on('error', (error) => reject(networkError(error, target.host)));
  });
}

const lookUpPublic = permittedLookup(
  (name) => lookup(name, { all: true }),
  (address) => mayReach(address, 'https', publicOnly),
  (name) => new ModelError(`${name} is redirected to, but has no public address.`),
);

function networkError(error: unknown, host: string): unknown {
  if (error instanceof ModelError) return error;
  const code = systemCode(error) ?? String(error);
  if (code === 'ABORT_ERR') return error;
  if (/CERT|SIGNATURE|ERR_TLS|SELF_SIGNED|ERR_SSL/.test(code)) {
    return new ModelError(`The TLS certificate of ${host} could not be verified (${code}).`, error);
  }
  return new SourceFailed(`The connection to ${host} failed (${code}).`, error);
}

function readHeaders(response: IncomingMessage, host: string, offset: number): Source {
  const { statusCode = 0, headers } = response;
  const { 'content-length': length, 'content-range': range, 'content-encoding': encoding, etag } = headers;
  if (encoding !== undefined && encoding !== 'identity') throw new ModelError(`${host} compresses the file.`);
  const body = bodyOf(response, host);
  const close = () => response.destroy();
  const validator = etag?.startsWith('"') ? etag : undefined;
  if (statusCode === 200) {
    const bytes = /^\d+$/.test(length ?? '') ? Number(length) : undefined;
    return { offset: 0, bytes, validator, body, close };
  }
  if (statusCode === 206) {
    const [, start, bytes] = /^bytes (\d+)-\d+\/(\d+)$/.exec(range ?? '') ?? [];
    if (Number(start) !== offset) throw new ModelError(`${host} sends another range than ${offset}-.`);
    return { offset, bytes: Number(bytes), validator, body, close };
  }
  if (statusCode === 401 || statusCode === 403) {
    throw new ModelError(
      `${host} refuses the file (HTTP ${statusCode}). Give a token with --token, if it needs one.`,
    );
  }
  const mayPass = statusCode >= 500 || [408, 425, 429].includes(statusCode);
  throw new (mayPass ? SourceFailed : ModelError)(`${host} does not send the file (HTTP ${statusCode}).`);
}

async function* bodyOf(response: IncomingMessage, host: string): AsyncGenerator<Buffer> {
  try {
    yield* response;
  } catch (error) {
    throw networkError(error, host);
  }
}
