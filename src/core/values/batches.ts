/**
 * A stream in batches. Parts that arrive together, such as the events of one network read, stay together, so that each
 * stage runs once for all of them. An empty batch says that the next part takes long: a transport tells its client that the stream lives.
 */
export type Batches<Part> = AsyncIterable<readonly Part[]>;

export async function* singly<Part>(parts: AsyncIterable<Part>): AsyncGenerator<readonly Part[], void, void> {
  for await (const part of parts) yield [part];
}

/** Whether a stage passes on what it has made of a batch: something, or the news that the next part takes long. */
export function isNews(made: readonly unknown[], batch: readonly unknown[]): boolean {
  return made.length > 0 || batch.length === 0;
}
