/**
 * Tells people what set-up does, on stderr: stdout belongs to what runs after it.
 *
 * @param {string} text
 * @param {{ isNew?: boolean, endLine?: boolean }} [options] whether the text begins a line, and whether it ends one
 */
export function say(text, { isNew = true, endLine = true } = {}) {
  process.stderr.write(`${isNew ? 'setup: ' : ''}${text}${endLine ? '\n' : ''}`);
}
