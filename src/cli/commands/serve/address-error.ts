/** Why a server cannot listen, with the setting to change. */
import type { Config } from '../../../config/config.ts';
import { systemCode } from '../../../files/reason.ts';
import { CliError } from '../../terminal/command.ts';

interface Address {
  readonly host: string;
  readonly port: number;
}

interface ConfiguredAddress extends Address {
  readonly hostSetting: string;
  readonly portSetting: string;
}

/** Undefined if the error is not about an address. */
export function addressError(error: unknown, config: Config): CliError | undefined {
  const { host, port, hostSetting, portSetting } = configuredAddress(error, config);
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
      if (memberOf(error, 'syscall') !== 'listen') return undefined;
      const message = `Port ${port} is reserved for the administrator: choose one above 1023 with ${portSetting}.`;
      return new CliError(message, error);
    }
  }
  return undefined;
}

function configuredAddress(error: unknown, { server, admin }: Config): ConfiguredAddress {
  const own = { hostSetting: '--host or PARLEY_HOST', portSetting: '--port or PARLEY_PORT' };
  if (admin === undefined || !isAbout(admin, server, error)) return { ...server, ...own };
  return {
    ...admin,
    hostSetting: 'admin.host or PARLEY_ADMIN_HOST',
    portSetting: 'admin.port or PARLEY_ADMIN_PORT',
  };
}

/** Whether the error is about the first address. For a host name the error may have the address, and for port 0 no port. */
function isAbout(one: Address, other: Address, error: unknown): boolean {
  const port = memberOf(error, 'port');
  if (port !== undefined && one.port !== other.port) return port === one.port;
  const host = memberOf(error, 'hostname') ?? memberOf(error, 'address');
  return host === one.host && host !== other.host;
}

function memberOf(error: unknown, name: string): unknown {
  return error instanceof Error ? Reflect.get(error, name) : undefined;
}
