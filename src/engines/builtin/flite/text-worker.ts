/** Worker thread that prepares texts: takes a text, returns the pieces to speak, none if nothing can be spoken. */
import { serveTasks } from '../../../threads/serve-tasks.ts';
import { cutIntoPieces } from './pieces.ts';
import { canBeSaid, speakableText } from './speakable-text.ts';

serveTasks({
  run: (text: string) => {
    const speakable = speakableText(text);
    return canBeSaid(speakable) ? cutIntoPieces(speakable) : [];
  },
});
