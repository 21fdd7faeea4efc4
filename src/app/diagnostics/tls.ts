import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Config } from '../../config/config.ts';
import { type Diagnostic, ok, problem, warning } from '../../core/values/diagnostics.ts';
import { TlsFilesError, TlsPair } from '../../transports/http/tls-pair.ts';

const dayMs = 86_400_000;
const renewDays = 14;

/** Checks the certificate, its key, and how long it is valid. */
export async function diagnoseTls({ tls }: Pick<Config, 'tls'>, nowMs = Date.now()): Promise<Diagnostic[]> {
  if (tls === undefined) return [ok('certificate', 'None is configured: connections are not encrypted.')];
  try {
    const pair = await TlsPair.open(tls, { onTaken: () => undefined, onRefused: () => undefined });
    pair.close();
  } catch (error) {
    if (!(error instanceof TlsFilesError)) throw error;
    return [problem('certificate', error.message, 'Put a certificate and its key there, both as PEM.')];
  }
  return [validity(new X509Certificate(await readFile(tls.cert)), tls.cert, nowMs)];
}

function validity({ validFromDate, validToDate }: X509Certificate, file: string, nowMs: number): Diagnostic {
  const day = (date: Date) => date.toISOString().slice(0, 10);
  const advice = `Renew ${file}. A running server loads the new one by itself.`;
  if (validToDate.getTime() < nowMs)
    return problem('certificate', `It expired on ${day(validToDate)}.`, advice);
  if (validFromDate.getTime() > nowMs) {
    return problem('certificate', `It is valid only from ${day(validFromDate)} on.`, 'Check the clock.');
  }
  const days = Math.floor((validToDate.getTime() - nowMs) / dayMs);
  const found = `It is valid until ${day(validToDate)}.`;
  return days < renewDays ? warning('certificate', found, advice) : ok('certificate', found);
}
