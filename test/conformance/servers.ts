/** The servers that the table runs against, in this process. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificate } from '../support/certificates.ts';
import { type Parley, type ParleyOptions, startParley } from '../support/parley.ts';
import type { ServerName } from './case.ts';
import { playingEngines } from './play.ts';
import type { Target } from './wire.ts';

/** Units per month of an account on trial, on the playing server. */
export const trialUnits = 1000;
const strictFile = new URL('strict.yaml', import.meta.url).pathname;

/** How each server starts alone. */
export const serverOptions: Readonly<Record<ServerName, () => ParleyOptions>> = {
  /** The default configuration. */
  builtin: () => ({}),
  /** A server whose engines follow the script in the request. */
  playing: () => ({ engines: playingEngines(), settings: { fairUse: { trialUnitsPerMonth: trialUnits } } }),
  /** The same without a model for transcription, with little time for a request and one key per account. */
  strict: () => ({ engines: playingEngines(), file: strictFile }),
};

export interface RunningTarget extends Target {
  close(): Promise<void>;
}

export async function startTarget(name: ServerName): Promise<RunningTarget> {
  return targetOf(await startParley(serverOptions[name]()));
}

/** The same with a self-signed certificate. */
export async function startTlsTarget(name: ServerName): Promise<RunningTarget> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-conformance-'));
  const { cert: ca, key } = makeCertificate('conformance');
  const tls = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  writeFileSync(tls.cert, ca);
  writeFileSync(tls.key, key);
  const plain = serverOptions[name]();
  const parley = await startParley({ ...plain, settings: { ...plain.settings, tls } });
  rmSync(folder, { recursive: true });
  return { ...targetOf(parley), ca };
}

export function targetOf(parley: Parley): RunningTarget {
  return { origin: new URL(parley.baseUrl).origin, adminKey: parley.adminKey, close: () => parley.close() };
}
