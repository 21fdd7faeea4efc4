import { get as httpGet } from 'node:http';
import { get as httpsGet } from 'node:https';
import { createServer } from 'node:net';
import { json } from 'node:stream/consumers';
import { z } from 'zod';
import type { Config } from '../../../config/config.ts';
import { basePath } from '../../../core/base-path.ts';
import { type Diagnostic, ok, problem } from '../../../core/diagnostics.ts';
import { systemCode } from '../../../files/reason.ts';
import { localUrl, readServerFile, type ServerFile } from '../../client/server-file.ts';

interface Port {
  readonly setting: 'server' | 'admin';
  readonly host: string;
  readonly port: number;
}

/** Whether the running server of the data folder answers where it says; where there is none, whether each port can be had. */
export async function diagnosePorts(config: Config, signal: AbortSignal): Promise<Diagnostic[]> {
  const running = readServerFile(config.dataDir);
  const answering = running && (await diagnoseRunning(running, signal));
  if (answering !== undefined) return answering;
  const ports: Port[] = [{ setting: 'server', ...config.server }];
  if (config.admin) ports.push({ setting: 'admin', ...config.admin });
  return Promise.all(ports.map((port) => diagnosePort(port, config, signal)));
}

/**
 * Goes by where the server listens, which flags and variables of its own may have told it, not by the configuration seen
 * here. Undefined where nothing answers: the file may be of a server that was killed, its process id another's by now.
 */
async function diagnoseRunning(
  { baseUrl, adminBaseUrl, pid }: ServerFile,
  signal: AbortSignal,
): Promise<Diagnostic[] | undefined> {
  const urls = [{ setting: 'server', url: new URL(baseUrl) }];
  if (adminBaseUrl !== baseUrl) urls.push({ setting: 'admin', url: new URL(adminBaseUrl) });
  const answers = await Promise.all(urls.map(({ url }) => answersAsParley(url, signal)));
  if (!answers.includes(true)) return undefined;
  return urls.map(({ setting, url }, index) => {
    const { hostname, port, protocol } = url;
    const place = `${hostname} port ${port || (protocol === 'https:' ? 443 : 80)}`;
    if (answers[index])
      return ok(`${setting}.port`, `${place} is held by the running server (process ${pid}).`);
    const found = `The running server (process ${pid}) does not answer on ${place}.`;
    return problem(`${setting}.port`, found, 'Look at its log, and start it anew.');
  });
}

async function diagnosePort(port: Port, config: Config, signal: AbortSignal): Promise<Diagnostic> {
  const subject = `${port.setting}.port`;
  const place = `${port.host} port ${port.port}`;
  if (port.port === 0) return ok(subject, 'Any free port is taken.');
  const error = await listenError(port);
  switch (systemCode(error)) {
    case undefined:
      return ok(subject, `${place} is free.`);
    case 'EADDRINUSE':
      return holder(port, config, signal);
    case 'EACCES': {
      const advice =
        'Choose a port above 1023, or allow it: setcap cap_net_bind_service=+ep on the program node.';
      return problem(subject, `${place} is for the administrator only.`, advice);
    }
    default: {
      const advice = `Choose another ${port.setting}.host; 0.0.0.0 is every address of this machine.`;
      return problem(subject, `${place} cannot be listened on (${systemCode(error)}).`, advice);
    }
  }
}

/** Listens for a moment. Undefined where that went well. */
function listenError({ host, port }: Port): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', resolve);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

async function holder(port: Port, config: Config, signal: AbortSignal): Promise<Diagnostic> {
  const who = (await answersAsParley(urlOf(port, config), signal))
    ? 'a Parley on another data folder'
    : 'another program';
  const subject = `${port.setting}.port`;
  const choose = `choose another with ${subject}`;
  const advice = `Find it with \`ss -ltnp sport = :${port.port}\` and stop it, or ${choose}.`;
  return problem(subject, `${port.host} port ${port.port} is held by ${who}.`, advice);
}

function urlOf({ host, port }: Port, { tls }: Config): URL {
  const address = host.includes(':') ? `[${host}]` : host;
  return new URL(localUrl(`${tls ? 'https' : 'http'}://${address}:${port}`));
}

const refusal = z.object({ error: z.object({ code: z.enum(['invalid_api_key', 'not_found']) }) });

/** Asks without a key, which every Parley refuses in the same words. */
function answersAsParley(server: URL, signal: AbortSignal): Promise<boolean> {
  const url = new URL(`${basePath}/models`, server);
  return new Promise((resolve) => {
    const request =
      url.protocol === 'https:'
        ? // Nothing secret is sent, and nobody is trusted for the answer.
          httpsGet(url, { rejectUnauthorized: false, signal }, read)
        : httpGet(url, { signal }, read);
    function read(response: NodeJS.ReadableStream): void {
      json(response).then(
        (body) => resolve(refusal.safeParse(body).success),
        () => resolve(false),
      );
    }
    request.once('error', () => resolve(false));
  });
}
