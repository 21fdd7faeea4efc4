/** Worker thread of the token counter: takes a list of texts, returns the sum of their tokens. */
import { serveTasks } from '../threads/serve-tasks.ts';
import { countTokens } from './o200k.ts';
import { endOfPiece, pieceUnitsMax } from './pieces.ts';

function count(text: string): number {
  let tokens = 0;
  for (let start = 0; start < text.length; ) {
    const end = endOfPiece(text, start, pieceUnitsMax);
    tokens += countTokens(text.slice(start, end));
    start = end;
  }
  return tokens;
}

serveTasks({ run: (texts: readonly string[]) => texts.reduce((sum, text) => sum + count(text), 0) });
