import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { countTokens as countByPackage } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, describe, expect, it } from 'vitest';
import { OwnSignal } from '../../src/core/values/signal.ts';
import { createTokenCounter } from '../../src/tokens/counter.ts';
import { countTokens } from '../../src/tokens/o200k.ts';
import { endOfPiece, pieceUnitsMax } from '../../src/tokens/pieces.ts';
import { threadShare } from '../support/thread-cpu.ts';

const asPlainText = { disallowedSpecial: new Set<string>() };
const reference = (text: string): number => countByPackage(text, asPlainText);

const sourceCode = readFileSync(import.meta.filename, 'utf8');
const samples: Readonly<Record<string, string>> = {
  English:
    "It wasn't the first time, she'd say, that 3,000 people (or more!) had come to see the 19th-century mill.\n",
  German: 'Die Straßenbahn fährt um 7:45 Uhr; wer zu spät kommt, läuft. „Schon wieder!“, rief er.\n',
  Chinese: '今天天气很好，我们一起去公园散步吧。孩子们在草地上奔跑，老人们坐在长椅上聊天。\n',
  Japanese: '昨日は雨が降っていたので、家で本を読みました。「とても面白かったです」と彼女は言った。\n',
  Thai: 'วันนี้อากาศดีมาก เราไปเดินเล่นที่สวนสาธารณะกันเถอะ เด็กๆ วิ่งเล่นบนสนามหญ้า\n',
  Arabic: 'ذهبتُ إلى السوق صباحًا، واشتريتُ خبزًا وجبنًا. كان الجو جميلاً.\n',
  Hindi: 'आज मौसम बहुत अच्छा है, चलो पार्क में घूमने चलते हैं।\n',
  Korean: '오늘은 날씨가 아주 좋아서 친구와 함께 공원에 갔습니다.\n',
  emoji: 'Lovely 😀 day 👩‍👩‍👧‍👦, see you 🇫🇷!! 👍🏽 \n',
  JSON: '{"id":17,"tags":["a","b-c"],"nested":{"pi":3.14159,"ok":true,"none":null}}\n',
  base64: `${Buffer.from(sourceCode.slice(0, 600)).toString('base64')}\n`,
  code: sourceCode,
};

/** Repeats the sample up to a length. */
const fill = (text: string, units: number): string =>
  text.repeat(Math.ceil(units / text.length)).slice(0, units);

/** Shared by the tests of counts, because each thread loads the vocabulary. */
const tokens = createTokenCounter();
afterAll(() => tokens.close());

/** The worker threads that start while `work` runs. */
async function workersOf(work: () => Promise<unknown>): Promise<Worker[]> {
  const started: Worker[] = [];
  const onWorker = (worker: Worker) => started.push(worker);
  process.on('worker', onWorker);
  try {
    await work();
  } finally {
    process.off('worker', onWorker);
  }
  return started;
}

