/** The real engine speaks any text, or refuses it, in a limited time. */
import { afterAll, describe, expect, it } from 'vitest';
import { OwnSignal } from '../../../src/core/values/signal.ts';
import { createBuiltinSpeech } from '../../../src/engines/builtin/speech.ts';
import { createEncoderPool } from '../../../src/media/encoding/encode.ts';
import { energyOf, listen } from '../../support/listen.ts';

const encoders = createEncoderPool({ threads: 1 });
const speech = createBuiltinSpeech({ threads: 1, queueMax: 100, encoders });
afterAll(async () => {
  await speech.close();
  await encoders.close();
});

const charactersMax = 4_000;
/** Processor time of the event loop for a text of 4,000 characters. */
const readMsMax = 250;
/** Processor time of all threads until this much audio has come. */
const heardMsMax = 10_000;
const heardSecondsMax = 20;

/** @returns whether it can be spoken; if so, there is sound */
async function speak(input: string): Promise<boolean> {
  const request = { input, voice: 'kal', format: 'pcm' } as const;
  let isRefused = false;
  const started = process.threadCpuUsage();
  await Promise.resolve(speech.check(request, new OwnSignal())).catch((error: unknown) => {
    expect(error).toMatchObject({ code: 'invalid_input' });
    isRefused = true;
  });
  const read = process.threadCpuUsage(started);
  expect((read.user + read.system) / 1000).toBeLessThan(readMsMax);
  if (isRefused) return false;
  const before = process.cpuUsage();
  const samples = await listen((signal) => speech.synthesize(request, signal).audio, heardSecondsMax);
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(heardMsMax);
  expect(energyOf(samples)).toBeGreaterThan(50);
  return true;
}

/** The first assigned character of each sixteen, as blocks begin at multiples of sixteen. */
function charactersOfAllBlocks(): string[] {
  const characters: string[] = [];
  for (let row = 0; row < 0x110000; row += 16) {
    const all = Array.from({ length: 16 }, (_, index) => String.fromCodePoint(row + index));
    const first = all.find((character) => /\P{Unassigned}/u.test(character));
    if (first !== undefined) characters.push(first);
  }
  return characters;
}

describe('the builtin voice speaks or refuses', () => {
  it('characters of every block of Unicode, thousands at once', async () => {
    const characters = charactersOfAllBlocks();
    expect(characters.length).toBeGreaterThan(10_000);
    let spoken = 0;
    for (let start = 0; start < characters.length; start += charactersMax / 2) {
      if (await speak(characters.slice(start, start + charactersMax / 2).join(' '))) spoken++;
    }
    expect(spoken).toBeGreaterThan(0);
  });

  const filled = (unit: string) => unit.repeat(Math.floor(charactersMax / [...unit].length));
  it.each<[string, string, boolean]>([
    ['4,000 emoji', filled('😀😁😂🤣😃😄😅😆'), true],
    ['4,000 times one emoji', filled('😀'), true],
    ['families of joined emoji', filled('👨‍👩‍👧‍👦'), true],
    ['emoji of every skin', filled('👍🏽'), true],
    ['flags', filled('🇩🇪'), true],
    ['a number of a thousand digits', '7'.repeat(1_000), true],
    ['numbers of a thousand digits', `${'7'.repeat(999)} ${'3'.repeat(999)}`, true],
    ['4,000 digits', filled('9'), true],
    ['a thousand digits in groups', `1${',000'.repeat(999)}`, true],
    ['digits behind a decimal point', `0.${'3'.repeat(3_000)}`, true],
    ['digits of other scripts', filled('٣'), true],
    ['an amount without an end', `$${'9'.repeat(3_000)}`, true],
    ['exponents', filled('2^'), true],
    ['fractions', filled('½'), true],
    ['Arabic from right to left', filled('مرحبا بالعالم '), true],
    ['Hebrew from right to left', filled('שלום עולם '), true],
    ['marks of direction within words', filled('a\u202eb\u202c\u2067c\u2069 '), true],
    ['4,000 marks of direction', filled('\u202e'), false],
    ['one letter under 3,999 accents', `a${'\u0301'.repeat(3_999)}`, true],
    [
      'control characters',
      filled(String.fromCharCode(...Array.from({ length: 32 }, (_, code) => code))),
      false,
    ],
    ['control characters between words', filled('a\u0007b\u0000c\u001b '), true],
    ['halves of surrogate pairs', filled('\ud800a \udc00'), true],
    ['private characters', filled('\ue000'), false],
    ['blanks', filled(' \t\n\u00a0\u2003\u3000'), false],
    ['zero bytes', filled('\0'), false],
    ['punctuation', filled('.,;:!?-'), false],
    ['words without a vowel', filled('bcdfghjklm '), true],
    ['one word', filled('a'), true],
    ['one word of consonants', filled('x'), true],
    ['capitals', filled('ABC'), true],
    ['addresses', filled('a@b.c '), true],
    ['dots and letters', filled('a.b.'), true],
    ['brackets', `a${'('.repeat(3_000)}`, true],
    ['quotes', filled('"a" '), true],
    ['lines', filled('a\n'), true],
    ['list items', filled('- a\n'), true],
    ['tables', filled('| a '), true],
    ['markup of flite', filled('<break time="9999s"/> a '), true],
  ])('%s', async (_, input, isSaid) => {
    expect(await speak(input)).toBe(isSaid);
  });
});
