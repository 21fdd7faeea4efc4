import { type Client, DatabaseError } from 'pg';
import { type Diagnostic, ok, problem } from '../../core/values/diagnostics.ts';
import { newClient } from './database/connection.ts';

const subject = 'pooler';
const attempts = 3;
const pid = 'select pg_backend_pid() as pid';
/** Prepared once per connection, like Parley's statements of requests. */
const named = { name: 'parley_doctor', text: pid };
const missingStatement = '26000';

/**
 * Finds a pooler between this program and the database, and whether it lends connections for one transaction. Such a
 * pooler gives the backend that a client has just used to the next client, while the first is still connected.
 */
export async function diagnosePooler(client: Client, url: string): Promise<Diagnostic> {
  const { processID } = client as Client & { readonly processID: number | null };
  if ((await backendOf(client)) === processID) return ok(subject, 'There is none before the database.');
  for (let attempt = 0; attempt < attempts; attempt++) {
    const found = await lending(client, url);
    if (found === undefined) continue;
    if (found === 'forgets') {
      const advice =
        'Use PgBouncer 1.21 or newer with `max_prepared_statements` above 0, or session mode: no request with credits works.';
      return problem(subject, 'A pooler in transaction mode loses prepared statements.', advice);
    }
    return ok(
      subject,
      'There is a pooler in transaction mode before the database. It keeps prepared statements; notifications do not pass.',
    );
  }
  return ok(subject, 'There is a pooler in session mode before the database.');
}

/** The same over a separate connection, for a server that starts. Empty if the check fails. */
export async function diagnosePoolerAt(url: string): Promise<Diagnostic[]> {
  const client = newClient({ url, name: 'parley doctor' });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return [await diagnosePooler(client, url)];
  } catch {
    return [];
  } finally {
    await client.end();
  }
}

/** Undefined if the pooler does not lend connections. */
async function lending(client: Client, url: string): Promise<'forgets' | 'remembers' | undefined> {
  const other = newClient({ url, name: 'parley doctor' });
  await other.connect();
  try {
    const before = (await client.query(named)).rows[0].pid;
    await other.query('begin');
    if ((await backendOf(other)) !== before) return undefined;
    // Occupies the backend that knows the statement.
    await client.query(named);
    return 'remembers';
  } catch (error) {
    if (error instanceof DatabaseError && error.code === missingStatement) return 'forgets';
    throw error;
  } finally {
    await other.end();
  }
}

async function backendOf(client: Client): Promise<number> {
  return (await client.query(pid)).rows[0].pid;
}
