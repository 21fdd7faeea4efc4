/** Flags that several commands share. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { basePath } from '../core/values/base-path.ts';
import { newCommand } from './terminal/command.ts';

export interface JsonFlag {
  readonly json?: boolean;
}

export interface ConfigFlags {
  readonly config?: string;
  readonly dataDir?: string;
}

export type LocalFlags = ConfigFlags & JsonFlag;

export interface ServeConfigFlags extends ConfigFlags {
  readonly host?: string;
  readonly port?: string;
  readonly logLevel?: string;
}

export interface ServeFlags extends ServeConfigFlags {
  readonly demo?: boolean;
}

export interface ServerFlags extends ConfigFlags {
  readonly baseUrl?: string;
}

export interface ClientFlags extends ServerFlags {
  readonly apiKey?: string;
}

export interface AdminFlags extends ServerFlags {
  readonly adminKey?: string;
  /** For `own`. */
  readonly apiKey?: string;
  /** Whether the command is about the account of the API key. Default: false, it needs an admin key or the data folder. */
  readonly own?: boolean;
}

export const defaultBaseUrl = `http://127.0.0.1:8080${basePath}`;

export function withConfigFlags(command: Command): Command {
  return command
    .option('--config <file>', 'the configuration file (default: ./parley.yaml, if it exists)')
    .option('--data-dir <folder>', 'the folder of the database (default: ./data)');
}

/** A command on the files of this machine, whose output may be JSON. */
export function localCommand(name: string, description: string): Command {
  const command = newCommand(name, description);
  return withConfigFlags(command.option('--json', 'print one JSON document'));
}

/** For a command that calls a server without a key. */
export function withServerFlags(command: Command): Command {
  return withConfigFlags(command.addOption(baseUrlOption("the server (default: the data folder's own)")));
}

/** For a command that calls a server with an API key. */
export function withClientFlags(command: Command): Command {
  return withServerFlags(command).addOption(apiKeyOption('an API key (default: the key of `serve --demo`)'));
}

function apiKeyOption(description: string): Option {
  return new Option('--api-key <key>', description).env('PARLEY_API_KEY');
}

/** For a command that manages a server with an admin key, or a data folder without one. */
export function withAdminFlags(command: Command): Command {
  const server = baseUrlOption('the server to manage (default: the data folder, or the server that uses it)');
  return withConfigFlags(withAdminKey(command.addOption(server)));
}

export function withAdminKey(command: Command): Command {
  const description = 'an admin key for that server (default: the key of `serve --demo`)';
  return command.addOption(new Option('--admin-key <key>', description).env('PARLEY_ADMIN_KEY'));
}

/** For a command that an API key may also run, for its own account. */
export function withOwnFlags(command: Command): Command {
  return withAdminFlags(command).addOption(
    apiKeyOption('an API key, for its own account (default: the key of `serve --demo`)'),
  );
}

function baseUrlOption(description: string): Option {
  return new Option('--base-url <url>', description).env('PARLEY_BASE_URL').argParser(parseBaseUrl);
}

/** Adds the version prefix to a URL without a path. */
function parseBaseUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    throw new InvalidArgumentError(`Write a URL such as ${defaultBaseUrl}.`);
  }
  const path = url.pathname.replace(/\/+$/, '');
  return url.origin + (path === '' ? basePath : path);
}

/** Reads a whole number as the value of an option. */
export function wholeNumber(min: number, max: number) {
  return (text: string): number => {
    if (/^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text);
    throw new InvalidArgumentError(`Write a whole number from ${min} to ${max}.`);
  };
}

export const parseCount = wholeNumber(0, 999_999_999);

/** Reads a text of that form as the value of an option. */
export function textLike(pattern: RegExp, advice: string) {
  return (text: string): string => {
    if (pattern.test(text)) return text;
    throw new InvalidArgumentError(advice);
  };
}

/** Reads entries with commas between them as the value of an option. */
export function parseList(text: string): string[] {
  const entries = text.split(',').map((entry) => entry.trim());
  if (entries.every((entry) => entry !== '')) return entries;
  throw new InvalidArgumentError('Write entries with commas between them.');
}
