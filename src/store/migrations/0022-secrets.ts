/** A secret that the servers of a database share, for signatures that outlive them. */
import { randomBytes } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import type { ColumnTypes } from './column-types.ts';

export async function up(db: Kysely<unknown>, { text, keyed }: ColumnTypes): Promise<void> {
  await sql
    .raw(`create table secrets (purpose ${text} primary key, secret text not null) ${keyed}`)
    .execute(db);
  const secret = randomBytes(32).toString('base64url');
  await sql`insert into secrets (purpose, secret) values ('reasoning', ${secret})`.execute(db);
}
