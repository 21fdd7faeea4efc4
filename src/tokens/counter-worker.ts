/** Counts what the main thread sends: one message is a list of texts, the answer the list of their counts. */
import { parentPort } from 'node:worker_threads';
import { countTokens, setMergeCacheSize } from 'gpt-tokenizer/encoding/o200k_base';
import { endOfPiece, pieceUnitsMax } from './pieces.ts';

/** `<|endoftext|>` and its like are ordinary text when a caller writes them. */
const asPlainText = { disallowedSpecial: new Set<string>() };

// The cache would keep words of callers, and with them whole texts, for as long as the thread lives.
setMergeCacheSize(0);

function count(text: string): number {
  let tokens = 0;
  for (let start = 0; start < text.length; ) {
    const end = endOfPiece(text, start, pieceUnitsMax);
    tokens += countTokens(text.slice(start, end), asPlainText);
    start = end;
  }
  return tokens;
}

const port = parentPort;
if (port === null) throw new Error('counter-worker runs as a worker thread only');
port.on('message', (texts: readonly string[]) => port.postMessage(texts.map(count)));
