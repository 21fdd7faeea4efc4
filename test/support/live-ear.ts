import type { LiveSpeaker, LiveTurn, LiveTurnOptions } from '../../src/core/entities/live.ts';
import type { ParleyError } from '../../src/core/values/errors.ts';

/** Samples in a second. */
export const rate = 16_000;

/** Hears how long each turn is. A test may hold its texts back, or let it fail. */
export class Ear {
  readonly turns: FakeTurn[] = [];
  goesOn: Promise<unknown> = Promise.resolve();
  refusal: ParleyError | undefined;
  readonly textOf: (seconds: number) => string;

  constructor(textOf = (seconds: number) => `heard ${seconds} s`) {
    this.textOf = textOf;
  }

  openSpeaker(): LiveSpeaker {
    return {
      listen: (options) => {
        if (this.refusal) throw this.refusal;
        const turn = new FakeTurn(options, this);
        this.turns.push(turn);
        return turn;
      },
      close: () => undefined,
    };
  }
}

class FakeTurn implements LiveTurn {
  readonly options: LiveTurnOptions;
  readonly #ear: Ear;
  samples = 0;
  isDropped = false;

  constructor(options: LiveTurnOptions, ear: Ear) {
    this.options = options;
    this.#ear = ear;
  }

  get seconds(): number {
    return this.samples / rate;
  }

  add({ length }: Int16Array): void {
    this.samples += length;
  }

  async finish() {
    await this.#ear.goesOn;
    const words = [{ word: 'heard', startMs: 0, endMs: 500, probability: 0.5 }];
    return { text: this.#ear.textOf(this.seconds), words };
  }

  drop(): void {
    this.isDropped = true;
  }
}
