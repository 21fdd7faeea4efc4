import type { Client } from 'pg';
import { type Diagnostic, ok, problem, warning } from '../../core/values/diagnostics.ts';

/** Settings that must not be off, and the consequences if they are. */
const durable: Readonly<Record<string, string>> = {
  fsync: 'a crash of the machine can destroy the database',
  full_page_writes: 'a crash of the machine can damage pages',
  synchronous_commit: 'a crash loses answered requests and their debits',
};

/** Checks for settings that lose committed requests, or delay them. */
export async function diagnoseSettings(client: Client): Promise<Diagnostic[]> {
  const { rows } = await client.query('select name, setting from pg_settings');
  const settings = new Map<string, string>(rows.map(({ name, setting }) => [name, setting]));
  const aurora = await client.query("select to_regproc('aurora_version') is not null as exists");
  const storage = settings.has('neon.timeline_id') ? 'Neon' : aurora.rows[0].exists ? 'Aurora' : undefined;
  return [
    diagnoseDurability(settings, storage),
    isolation(settings),
    encoding(settings),
    await encryption(client),
  ];
}

/** @param storage the service that stores the database and makes writes durable by other means; undefined if none is known */
export function diagnoseDurability(
  settings: ReadonlyMap<string, string>,
  storage: string | undefined,
): Diagnostic {
  const subject = 'durability';
  const names = Object.keys(durable).filter((name) => settings.get(name) === 'off');
  const [first] = names;
  if (first === undefined) return ok(subject, 'Committed requests survive a crash.');
  if (storage && !names.includes('synchronous_commit')) {
    return ok(subject, `Committed requests survive a crash, as ${storage} stores them.`);
  }
  const found = `${names.join(' and ')} ${names.length === 1 ? 'is' : 'are'} off: ${durable[first]}.`;
  return problem(subject, found, `Set ${names.map((name) => `${name} = on`).join(' and ')}.`);
}

function isolation(settings: ReadonlyMap<string, string>): Diagnostic {
  const subject = 'transactions';
  const level = settings.get('default_transaction_isolation');
  if (settings.get('default_transaction_read_only') === 'on') {
    return problem(subject, 'Transactions are read-only.', 'Set default_transaction_read_only = off.');
  }
  if (level === 'read committed') return ok(subject, 'Transactions are read committed.');
  const advice = "Set default_transaction_isolation = 'read committed' for the user of Parley.";
  const found = `Transactions are ${level}, so that concurrent requests of an account are repeated.`;
  return warning(subject, found, advice);
}

function encoding(settings: ReadonlyMap<string, string>): Diagnostic {
  const name = settings.get('server_encoding');
  const found = `Texts are ${name}.`;
  const advice = 'Create the database with `encoding UTF8`, or some names cannot be stored.';
  return name === 'UTF8' ? ok('encoding', found) : problem('encoding', found, advice);
}

async function encryption(client: Client): Promise<Diagnostic> {
  const subject = 'encryption';
  const { rows } = await client.query(
    `select ssl, host(client_addr) as address from pg_stat_ssl join pg_stat_activity using (pid)
      where pid = pg_backend_pid()`,
  );
  const { ssl = false, address = null } = rows[0] ?? {};
  if (ssl) return ok(subject, 'The connection is encrypted.');
  const isLocal = address === null || address === '::1' || address.startsWith('127.');
  if (isLocal) return ok(subject, 'The connection does not leave this machine.');
  const advice = 'Add `?sslmode=verify-full` to the URL, unless nobody else is on that network.';
  return warning(subject, 'The connection is not encrypted.', advice);
}
