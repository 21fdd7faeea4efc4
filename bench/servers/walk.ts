/** Counts the functions of `src/` and `gen/` that run in this process, by V8's precise coverage. */
import { Session } from 'node:inspector/promises';

/** How often each function ran, by file. */
export type Walk = Readonly<Record<string, Readonly<Record<string, number>>>>;

let session: Session | undefined;

/** The functions that ran since the last call. The first call starts to count, which slows the process down. */
export async function takeWalk(): Promise<Walk> {
  if (session === undefined) {
    session = new Session();
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  }
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const files = result.flatMap(({ url, functions }) => {
    const file = /\/((?:src|gen)\/.*\.ts)$/.exec(url)?.[1];
    const counts = functions.flatMap(({ functionName, ranges: [range] }) =>
      // The place tells functions without a name apart.
      range && range.count > 0 ? [[`${functionName}@${range.startOffset}`, range.count] as const] : [],
    );
    return file !== undefined && counts.length > 0 ? [[file, Object.fromEntries(counts)] as const] : [];
  });
  return Object.fromEntries(files);
}
