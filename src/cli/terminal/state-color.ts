import { styleText } from 'node:util';

const colors = {
  green: ['ok', 'live', 'up', 'ready', 'busy', 'alive', 'delivered'],
  yellow: [
    'warning',
    'late',
    'expired',
    'suspended',
    'refused',
    'cancelled',
    'waiting',
    'loading',
    'pending',
  ],
  red: ['problem', 'failed', 'interrupted', 'revoked', 'down', 'dead'],
} as const;

const colorOf: ReadonlyMap<string, keyof typeof colors> = new Map(
  (['green', 'yellow', 'red'] as const).flatMap((color) => colors[color].map((state) => [state, color])),
);

/**
 * The text in the color of its state. Only on a terminal with colors, and without the variable NO_COLOR.
 * @param text the state, with blanks around it
 */
export function stateColored(text: string): string {
  const color = colorOf.get(text.trim());
  return color === undefined ? text : styleText(color, text, { stream: process.stdout });
}
