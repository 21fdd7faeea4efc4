import { readFileSync } from 'node:fs';
import * as z from 'zod';
import type { Config } from '../../config/config.ts';
import { type Diagnostic, ok, problem, warning } from '../../core/values/diagnostics.ts';

const unlimited = Number.POSITIVE_INFINITY;

/**
 * Checks that the limit of open files leaves room for all connections that the configuration allows.
 * @param pid of the running server; undefined if there is none
 */
export function diagnoseOpenFiles({ server, admin }: Config, pid: number | undefined): Diagnostic[] {
  const limitOfServer = pid === undefined ? undefined : limitOf(pid);
  const limit = limitOfServer ?? ownLimit();
  const whose = limitOfServer === undefined ? 'A process started here' : 'The running server';
  const connections = server.connectionsMax * (admin ? 2 : 1);
  if (limit === unlimited) return [ok('open files', `${whose} can open any number of files.`)];
  const found = `${whose} can open ${limit} files; connectionsMax allows ${connections} connections.`;
  const advice = `Raise the limit to ${connections * 2} (systemd: LimitNOFILE, shell: ulimit -n), or lower server.connectionsMax.`;
  if (connections >= limit) return [problem('open files', found, advice)];
  return [connections * 2 > limit ? warning('open files', found, advice) : ok('open files', found)];
}

/** The limit of a process; undefined if it cannot be read. */
function limitOf(pid: number): number | undefined {
  try {
    const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
    return toLimit(/^Max open files +(\S+)/m.exec(limits)?.[1]);
  } catch {
    // Not Linux, or a process of another user.
    return undefined;
  }
}

const resourceLimits = z.object({
  userLimits: z.object({ open_files: z.object({ soft: z.union([z.number(), z.string()]) }) }),
});

/** Node raises its own limit to the allowed maximum, and child processes inherit that. */
function ownLimit(): number {
  const { report } = process;
  // Skips the names of connected hosts, which may take long to look up.
  Reflect.set(report, 'excludeNetwork', true);
  const { userLimits } = resourceLimits.parse(report.getReport());
  return toLimit(String(userLimits.open_files.soft)) ?? unlimited;
}

function toLimit(text: string | undefined): number | undefined {
  if (text === 'unlimited') return unlimited;
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}
