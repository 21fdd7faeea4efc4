import { createServer } from 'node:net';
import { readiness } from '../../../app/diagnostics/machine.ts';
import type { Config } from '../../../config/config.ts';
import { type Diagnostic, ok, problem } from '../../../core/values/diagnostics.ts';
import { systemCode } from '../../../files/reason.ts';
import { probe } from '../../client/probe.ts';
import { localUrl, readServerFile, type ServerFile } from '../../client/server-file.ts';

/** Checks whether the running server of the data folder answers; without one, whether each port is free. */
export async function diagnosePorts(config: Config, signal: AbortSignal): Promise<Diagnostic[]> {
  const { server, admin, tls, dataDir } = config;
  const running = readServerFile(dataDir);
  const answering = running && (await diagnoseRunning(running, signal));
  if (answering !== undefined) return answering;
  const scheme = tls ? 'https' : 'http';
  return Promise.all([
    diagnosePort('server.port', server, scheme, signal),
    ...(admin ? [diagnosePort('admin.port', admin, scheme, signal)] : []),
  ]);
}

/**
 * Uses the addresses that the server wrote to its file: its own flags and variables may differ from the configuration here.
 * Undefined if nothing answers, because a killed server leaves its file behind, and another process may have its id by now.
 */
async function diagnoseRunning(
  { baseUrl, adminBaseUrl, pid }: ServerFile,
  signal: AbortSignal,
): Promise<Diagnostic[] | undefined> {
  const urls = [...new Set([baseUrl, adminBaseUrl])];
  const answers = await Promise.all(urls.map((url) => readinessOf(url, signal)));
  const answer = answers.find((one) => one !== undefined);
  if (answer === undefined) return undefined;
  const ports = urls.map((url, at) => {
    const subject = at === 0 ? 'server.port' : 'admin.port';
    const { hostname, port, protocol } = new URL(url);
    const place = `${hostname} port ${port || (protocol === 'https:' ? 443 : 80)}`;
    if (answers[at]) return ok(subject, `${place} is used by the running server (process ${pid}).`);
    const found = `The running server (process ${pid}) does not answer on ${place}.`;
    return problem(subject, found, 'Read its log, and restart it.');
  });
  return [...ports, readiness(answer.reason)];
}

async function diagnosePort(
  subject: string,
  { host, port }: { readonly host: string; readonly port: number },
  scheme: string,
  signal: AbortSignal,
): Promise<Diagnostic> {
  if (port === 0) return ok(subject, 'The server takes any free port.');
  const place = `${host} port ${port}`;
  const code = systemCode(await listenError(host, port));
  if (code === undefined) return ok(subject, `${place} is free.`);
  if (code === 'EACCES') {
    const advice = 'Choose one above 1023, or allow it: setcap cap_net_bind_service=+ep on the program node.';
    return problem(subject, `${place} is reserved for the administrator.`, advice);
  }
  if (code !== 'EADDRINUSE') {
    const advice = `Choose another ${subject.replace('port', 'host')}; 0.0.0.0 means all addresses of this machine.`;
    return problem(subject, `The server cannot listen on ${place} (${code}).`, advice);
  }
  const url = localUrl(`${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`);
  const user = (await readinessOf(url, signal)) ? 'a Parley on another data folder' : 'another program';
  const advice = `Find it with \`ss -ltnp sport = :${port}\` and stop it, or choose another ${subject}.`;
  return problem(subject, `${place} is used by ${user}.`, advice);
}

/** Listens for a moment. Undefined if that works. */
function listenError(host: string, port: number): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', resolve);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/** Undefined if nothing answers, or not a Parley. */
function readinessOf(baseUrl: string, signal: AbortSignal) {
  return probe(new URL('/readyz', baseUrl), signal).catch(() => undefined);
}
