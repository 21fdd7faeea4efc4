/** What keeps a server from listening, in words that name the setting to change. */
import type { Config } from '../../config/config.ts';
import { systemCode } from '../../files/reason.ts';
import { CliError } from '../terminal/cli-error.ts';

interface Address {
  readonly host: string;
  readonly port: number;
}

interface Place extends Address {
  /** How another one is chosen. */
  readonly hostSetting: string;
  readonly portSetting: string;
}

/** Undefined where the error is about no address. */
export function addressError(error: unknown, config: Config): CliError | undefined {
  const { host, port, hostSetting, portSetting } = placeOf(error, config);
  switch (systemCode(error)) {
    case 'EADDRINUSE':
      return new CliError(
        `Port ${port} is in use: choose another with ${portSetting} (0 takes any free one).`,
        error,
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new CliError(
        `${host} is not an address of this machine: choose another with ${hostSetting}.`,
        error,
      );
    case 'EACCES': {
      if (factOf(error, 'syscall') !== 'listen') return undefined;
      const message = `Port ${port} is for the administrator only: choose one above 1023 with ${portSetting}.`;
      return new CliError(message, error);
    }
  }
  return undefined;
}

function placeOf(error: unknown, { server, admin }: Config): Place {
  const own = { hostSetting: '--host or PARLEY_HOST', portSetting: '--port or PARLEY_PORT' };
  if (admin === undefined || !isOf(admin, server, error)) return { ...server, ...own };
  return {
    ...admin,
    hostSetting: 'admin.host or PARLEY_ADMIN_HOST',
    portSetting: 'admin.port or PARLEY_ADMIN_PORT',
  };
}

/** Which of two addresses an error is about. Of a host that is a name it may tell the address, and of port 0 nothing. */
function isOf(one: Address, other: Address, error: unknown): boolean {
  const port = factOf(error, 'port');
  if (port !== undefined && one.port !== other.port) return port === one.port;
  const host = factOf(error, 'hostname') ?? factOf(error, 'address');
  return host === one.host && host !== other.host;
}

function factOf(error: unknown, name: string): unknown {
  return error instanceof Error ? Reflect.get(error, name) : undefined;
}
