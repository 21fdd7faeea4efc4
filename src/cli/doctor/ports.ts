import { get as httpGet } from 'node:http';
import { get as httpsGet } from 'node:https';
import { createServer } from 'node:net';
import { json } from 'node:stream/consumers';
import { z } from 'zod';
import { basePath, type Config } from '../../config.ts';
import { type Condition, ok, problem } from '../../core/condition.ts';
import { systemCode } from '../../files/reason.ts';
import { readServerFile, type ServerFile } from '../server-file.ts';

interface Port {
  readonly setting: 'server' | 'admin';
  readonly host: string;
  readonly port: number;
}

/** Whether each port can be had, or who has it. */
export async function examinePorts(config: Config, signal: AbortSignal): Promise<Condition[]> {
  const ports: Port[] = [{ setting: 'server', ...config.server }];
  if (config.admin) ports.push({ setting: 'admin', ...config.admin });
  return Promise.all(ports.map((port) => examinePort(port, config, signal)));
}

async function examinePort(port: Port, config: Config, signal: AbortSignal): Promise<Condition> {
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

async function holder(port: Port, config: Config, signal: AbortSignal): Promise<Condition> {
  const subject = `${port.setting}.port`;
  const place = `${port.host} port ${port.port}`;
  const running = readServerFile(config.dataDir);
  const isParley = await answersAsParley(port, config, signal);
  if (running && isParley && isOf(running, port))
    return ok(subject, `${place} is held by the running server (process ${running.pid}).`);
  const who = isParley ? 'a Parley on another data folder' : 'another program';
  const choose = `choose another with ${port.setting}.port`;
  const advice = `Find it with \`ss -ltnp sport = :${port.port}\` and stop it, or ${choose}.`;
  return problem(subject, `${place} is held by ${who}.`, advice);
}

function isOf({ baseUrl, adminBaseUrl }: ServerFile, { setting, port }: Port): boolean {
  const url = new URL(setting === 'admin' ? adminBaseUrl : baseUrl);
  return Number(url.port || (url.protocol === 'https:' ? 443 : 80)) === port;
}

const refusal = z.object({ error: z.object({ code: z.enum(['invalid_api_key', 'not_found']) }) });

/** Asks without a key, which every Parley refuses in the same words. */
function answersAsParley({ host, port }: Port, { tls }: Config, signal: AbortSignal): Promise<boolean> {
  const address = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const options = { host: address, port, path: `${basePath}/models`, signal };
  return new Promise((resolve) => {
    const request = tls
      ? // Nothing secret is sent, and nobody is trusted for the answer.
        httpsGet({ ...options, rejectUnauthorized: false }, read)
      : httpGet(options, read);
    function read(response: NodeJS.ReadableStream): void {
      json(response).then(
        (body) => resolve(refusal.safeParse(body).success),
        () => resolve(false),
      );
    }
    request.once('error', () => resolve(false));
  });
}
