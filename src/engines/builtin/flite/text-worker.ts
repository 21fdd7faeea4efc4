/** The thread that prepares texts: a task is a text, its result the pieces to speak, none if nothing of it can be said. */
import { serveTasks } from '../../../threads/serve-tasks.ts';
import { cutIntoPieces } from './pieces.ts';
import { canBeSaid, speakableText } from './speakable-text.ts';

serveTasks({
  run: (text: string) => {
    const speakable = speakableText(text);
    return canBeSaid(speakable) ? cutIntoPieces(speakable) : [];
  },
});