describe('a token count', () => {
  it.each(Object.keys(samples))("equals the tokenizer's for %s, short and long", async (name) => {
    const sample = samples[name] ?? '';
    for (const text of [sample, sample.trim(), fill(sample, 1000), fill(sample, 50_000)]) {
      expect(await tokens.count(text)).toBe(reference(text));
    }
  });

  it("equals the tokenizer's for any text of up to 512 code units, even one without a break", async () => {
    for (const text of [
      'a'.repeat(512),
      'กิ'.repeat(256),
      '😀'.repeat(256),
      ' '.repeat(512),
      '=-'.repeat(256),
    ]) {
      expect(await tokens.count(text)).toBe(reference(text));
    }
  });

  it("equals the tokenizer's for random texts of all planes", () => {
    const letters = Array.from(`${Object.values(samples).join('')}\u200d\u0301ǅʰ𐀀\u3000`);
    const word = fc.oneof(fc.constantFrom(...letters), fc.string({ unit: 'grapheme', maxLength: 3 }));
    const units = fc.array(word, { maxLength: 100 }).map((words) => words.join(''));
    const alike = units.filter((text) => !/[\ufeff\u0085ſ]/.test(text));
    fc.assert(
      fc.property(alike, (text) => {
        expect(countTokens(text)).toBe(reference(text));
      }),
    );
  });

  // Counted by tiktoken 0.14.0. The package takes U+FEFF for a blank, and U+0085 for a letter of no word.
  it.each([
    ['\ufeffusing System;', 3],
    ['one\ufeff two', 3],
    ['!\ufeff\ufeff?', 3],
    ['\u0085 \u0085x', 6],
    ["we'Ll'VE", 5],
  ])("equals OpenAI's for %j", (text, count) => expect(countTokens(text)).toBe(count));

  it('of several texts is the sum of theirs, in one place of the queue', async () => {
    const texts = [
      '',
      'one two',
      ...Array.from({ length: 600 }, () => 'three four'),
      fill(sourceCode, 40_000),
    ];
    const sum = texts.reduce((all, text) => all + reference(text), 0);
    expect(await tokens.count(texts)).toBe(sum);
    expect(await tokens.count([])).toBe(0);
    expect(await tokens.count(texts, { tokensMax: 10 })).toBeLessThan(sum);
  });

  it('counts special tokens as plain text', async () => {
    const text = 'Before <|endoftext|> and <|im_start|>user<|im_sep|>hi<|im_end|> after <|endofprompt|>';
    expect(await tokens.count(text)).toBe(reference(text));
    expect(await tokens.count('<|endoftext|>')).toBeGreaterThan(1);
  });

  it('counts a lone surrogate as U+FFFD', async () => {
    for (const text of ['\ud800', '\udc00 a', 'a\udfff\ud83db', '\ude00\ud83d'.repeat(2000)]) {
      expect(await tokens.count(text)).toBe(await tokens.count(text.toWellFormed()));
    }
  });

  it('of an empty text is 0, and starts no thread', async () => {
    const unused = createTokenCounter();
    const workers = await workersOf(async () => expect(await unused.count('')).toBe(0));
    expect(workers).toHaveLength(0);
    await unused.close();
  });

  it('of a long run without a break is wrong by at most a few tokens per cut', async () => {
    const letters = Array.from({ length: 5000 }, (_, at) =>
      String.fromCharCode(97 + ((at * at * 7) % 26)),
    ).join('');
    for (const text of [
      letters,
      'international'.repeat(400),
      '#!$%'.repeat(1200),
      ' \t\u00a0'.repeat(1500),
    ]) {
      const cuts = Math.ceil(text.length / pieceUnitsMax) - 1;
      expect(Math.abs((await tokens.count(text)) - reference(text))).toBeLessThanOrEqual(3 * cuts);
    }
  });
});

describe('a piece of a text', () => {
  const alphabet = Array.from(
    "aBsé的กิ1２𝟎😀\u200d\u0085\u017f\u0301''''stst/\n\r\t  .-\"\u00a0\ufeffǅʰا\u064e_",
  );

  /** Pseudo-random, the same on each run. */
  function* randomTexts(count: number): Generator<string> {
    let state = 42;
    const next = (): number => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
      return state / 2 ** 31;
    };
    for (let made = 0; made < count; made++) {
      yield Array.from({ length: 24 }, () => alphabet[Math.floor(next() * alphabet.length)]).join('');
    }
  }

  it('ends where the tokenizer joins nothing, with any characters', () => {
    let cuts = 0;
    for (const text of randomTexts(1000)) {
      for (let unitsMax = 3; unitsMax < text.length; unitsMax++) {
        const end = endOfPiece(text, 0, unitsMax);
        // An end before the limit is a safe place.
        if (end >= unitsMax - 1) continue;
        cuts++;
        const parts = countTokens(text.slice(0, end)) + countTokens(text.slice(end));
        expect(parts, JSON.stringify([text, end])).toBe(countTokens(text));
      }
    }
    expect(cuts).toBeGreaterThan(1500);
  });

  it('never ends within a surrogate pair, and is never empty', () => {
    for (const text of ['😀'.repeat(3000), `a${'😀'.repeat(3000)}`]) {
      for (let start = 0; start < text.length; ) {
        const end = endOfPiece(text, start, 1024);
        expect(end).toBeGreaterThan(start);
        expect(end - start).toBeLessThanOrEqual(1024);
        expect(text.slice(start, end).isWellFormed()).toBe(true);
        start = end;
      }
    }
  });
});

