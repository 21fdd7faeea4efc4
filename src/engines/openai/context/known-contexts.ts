import type { Upstream, UpstreamDeps } from '../calls/upstream.ts';
import { type Known, kept, type ReportedValue } from '../reported-value.ts';
import { noContextReason, readContextTokens } from './context-tokens.ts';

/** Milliseconds between two readings of a context that is known. */
const contextEveryMs = 300_000;

/** The contexts that an upstream reports, by the ids of the catalog. Each is read from its first use. */
export function openContexts(
  upstream: Upstream,
  nameOf: (id: string) => string,
  { name: engine, log }: UpstreamDeps,
): { of(id: string): Known<number>; close(): void } {
  const contexts = new Map<string, ReportedValue<number>>();
  return {
    of: (id) =>
      kept(contexts, id, {
        read: (signal) => readContextTokens(upstream, nameOf(id), signal),
        pending: 'The context of this model is still being read. Try again in a moment.',
        reasonOf: (error) => noContextReason(engine, id, error),
        everyMs: contextEveryMs,
        log,
        names: { engine, model: id },
      }),
    close: () => {
      for (const source of contexts.values()) source.close();
    },
  };
}
