/** Worker thread of the token counter: takes a list of texts, returns the sum of their tokens. */
import { countTokens, setMergeCacheSize } from 'gpt-tokenizer/encoding/o200k_base';
import { serveTasks } from '../threads/serve-tasks.ts';
import { endOfPiece, pieceUnitsMax } from './pieces.ts';

/** Special tokens such as `<|endoftext|>` count as ordinary text. */
const asPlainText = { disallowedSpecial: new Set<string>() };

// The cache would keep callers' words, and through them whole texts, in memory.
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

serveTasks({ run: (texts: readonly string[]) => texts.reduce((sum, text) => sum + count(text), 0) });
