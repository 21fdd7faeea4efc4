import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:https';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { fileReason } from '../../files/reason.ts';

export interface TlsFiles {
  /** Paths of PEM files: the certificate with its chain, and its private key. */
  readonly cert: string;
  readonly key: string;
}

export interface TlsPairEvents {
  /** A new pair is used for new connections. */
  readonly onTaken: () => void;
  /** The files have changed and cannot be used. The earlier pair stays in use. */
  readonly onRefused: (error: TlsFilesError) => void;
}

/** Certificate or key cannot be used. The message says why, for the operator. */
export class TlsFilesError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'TlsFilesError';
  }
}

/** Polls the files, as watching fails on links, mounts and network drives. */
const lookEveryMs = 2_000;

/** A certificate and its key, read again when the files change. */
export class TlsPair {
  readonly #files: TlsFiles;
  readonly #events: TlsPairEvents;
  readonly #servers = new Set<Server>();
  readonly #looks: NodeJS.Timeout;
  #context: SecureContextOptions;
  /** The contents at the last check, and the contents last accepted or refused. */
  #seen: string;
  #settled: string;

  private constructor(files: TlsFiles, pair: Pair, events: TlsPairEvents) {
    this.#files = files;
    this.#events = events;
    this.#context = contextOf(pair, files);
    this.#seen = this.#settled = identityOf(pair);
    this.#looks = setInterval(() => this.#look(), lookEveryMs).unref();
  }

  /** @throws TlsFilesError if the files cannot be read or used */
  static async open(files: TlsFiles, events: TlsPairEvents): Promise<TlsPair> {
    const found = await read(files);
    if (found instanceof TlsFilesError) throw found;
    return new TlsPair(files, found, events);
  }

  get context(): SecureContextOptions {
    return this.#context;
  }

  /** Gives every later pair to a server that was created with this one. */
  serve(server: Server): void {
    this.#servers.add(server);
    server.once('close', () => this.#servers.delete(server));
  }

  close(): void {
    clearInterval(this.#looks);
  }

  /** Two checks must find the same contents, so that a half-written pair is not used. */
  async #look(): Promise<void> {
    const found = await read(this.#files);
    const identity = identityOf(found);
    const isStill = identity === this.#seen;
    this.#seen = identity;
    if (!isStill || identity === this.#settled) return;
    this.#settled = identity;
    try {
      if (found instanceof TlsFilesError) throw found;
      this.#context = contextOf(found, this.#files);
      for (const server of this.#servers) server.setSecureContext(this.#context);
      this.#events.onTaken();
    } catch (error) {
      if (!(error instanceof TlsFilesError)) throw error;
      this.#events.onRefused(error);
    }
  }
}

interface Pair {
  readonly cert: string;
  readonly key: string;
}

async function read(files: TlsFiles): Promise<Pair | TlsFilesError> {
  try {
    return { cert: await readSetting('cert', files), key: await readSetting('key', files) };
  } catch (error) {
    if (error instanceof TlsFilesError) return error;
    throw error;
  }
}

async function readSetting(setting: keyof TlsFiles, files: TlsFiles): Promise<string> {
  try {
    return await readFile(files[setting], 'utf8');
  } catch (cause) {
    throw fault(setting, files, `cannot be read (${fileReason(cause)})`, cause);
  }
}

function identityOf(found: Pair | TlsFilesError): string {
  return found instanceof TlsFilesError ? found.message : `${found.cert}\n${found.key}`;
}

/** @throws TlsFilesError that names the file at fault */
function contextOf({ cert, key }: Pair, files: TlsFiles): SecureContextOptions {
  const certificate = attempt(() => new X509Certificate(cert), 'cert', files, 'is not a certificate in PEM');
  const privateKey = attempt(() => createPrivateKey(key), 'key', files, 'is not an unencrypted key in PEM');
  if (!certificate.checkPrivateKey(privateKey)) {
    throw fault('key', files, `is not the key of the certificate in ${files.cert}`, undefined);
  }
  const context: SecureContextOptions = { cert, key, minVersion: 'TLSv1.2' };
  attempt(() => createSecureContext(context), 'cert', files, 'is refused by OpenSSL');
  return context;
}

function attempt<T>(run: () => T, setting: keyof TlsFiles, files: TlsFiles, what: string): T {
  try {
    return run();
  } catch (cause) {
    throw fault(setting, files, what, cause);
  }
}

function fault(setting: keyof TlsFiles, files: TlsFiles, what: string, cause: unknown): TlsFilesError {
  return new TlsFilesError(`\`tls.${setting}\`: ${files[setting]} ${what}.`, cause);
}
