/** Cuts the text of a response into clauses as it is written, each of which is spoken by a request of its own. */

/** Characters of a clause, which bound what is paid for speech that is interrupted. */
const clauseUnitsMax = 300;
/** The first clause may end at a comma, so that speech begins early. Shorter ones sound broken. */
const firstUnitsMin = 12;

/** The end of a sentence with what closes it, and white space after it: `3.5` goes on. */
const sentenceEnd = /[.!?…]+["'”’)\]]*\s|[。！？；]["”’）」]*|\n/gu;
const phraseEnd = /[,;:–—]\s|[、，：]/gu;

export class Clauses {
  #rest = '';
  #isFirst = true;

  /** @returns the clauses that are complete now. Joined, all clauses are the text */
  add(text: string): string[] {
    this.#rest += text;
    const clauses: string[] = [];
    for (let end = this.#end(); end > 0; end = this.#end()) {
      clauses.push(this.#rest.slice(0, end));
      this.#rest = this.#rest.slice(end);
      this.#isFirst = false;
    }
    return clauses;
  }

  /** The rest of the text. */
  finish(): string[] {
    return this.#rest === '' ? [] : [this.#rest];
  }

  /** Where the first clause ends; 0 if that is not known yet. */
  #end(): number {
    const ends = [...this.#rest.slice(0, clauseUnitsMax).matchAll(sentenceEnd)].map(endOf);
    const [sentence] = ends.filter((end) => isSpeakable(this.#rest.slice(0, end)));
    if (sentence !== undefined) return sentence;
    if (!this.#isFirst && this.#rest.length <= clauseUnitsMax) return 0;
    const phrases = [...this.#rest.slice(0, clauseUnitsMax).matchAll(phraseEnd)].map(endOf);
    const phrase = this.#isFirst ? phrases.find((end) => end >= firstUnitsMin) : phrases.at(-1);
    if (phrase !== undefined || this.#rest.length <= clauseUnitsMax) return phrase ?? 0;
    const space = this.#rest.lastIndexOf(' ', clauseUnitsMax - 1);
    if (space > 0) return space + 1;
    // Does not cut a character in two.
    return this.#rest.codePointAt(clauseUnitsMax - 1) === this.#rest.charCodeAt(clauseUnitsMax - 1)
      ? clauseUnitsMax
      : clauseUnitsMax - 1;
  }
}

/** Whether anything of the text can be spoken. */
export function isSpeakable(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text);
}

function endOf(match: RegExpExecArray): number {
  return match.index + match[0].length;
}
