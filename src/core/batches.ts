/**
 * A stream whose parts travel with those that came with them, such as the events of one read from a network: what a stage
 * on their way costs, it costs once for all of them. No batch is empty.
 */
export type Batches<Part> = AsyncIterable<readonly Part[]>;

/** The batches of parts that come one by one. */
export async function* singly<Part>(parts: AsyncIterable<Part>): AsyncGenerator<readonly Part[], void, void> {
  for await (const part of parts) yield [part];
}
