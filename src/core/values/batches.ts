/**
 * A stream in batches. Parts that arrive together, such as the events of one network read, stay together, so that each
 * stage runs once for all of them. No batch is empty.
 */
export type Batches<Part> = AsyncIterable<readonly Part[]>;

/** Batches of one part each. */
export async function* singly<Part>(parts: AsyncIterable<Part>): AsyncGenerator<readonly Part[], void, void> {
  for await (const part of parts) yield [part];
}
