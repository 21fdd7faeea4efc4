/**
 * Number of consecutive hypotheses that must agree on a stable word. With two, 2 of 42 words were wrong; with three,
 * none of 40.
 */
const hypothesesMin = 3;

/**
 * Finds the words of a growing text that will probably not change. The last word is never stable. After a stable word
 * has changed, nothing more becomes stable, and the final text corrects it.
 */
export class StableWords {
  #before: readonly (readonly string[])[] = [];
  #stable: readonly string[] = [];

  /** @returns the number of stable words at the start of `text` */
  add(text: string): number {
    const words = text.split(' ').filter((word) => word !== '');
    if (this.#before.length >= hypothesesMin - 1 && this.#stable.every((word, at) => words[at] === word)) {
      let agreed = this.#stable.length;
      while (agreed < words.length - 1 && this.#before.every((other) => other[agreed] === words[agreed]))
        agreed++;
      this.#stable = words.slice(0, agreed);
    }
    this.#before = [...this.#before, words].slice(1 - hypothesesMin);
    return this.#stable.length;
  }
}
