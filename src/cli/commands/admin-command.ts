/** What the commands of the operator have in common: where they go, and how they show what comes back. */
import type { Command } from 'commander';
import { responseBodyCodec } from '../../codec/response-body.ts';
import { type AdminMethod, adminMethods } from '../../core/services.ts';
import {
  type AdminConnection,
  type AdminConnectionOptions,
  type AdminResponse,
  connectAdmin,
} from '../client/admin-connection.ts';
import { newCommand } from '../terminal/command.ts';
import { type JsonFlag, printData, printJson } from '../terminal/terminal.ts';
import { type AdminFlags, withAdminFlags } from './server-flags.ts';

export type AdminCommandFlags = AdminFlags & JsonFlag;

export function adminCommand(name: string, description: string, examples: readonly string[]): Command {
  const command = newCommand(name, description, examples);
  return withAdminFlags(command.option('--json', 'print one JSON document, as the REST API answers'));
}

/** Connects for as long as `run` takes. */
export async function withAdmin(
  flags: AdminFlags,
  run: (admin: AdminConnection) => Promise<void>,
  options?: AdminConnectionOptions,
): Promise<void> {
  const admin = await connectAdmin(flags, options);
  try {
    await run(admin);
  } finally {
    await admin.close();
  }
}

/** Prints a response: as the JSON of its REST path, or in words. */
export function show<K extends AdminMethod>(
  { json }: JsonFlag,
  method: K,
  response: AdminResponse<K>,
  words: (response: AdminResponse<K>) => string,
): Promise<void> {
  return json
    ? printJson(responseBodyCodec(adminMethods[method]).encode(response))
    : printData(words(response));
}