describe('the time of a count', () => {
  const units = 100_000;
  const hostile: Readonly<Record<string, string>> = {
    'one letter': 'a'.repeat(units),
    'one capital': 'A'.repeat(units),
    'Thai without a break': 'ก'.repeat(units),
    'one ideograph': '的'.repeat(units),
    'blanks before a letter': `${' '.repeat(units - 1)}x`,
    'line breaks': '\n '.repeat(units / 2),
    signs: '#!'.repeat(units / 2),
    emoji: '😀'.repeat(units / 2),
    'combining marks': '\u0301'.repeat(units),
  };

  it('is for any text at most a fixed multiple of the time for a natural text of that length', async () => {
    /** CPU time of all threads, which other processes do not change. */
    const cpuMs = async (text: string): Promise<number> => {
      const before = process.cpuUsage();
      await tokens.count(text);
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000;
    };
    const natural = fill(Object.values(samples).join(''), units);
    await cpuMs(natural);
    const naturalMs = Math.max(await cpuMs(natural), await cpuMs(natural));
    // Measured: up to 7 times. Without cuts, 100,000 equal letters would take some 400 times as long.
    for (const [name, text] of Object.entries(hostile)) {
      expect((await cpuMs(text)) / naturalMs, name).toBeLessThan(30);
    }
  });

  it('of a huge text does not delay short ones to its end', async () => {
    let hugeIsDone = false;
    const huge = tokens.count(fill(sourceCode, 2_500_000)).then(() => {
      hugeIsDone = true;
    });
    for (let asked = 0; asked < 10; asked++) expect(await tokens.count('a short one')).toBe(3);
    expect(hugeIsDone).toBe(false);
    await huge;
  });

  it('of a huge text is not spent on the main thread', async () => {
    await tokens.count('start the thread');
    const text = fill(samples['German'] ?? '', 2_000_000);
    expect(await threadShare(() => tokens.count(text))).toBeLessThan(0.5);
  });
});

describe('a bounded count', () => {
  it('reads a text only up to its bound, and counts a shorter one exactly', async () => {
    const text = fill(sourceCode, 2_500_000);
    const count = await tokens.count(text, { tokensMax: 1_000 });
    expect(count).toBeGreaterThan(1_000);
    expect(count).toBeLessThan(10_000);
    expect(await tokens.count(sourceCode, { tokensMax: 100_000 })).toBe(reference(sourceCode));
  });

  it('ends with its signal, and its thread continues with the next text', async () => {
    const left = new AbortController();
    const reason = new Error('the client has left');
    const huge = tokens.count(fill(sourceCode, 20_000_000), { signal: left.signal });
    const ended = expect(huge).rejects.toBe(reason);
    expect(await tokens.count('a short one')).toBe(3);
    left.abort(reason);
    await ended;
    expect(await tokens.count('a short one')).toBe(3);
    await expect(tokens.count('late', { signal: left.signal })).rejects.toBe(reason);
  });
});

describe('many counts', () => {
  it('are refused beyond the share of one account, if they may be', async () => {
    const signal = new OwnSignal();
    signal.owner = 'acct_many';
    const running = Array.from({ length: 512 }, () => tokens.count('one', { signal, mayBeRefused: true }));
    await expect(tokens.count('one', { signal, mayBeRefused: true })).rejects.toMatchObject({
      code: 'overloaded',
    });
    expect(await tokens.count('one two', { signal })).toBe(2);
    expect(await tokens.count('one two', { mayBeRefused: true })).toBe(2);
    expect(new Set(await Promise.all(running))).toEqual(new Set([1]));
  });

  it('of one account delay those of another by one slice', async () => {
    const [many, other] = [new OwnSignal(), new OwnSignal()];
    [many.owner, other.owner] = ['acct_many', 'acct_other'];
    let ended = 0;
    const running = Array.from({ length: 200 }, () =>
      tokens.count('a'.repeat(512), { signal: many }).then(() => ended++),
    );
    expect(await tokens.count('one two', { signal: other })).toBe(2);
    expect(ended).toBeLessThan(10);
    await Promise.all(running);
  });
});

describe('the counting thread', () => {
  it('ends with the counter, which rejects running and later counts', async () => {
    const tokens = createTokenCounter();
    const [worker] = await workersOf(() => tokens.count('one'));
    const ended = new Promise((resolve) => worker?.once('exit', resolve));
    const rejections = [tokens.count(sourceCode), tokens.count('waiting')].map((count) =>
      expect(count).rejects.toMatchObject({ code: 'internal_error' }),
    );
    await tokens.close();
    await Promise.all(rejections);
    await ended;
    await expect(tokens.count('late')).rejects.toMatchObject({ code: 'internal_error' });
    await tokens.close();
  });

  it('keeps the process alive only while it counts', async () => {
    const url = new URL('../../src/tokens/counter.ts', import.meta.url).href;
    const program = `
      import { createTokenCounter } from '${url}';
      const tokens = createTokenCounter();
      console.log(await tokens.count('hello world'), await tokens.count('one two three'));`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', program], { timeout: 170_000 });
    expect(stdout).toBe('2 3\n');
  });
});
