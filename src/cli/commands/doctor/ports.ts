import { createServer } from 'node:net';
import * as z from 'zod';
import type { Config } from '../../../config/config.ts';
import { basePath } from '../../../core/values/base-path.ts';
import { type Diagnostic, ok, problem } from '../../../core/values/diagnostics.ts';
import { systemCode } from '../../../files/reason.ts';
import { probe } from '../../client/probe.ts';
import { localUrl, readServerFile, type ServerFile } from '../../client/server-file.ts';

interface Port {
  readonly setting: 'server' | 'admin';
  readonly host: string;
  readonly port: number;
}

/** Checks whether the running server of the data folder answers; without one, whether each port is free. */
export async function diagnosePorts(config: Config, signal: AbortSignal): Promise<Diagnostic[]> {
  const running = readServerFile(config.dataDir);
  const answering = running && (await diagnoseRunning(running, signal));
  if (answering !== undefined) return answering;
  const ports: Port[] = [{ setting: 'server', ...config.server }];
  if (config.admin) ports.push({ setting: 'admin', ...config.admin });
  return Promise.all(ports.map((port) => diagnosePort(port, config, signal)));
}

/**
 * Uses the addresses that the server wrote to its file: its own flags and variables may differ from the configuration here.
 * Undefined if nothing answers, because a killed server leaves its file behind, and another process may have its id by now.
 */
async function diagnoseRunning(
  { baseUrl, adminBaseUrl, pid }: ServerFile,
  signal: AbortSignal,
): Promise<Diagnostic[] | undefined> {
  const urls = [{ setting: 'server', url: new URL(baseUrl) }];
  if (adminBaseUrl !== baseUrl) urls.push({ setting: 'admin', url: new URL(adminBaseUrl) });
  const answers = await Promise.all(urls.map(({ url }) => answersAsParley(url, signal)));
  if (!answers.includes(true)) return undefined;
  const ports = urls.map(({ setting, url: { hostname, port, protocol } }, index) => {
    const subject = `${setting}.port`;
    const place = `${hostname} port ${port || (protocol === 'https:' ? 443 : 80)}`;
    if (answers[index]) return ok(subject, `${place} is used by the running server (process ${pid}).`);
    const found = `The running server (process ${pid}) does not answer on ${place}.`;
    return problem(subject, found, 'Read its log, and restart it.');
  });
  return [...ports, await diagnoseReadiness(new URL(baseUrl), signal)];
}

const readiness = z.object({ reason: z.string().optional() });

async function diagnoseReadiness(server: URL, signal: AbortSignal): Promise<Diagnostic> {
  const subject = 'readiness';
  try {
    const { reason } = readiness.parse(await probe(new URL('/readyz', server), signal));
    if (reason === undefined) return ok(subject, 'The running server accepts requests.');
    return problem(subject, `The running server is not ready: ${reason}`, 'Its log says what to do.');
  } catch {
    return problem(subject, 'The running server does not say whether it is ready.', 'Read its log.');
  }
}

async function diagnosePort(port: Port, config: Config, signal: AbortSignal): Promise<Diagnostic> {
  const subject = `${port.setting}.port`;
  const place = `${port.host} port ${port.port}`;
  if (port.port === 0) return ok(subject, 'The server takes any free port.');
  const code = systemCode(await listenError(port));
  if (code === undefined) return ok(subject, `${place} is free.`);
  if (code === 'EADDRINUSE') return diagnoseUser(port, config, signal);
  if (code === 'EACCES') {
    const advice =
      'Choose a port above 1023, or allow it: setcap cap_net_bind_service=+ep on the program node.';
    return problem(subject, `${place} is reserved for the administrator.`, advice);
  }
  const advice = `Choose another ${port.setting}.host; 0.0.0.0 means all addresses of this machine.`;
  return problem(subject, `The server cannot listen on ${place} (${code}).`, advice);
}

/** Listens for a moment. Undefined if that works. */
function listenError({ host, port }: Port): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', resolve);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

async function diagnoseUser(port: Port, { tls }: Config, signal: AbortSignal): Promise<Diagnostic> {
  const address = port.host.includes(':') ? `[${port.host}]` : port.host;
  const url = new URL(localUrl(`${tls ? 'https' : 'http'}://${address}:${port.port}`));
  const user = (await answersAsParley(url, signal)) ? 'a Parley on another data folder' : 'another program';
  const subject = `${port.setting}.port`;
  const advice = `Find it with \`ss -ltnp sport = :${port.port}\` and stop it, or choose another ${subject}.`;
  return problem(subject, `${port.host} port ${port.port} is used by ${user}.`, advice);
}

const refusal = z.object({ error: z.object({ code: z.enum(['invalid_api_key', 'not_found']) }) });

/** Calls without a key, which every Parley refuses in the same way. */
async function answersAsParley(server: URL, signal: AbortSignal): Promise<boolean> {
  try {
    return refusal.safeParse(await probe(new URL(`${basePath}/models`, server), signal)).success;
  } catch {
    // Nothing answers, or not with JSON.
    return false;
  }
}
