/** The header of a GGUF file: facts about the model, before its weights. */
import { open } from 'node:fs/promises';
import { ModelError } from './manifest.ts';

/** Far more than a header with its vocabulary and template has. */
const headerBytesMax = 64 * 1024 ** 2;
/** Vocabularies have some 300,000 entries. */
const entriesMax = 10_000_000;
const [textType, listType] = [8, 9];
/** Bytes of a value, by its type. Texts and lists have a length of their own. */
const sizes = [1, 1, 2, 2, 4, 4, 4, 1, undefined, undefined, 8, 8, 8];
const wholeNumberTypes = [4, 10];

export interface GgufFacts {
  readonly name: string | undefined;
  /** As the publisher writes it, such as `apache-2.0`. */
  readonly licence: string | undefined;
  /** Tokens of prompt and answer together that the model was trained for. */
  readonly contextTokens: number | undefined;
  /** Jinja. Undefined for all parts but the first of a split model. */
  readonly chatTemplate: string | undefined;
}

/** @throws ModelError for a file that is no GGUF file, or whose header is not whole */
export async function ggufFacts(path: string): Promise<GgufFacts> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const bytes = Buffer.alloc(Math.min(size, headerBytesMax));
    await file.read(bytes, 0, bytes.length, 0);
    if (bytes.toString('latin1', 0, 4) !== 'GGUF') throw new ModelError(`${path} is not a GGUF file.`);
    return factsOf(new Header(bytes).entries());
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ModelError(`${path} is no whole GGUF file: its header cannot be read.`, error);
  } finally {
    await file.close();
  }
}

function factsOf(entries: ReadonlyMap<string, string | number>): GgufFacts {
  const text = (key: string) => {
    const value = entries.get(key);
    return typeof value === 'string' && value.trim() !== '' ? value : undefined;
  };
  const context = entries.get(`${text('general.architecture')}.context_length`);
  return {
    name: text('general.name'),
    licence: text('general.license'),
    contextTokens: typeof context === 'number' && context > 0 ? context : undefined,
    chatTemplate: text('tokenizer.chat_template'),
  };
}

/** Reads forward. @throws RangeError at the end of the bytes, and for what no header has */
class Header {
  readonly #bytes: Buffer;
  /** After `GGUF`. */
  #at = 4;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Texts and whole numbers. Other values are passed over. */
  entries(): ReadonlyMap<string, string | number> {
    const version = this.#number(4);
    if (version !== 2 && version !== 3) throw new RangeError(`version ${version}`);
    this.#number(8);
    const found = new Map<string, string | number>();
    for (let left = this.#count(); left > 0; left--) {
      const key = this.#text();
      const type = this.#number(4);
      if (type === textType) found.set(key, this.#text());
      else if (wholeNumberTypes.includes(type)) found.set(key, this.#number(type === 10 ? 8 : 4));
      else this.#skip(type);
    }
    return found;
  }

  #skip(type: number, depth = 0): void {
    const size = sizes[type];
    if (size !== undefined) this.#take(size);
    else if (type === textType) this.#take(this.#number(8));
    else if (type === listType && depth < 4) {
      const of = this.#number(4);
      for (let left = this.#count(); left > 0; left--) this.#skip(of, depth + 1);
    } else throw new RangeError(`type ${type}`);
  }

  #count(): number {
    const count = this.#number(8);
    if (count > entriesMax) throw new RangeError(`${count} entries`);
    return count;
  }

  #text(): string {
    const bytes = this.#number(8);
    return this.#bytes.toString('utf8', this.#take(bytes), this.#at);
  }

  #number(size: number): number {
    const at = this.#take(size);
    return size === 8 ? Number(this.#bytes.readBigUInt64LE(at)) : this.#bytes.readUIntLE(at, size);
  }

  /** @returns where the taken bytes begin */
  #take(bytes: number): number {
    const at = this.#at;
    if (bytes > this.#bytes.length - at) throw new RangeError('it ends early');
    this.#at += bytes;
    return at;
  }
}
