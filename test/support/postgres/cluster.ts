/** Starts a PostgreSQL for a run of tests. PARLEY_TEST_POSTGRES_URL names another one, as a user who may create databases. */
import type { TestProject } from 'vitest/node';
import { postgresPrograms } from './programs.ts';
import { PostgresServer } from './server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Empty if there is no PostgreSQL. */
    postgresUrl: string;
  }
}

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env['PARLEY_TEST_POSTGRES_URL'];
  const programs = postgresPrograms();
  if (given || programs === undefined) {
    project.provide('postgresUrl', given ?? '');
    return undefined;
  }
  const server = await PostgresServer.create(programs);
  project.provide('postgresUrl', server.url);
  return () => server.remove();
}
