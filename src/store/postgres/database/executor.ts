import type { Pool, QueryResult } from 'pg';
import { postgres } from '../../sql/dialect.ts';
import type { Executor, Queries } from '../../sql/executor.ts';
import type { JobResult, Step, StepResult } from '../../sql/job.ts';
import { Placeholder, type Statement } from '../../sql/statement.ts';
import { encoded, fromUuid } from './ids.ts';
import { patiently } from './patience.ts';
import { exclusively, type Query, type Transaction, transact } from './transaction.ts';

/** The type id of `uuid`. */
const uuidType = 2950;

/** The query of a statement. A missing parameter is null. */
export function queryOf(statement: Statement<never, unknown>, parameters: object): Query {
  const { sql, slots } = statement.compiledFor(postgres);
  const values: unknown[] = [];
  for (const slot of slots) {
    const isGiven = slot instanceof Placeholder;
    values.push(isGiven ? encoded(slot.name, Reflect.get(parameters, slot.name) ?? null) : slot);
  }
  return { text: sql, values };
}

/** The values of a statement's rows, with uuids converted to ids. */
function valuesOf<Value>(statement: Statement<never, Value>, { rows, fields }: QueryResult): Value[] {
  const { table = '' } = statement.compiledFor(postgres);
  for (const { dataTypeID, name } of fields) {
    if (dataTypeID !== uuidType) continue;
    const column = name === 'id' ? table : name;
    for (const row of rows) if (row[name] !== null) row[name] = fromUuid(column, row[name]);
  }
  return rows.map((row) => statement.toValue(row as never));
}

type Send = (query: Query) => Promise<QueryResult>;

/** Runs queries by `send`. */
export function queriesBy(send: Send): Queries {
  const all: Queries['all'] = async (statement, parameters) =>
    valuesOf(statement, await send(queryOf(statement, parameters)));
  return { all, get: async (statement, parameters) => (await all(statement, parameters))[0] };
}

export function postgresExecutor(pool: Pool): Executor {
  return {
    ...queriesBy(({ text, values = [] }) => patiently(() => pool.query(text, [...values]))),
    run: ({ steps, isExclusive }) =>
      patiently(() =>
        transact(pool, (transaction) => {
          if (isExclusive) transaction.query(exclusively);
          return runSteps(transaction, steps);
        }),
      ),
    readSnapshot: (read) =>
      patiently(() =>
        transact(pool, (transaction) => read(queriesBy((query) => transaction.query(query))), {
          begin: 'begin isolation level repeatable read read only',
        }),
      ),
  };
}

/** Independent steps are sent together. */
async function runSteps(transaction: Transaction, steps: readonly Step[]): Promise<JobResult> {
  const results: Promise<StepResult>[] = [];
  for (const { statement, parameters, ifUnchanged } of steps) {
    const result = transaction.query(queryOf(statement, parameters)).then(toStepResult);
    result.catch(() => undefined);
    results.push(result);
    if (ifUnchanged === undefined) continue;
    const done = await result;
    if (!('changes' in done) || done.changes > 0) continue;
    if (ifUnchanged === 'stop') break;
    throw new Error(`nothing changed: ${statement.compiledFor(postgres).sql}`);
  }
  return Promise.all(results);
}

function toStepResult({ command, rowCount, rows }: QueryResult): StepResult {
  return command === 'SELECT' ? { row: rows[0] } : { changes: rowCount ?? 0 };
}
