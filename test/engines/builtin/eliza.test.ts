import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, describe, expect, it } from 'vitest';
import {
  type ChatCompletion,
  type ChatCompletionChunk,
  type ChatCompletionParams,
  ChatCompletionParamsSchema,
  type ChatMessageSchema,
  type ContentPartSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { TokenCounter } from '../../../src/core/entities/engine.ts';
import { ParleyError } from '../../../src/core/values/errors.ts';
import { type BuiltinChatOptions, createBuiltinChat } from '../../../src/engines/builtin/chat.ts';
import { answersTo, reflect, rules } from '../../../src/engines/builtin/eliza/answer.ts';
import { createTokenCounter } from '../../../src/tokens/counter.ts';
import { inMessages } from '../../support/message-chat.ts';
import { threadCpuMs } from '../../support/thread-cpu.ts';

type Message = MessageInitShape<typeof ChatMessageSchema>;
type Params = Exclude<MessageInitShape<typeof ChatCompletionParamsSchema>, ChatCompletionParams>;

const tokens = createTokenCounter();
const clock = () => 1_790_000_000_999;
const builtinChat = (options: Partial<BuiltinChatOptions> = {}) =>
  inMessages(createBuiltinChat({ tokens, clock, wordDelayMs: 0, ...options }));
const engine = builtinChat();
const forever = new AbortController().signal;
afterAll(() => tokens.close());

const said = (role: string, value: string): Message => ({
  role,
  content: { value: { case: 'text', value } },
});
const user = (text: string) => said('user', text);
const inParts = (items: MessageInitShape<typeof ContentPartSchema>[]): Message => ({
  role: 'user',
  content: { value: { case: 'parts', value: { items } } },
});
const image = { type: 'image_url', imageUrl: { url: 'data:image/png;base64,AAAA' } };
const hello = [user('Hello')];
const longAnswer = [user('Who are you?')];

const params = (messages: Message[], more: Params = {}): ChatCompletionParams =>
  create(ChatCompletionParamsSchema, { model: 'eliza', ...more, messages });
const complete = (messages: Message[], more: Params = {}) => engine.complete(params(messages, more), forever);
const textOf = (completion: ChatCompletion, index = 0): string => {
  const content = completion.choices[index]?.message?.content?.value;
  return content?.case === 'text' ? content.value : '';
};
const answerTo = async (...messages: Message[]) => textOf(await complete(messages));
async function streamed(messages: Message[], more: Params = {}, signal = forever, chat = engine) {
  const chunks: ChatCompletionChunk[] = [];
  for await (const chunk of chat.stream(params(messages, more), signal)) chunks.push(chunk);
  return chunks;
}

describe('an answer', () => {
  it.each([
    ['Hello', 'Hello! What would you like to talk about?'],
    ['My name is Ada', 'Pleased to meet you, Ada. What is on your mind?'],
    ['I am feeling very sad today', 'I am sorry to hear that you are sad. When did it begin?'],
    ['My boss shouts at me all day', 'How do you and your boss get on?'],
    ['I want to quit my job', 'What would be different if you could quit your job?'],
    ['I miss the sea.', 'What comes to mind first when you think of the sea?'],
    ['I think that you are right', 'How sure are you that I am right?'],
    ['Good morning. Because of rain, I need an umbrella!', 'How long have you been looking for an umbrella?'],
    ['你会说中文吗？', 'I read only English, and not much of it. Could you say a little more?'],
  ])('to %s', async (text, answer) => expect(await answerTo(user(text))).toBe(answer));

  it.each(['', '12345', '😀'])('to no words: "%s"', async (text) => {
    expect(await answerTo(user(text))).toContain('no words');
    expect(await answerTo({ role: 'user' })).toContain('no words');
    expect(await answerTo(inParts([image]))).toContain('no words');
  });

  it('uses the replies after those of earlier messages, then starts again', async () => {
    const noes = Array.from({ length: 4 }, () => user('no'));
    const answers = await Promise.all(noes.map((_, at) => answerTo(...noes.slice(at))));
    expect(new Set(answers.slice(0, 3)).size).toBe(3);
    expect(answers[3]).toBe(answers[0]);
  });

  it('is always the same, whatever the sampling parameters', async () => {
    const messages = [user('I feel like nobody listens to me')];
    const plain = await engine.complete(params(messages), forever);
    const odd = await engine.complete(
      params(messages, { temperature: 2, topP: 0.1, seed: 7, presencePenalty: 2, logprobs: true }),
      forever,
    );
    expect(odd.choices).toEqual(plain.choices);
  });

  it('is to the user, not to the system, a tool or the assistant', async () => {
    const answer = await answerTo(user('I need a holiday'));
    const others = [said('developer', 'I am sad'), user('I need a holiday'), said('tool', 'bye')];
    expect(await answerTo(...others)).toBe(answer);
    expect(await answerTo(said('system', 'hello'))).toContain('no words');
  });

  it('answers all text parts of a message, and reads only its end', async () => {
    expect(await answerTo(inParts([{ text: 'Hello' }, image, { text: 'I am tired' }]))).toContain(
      'you are tired',
    );
    expect(await answerTo(user(`${'I am sad. '.repeat(1000)}${'x '.repeat(500)}`))).not.toContain('sad');
  });

  it('names sources of help to people who may harm themselves', async () => {
    expect(await answerTo(user('yes, but I want to die'))).toContain('emergency number');
  });

  it.each([
    'Are you human?',
    'are you ChatGPT',
    'Who are you?',
    'what model is this?',
    'Do you understand me?',
    'help',
  ])('about itself is honest, and says where models come from: %s', async (question) => {
    const completion = await engine.complete(params([user(question)], { n: 3 }), forever);
    for (const index of [0, 1, 2]) {
      expect(textOf(completion, index)).toMatch(/not .*language model|no language model/);
      expect(textOf(completion, index)).toContain('parley.yaml');
    }
  });

  it.each([
    'What is the capital of France?',
    'what is 12 * 4',
    'Please write a poem',
    'Can you translate this?',
  ])('says that it cannot do this: %s', async (task) =>
    expect(await answerTo(user(task))).toMatch(/real model.* rules/),
  );
});

it.each([
  ['I lost my keys', 'you lost your keys'],
  ['you are better than me', 'I am better than you'],
  ['you hate me', 'I hate you'],
  ['he told you that you can go', 'he told me that I can go'],
  ["I'm afraid of myself", 'you are afraid of yourself'],
  ["your friends like what I've done", 'my friends like what you have done'],
  ['am I mad', 'are you mad'],
  ['my word '.repeat(1000), 'your word '.repeat(8).trim()],
  ['x'.repeat(1000), 'x'.repeat(160)],
])('swaps the person in a phrase: %s', (phrase, turned) => expect(reflect(phrase)).toBe(turned));

describe('the work for an answer', () => {
  const units = 20_000_000;
  const halfFitting = ["i'm ", 'you are so ', '...', ' - '].map((text) => text.repeat(50)).join('');
  it.each<[string, () => Message[]]>([
    ['a message of 20 MB', () => [user('I am so very tired of it, my friend. '.repeat(units / 37))]],
    ['a message of 20 MB without a blank', () => [user('a'.repeat(units))]],
    ['half-fitting patterns', () => [user(halfFitting)]],
    ['200,000 parts', () => [inParts(Array.from({ length: 200_000 }, () => ({ text: 'my dog ' })))]],
    ['200,000 messages', () => Array.from({ length: 200_000 }, () => user('I think that I am ill'))],
  ])('does not grow with %s', (_, make) => {
    const { messages } = params(make());
    expect(threadCpuMs(() => expect(answersTo(messages)(0)).not.toBe(''))).toBeLessThan(1500);
  });

  it.each([
    ['many choices', 'I need a holiday by the sea', 128],
    ['a limit within a long word', `I need ${'x'.repeat(985)}`, 8],
    ['a limit within a word of letters that take three bytes', `I need a ${'\u1e9e'.repeat(900)}`, 8],
  ])('counts few texts for all choices: %s', async (_, text, maxTokens) => {
    let counts = 0;
    const count: TokenCounter['count'] = (text, bounds) => {
      counts++;
      return tokens.count(text, bounds);
    };
    const watched = builtinChat({ tokens: { count, close: () => Promise.resolve() } });
    const completion = await watched.complete(params([user(text)], { n: 128, maxTokens }), forever);
    expect(completion.choices).toHaveLength(128);
    expect(counts).toBeLessThan(50);
  });
});

describe('limits', () => {
  it('cut an answer after the exact number of tokens', async () => {
    const full = await answerTo(...longAnswer);
    const total = countTokens(full);
    for (let limit = 1; limit <= total + 1; limit++) {
      const completion = await complete(longAnswer, { maxTokens: limit });
      const text = textOf(completion);
      expect(full.startsWith(text)).toBe(true);
      expect(countTokens(text)).toBe(Math.min(limit, total));
      expect(completion.usage?.completionTokens).toBe(Math.min(limit, total));
      expect(completion.choices[0]?.finishReason).toBe(limit < total ? 'length' : 'stop');
    }
  });

  it('apply to each choice; the smaller of two limits counts', async () => {
    for (const [maxTokens, maxCompletionTokens] of [
      [4, 9],
      [9, 4],
    ] as const) {
      const { choices, usage } = await complete(longAnswer, { n: 3, maxTokens, maxCompletionTokens });
      expect(choices.map(({ finishReason }) => finishReason)).toEqual(['length', 'length', 'length']);
      expect(usage?.completionTokens).toBe(12);
    }
  });
});

describe('stop sequences', () => {
  it.each<[string, string[]]>([
    ['Hello! What would you ', ['like']],
    ['Hello! What ', ['talk', 'would', 'nowhere']],
    ['', ['H']],
    [
      'Hello! What would you like to talk about?',
      ['', ...Array.from({ length: 15 }, (_, at) => `nowhere ${at}`)],
    ],
  ])('end the answer before the first one in it: "%s"', async (text, items) => {
    const completion = await complete(hello, { stop: { value: { case: 'list', value: { items } } } });
    expect(textOf(completion)).toBe(text);
    expect(completion.choices[0]?.finishReason).toBe('stop');
    expect(completion.usage?.completionTokens).toBe(countTokens(text));
  });

  it('are one text, or at most 16', async () => {
    expect(textOf(await complete(hello, { stop: { value: { case: 'text', value: '!' } } }))).toBe('Hello');
    const items = Array.from({ length: 17 }, (_, at) => `nowhere ${at}`);
    const tooMany = complete(hello, { stop: { value: { case: 'list', value: { items } } } });
    await expect(tooMany).rejects.toMatchObject({
      code: 'invalid_parameter',
      param: 'stop',
      message: expect.stringContaining('16'),
    });
  });
});

describe('a completion', () => {
  it('gives `n` choices, which differ while there are replies left, and calls no tool', async () => {
    const tools = [{ type: 'function', function: { name: 'weather' } }];
    const completion = await complete([user('no')], { n: 4, tools });
    expect(completion.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    expect(new Set([0, 1, 2, 3].map((index) => textOf(completion, index))).size).toBe(3);
    expect(completion.choices.map(({ message }) => message?.toolCalls)).toEqual([[], [], [], []]);
  });

  it('counts the prompt as the texts of its messages and 3 tokens per message', async () => {
    const parts = inParts([{ text: 'one two' }, image, { text: 'three' }]);
    const { usage } = await complete([said('system', 'Be brief.'), user('Hello <|endoftext|>'), parts]);
    const special = countTokens('Hello <|endoftext|>', { disallowedSpecial: new Set() });
    expect(usage?.promptTokens).toBe(3 * 3 + countTokens('Be brief.') + special + 2 + 1);
    expect(usage?.totalTokens).toBe((usage?.promptTokens ?? 0) + (usage?.completionTokens ?? 0));
  });

  it("and a stream reject with the signal's reason, or with the token counter's error", async () => {
    const reason = new Error('gone');
    await expect(engine.complete(params(hello), AbortSignal.abort(reason))).rejects.toBe(reason);
    await expect(streamed(hello, {}, AbortSignal.abort(reason))).rejects.toBe(reason);
    const failure = new ParleyError('internal_error');
    const close = () => Promise.resolve();
    const broken = builtinChat({ tokens: { count: () => Promise.reject(failure), close } });
    await expect(broken.complete(params(hello), forever)).rejects.toBe(failure);
    await expect(streamed(hello, {}, forever, broken)).rejects.toBe(failure);
    const endless = builtinChat({ tokens: { count: () => new Promise(() => {}), close } });
    const aborter = new AbortController();
    const streaming = expect(streamed(hello, {}, aborter.signal, endless)).rejects.toBe(reason);
    const completing = expect(endless.complete(params(hello), aborter.signal)).rejects.toBe(reason);
    aborter.abort(reason);
    await Promise.all([streaming, completing]);
  });
});

describe('a stream', () => {
  it('is the role, then the words, then the finish reason with the usage', async () => {
    const chunks = await streamed(hello);
    const [first, ...words] = chunks.slice(0, -1).map(({ choices }) => choices[0]?.delta);
    expect(first).toMatchObject({ role: 'assistant' });
    expect(first?.content).toBeUndefined();
    const expected = ['Hello!', ' What', ' would', ' you', ' like', ' to', ' talk', ' about?'];
    expect(words.map((delta) => delta?.content)).toEqual(expected);
    expect(chunks.filter(({ choices }) => choices[0]?.finishReason === 'stop')).toEqual([chunks.at(-1)]);
    expect(chunks.filter(({ usage }) => usage !== undefined)).toEqual([chunks.at(-1)]);
    const { id } = chunks[0] ?? {};
    expect(id).toMatch(/^chatcmpl-[0-9a-f]{32}$/);
    const head = { id, object: 'chat.completion.chunk', created: 1_790_000_000n, model: 'eliza' };
    for (const chunk of chunks) expect(chunk).toMatchObject(head);
  });

  it.each<[string, Params]>([
    ['alone', {}],
    ['with a limit', { maxTokens: 7 }],
    ['with a stop sequence', { stop: { value: { case: 'text', value: ' rules' } } }],
    ['with three choices', { n: 3, maxCompletionTokens: 30 }],
  ])('carries the plain answer and its usage, %s', async (_, more) => {
    const plain = await complete(longAnswer, more);
    const chunks = await streamed(longAnswer, more);
    for (const { index, finishReason } of plain.choices) {
      const own = chunks.flatMap(({ choices }) => choices).filter((choice) => choice.index === index);
      expect(own.map(({ delta }) => delta?.content ?? '').join('')).toBe(textOf(plain, index));
      expect(own.at(-1)?.finishReason).toBe(finishReason);
    }
    expect(chunks.at(-1)?.usage).toEqual(plain.usage);
  });

  it('is paced, and ends at once when it is aborted between words', async () => {
    const slow = builtinChat({ wordDelayMs: 3_600_000 });
    const aborter = new AbortController();
    const chunks = slow.stream(params(hello), aborter.signal)[Symbol.asyncIterator]();
    expect((await chunks.next()).value?.choices[0]?.delta?.role).toBe('assistant');
    const reason = new Error('the client left');
    const next = expect(chunks.next()).rejects.toBe(reason);
    aborter.abort(reason);
    await next;
    expect(await chunks.next()).toEqual({ done: true, value: undefined });
  });
});

it('has replies in ASCII with single blanks, and only placeholders of their pattern', () => {
  for (const { pattern, answers } of rules) {
    for (const answer of answers) {
      expect(answer).toMatch(/^[!-~]+(?: [!-~]+)*$/);
      if (answer.includes('{it}')) expect(pattern.source).toContain('(?<it>');
    }
  }
});
