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
import { languageOf } from '../../../src/engines/builtin/eliza/clauses.ts';
import { type Conversation, conversationOf } from '../../../src/engines/builtin/eliza/conversation.ts';
import { endAtLimit } from '../../../src/engines/builtin/eliza/limit.ts';
import { reflect } from '../../../src/engines/builtin/eliza/reflect.ts';
import { respond } from '../../../src/engines/builtin/eliza/respond.ts';
import { rules } from '../../../src/engines/builtin/eliza/rules.ts';
import { createTokenCounter } from '../../../src/tokens/counter.ts';
import { inMessages } from '../../support/message-chat.ts';
import { threadCpuMs } from '../../support/thread-cpu.ts';

type Message = MessageInitShape<typeof ChatMessageSchema>;
type Params = Exclude<MessageInitShape<typeof ChatCompletionParamsSchema>, ChatCompletionParams>;

const tokens = createTokenCounter();
const now = 1_790_000_000_999;
const builtinChat = (options: BuiltinChatOptions) => inMessages(createBuiltinChat(options));
const engine = builtinChat({ tokens, clock: () => now, wordDelayMs: 0 });
const forever = new AbortController().signal;
afterAll(() => tokens.close());

const said = (role: string, text: string): Message => ({
  role,
  content: { value: { case: 'text', value: text } },
});
const user = (text: string): Message => said('user', text);
const inParts = (items: MessageInitShape<typeof ContentPartSchema>[]): Message => ({
  role: 'user',
  content: { value: { case: 'parts', value: { items } } },
});
const image: MessageInitShape<typeof ContentPartSchema> = {
  type: 'image_url',
  imageUrl: { url: 'data:image/png;base64,AAAA' },
};

const params = (messages: Message[], more: Params = {}): ChatCompletionParams =>
  create(ChatCompletionParamsSchema, { model: 'eliza', ...more, messages });

const textOf = (completion: ChatCompletion, index = 0): string => {
  const content = completion.choices[index]?.message?.content?.value;
  return content?.case === 'text' ? content.value : '';
};

/** Plays a conversation through the engine; the client sends all of it back each time. */
async function talk(...lines: string[]): Promise<string[]> {
  const messages: Message[] = [said('system', 'Be brief.')];
  const answers: string[] = [];
  for (const line of lines) {
    messages.push(user(line));
    const answer = textOf(await engine.complete(params(messages), forever));
    messages.push(said('assistant', answer));
    answers.push(answer);
  }
  return answers;
}

const answerTo = async (...messages: Message[]): Promise<string> =>
  textOf(await engine.complete(params(messages), forever));

async function collect(chunks: AsyncIterable<ChatCompletionChunk>): Promise<ChatCompletionChunk[]> {
  const all: ChatCompletionChunk[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return all;
}

const streamedText = (chunks: readonly ChatCompletionChunk[], index = 0): string =>
  chunks
    .flatMap((chunk) => chunk.choices)
    .filter((choice) => choice.index === index)
    .map((choice) => choice.delta?.content ?? '')
    .join('');

const longAnswer = [user('Who are you?')];

describe('a conversation', () => {
  it('runs over several messages', async () => {
    expect(
      await talk(
        'Hello',
        'My name is Ada',
        'I am feeling very sad today',
        'My boss shouts at me all day',
        'I want to quit my job',
        'lorem ipsum',
        'yes',
        'You never listen to me!',
        'ok bye',
      ),
    ).toEqual([
      'Hello! What would you like to talk about?',
      'Pleased to meet you, Ada. What is on your mind?',
      'I am sorry to hear that you are sad. When did it begin?',
      'How do you and your boss get on?',
      'What would be different if you could quit your job?',
      'A while ago you wrote that your boss shouts at you all day. Is that connected?',
      'Good. And what is behind the yes?',
      'What makes you say that I never listen to you?',
      'Goodbye. I shall forget every word, which makes me very discreet.',
    ]);
  });

  it('gives the answers of a rule in turn, then from the first again', async () => {
    const answers = await talk('no', 'No.', 'no!', 'nope');
    expect(new Set(answers.slice(0, 3)).size).toBe(3);
    expect(answers[3]).toBe(answers[0]);
  });

  it('goes on to the next answer however long it is', async () => {
    const answers = await talk(...Array.from({ length: 30 }, () => 'no'));
    for (const [at, answer] of answers.entries()) expect(answer).toBe(answers[at % 3]);
  });

  it('comes back to an earlier subject after some messages that match no rule', async () => {
    const answers = await talk('I lost my keys in the snow', 'no', 'xyzzy', 'plugh', 'frotz');
    expect(answers[2]).toContain('you lost your keys in the snow');
    expect(answers[3]).not.toContain('keys');
    expect(answers[4]).toContain('you lost your keys in the snow');
  });

  it('always gets the same answer, whatever the sampling parameters', async () => {
    const messages = [user('I feel like nobody listens to me')];
    const plain = await engine.complete(params(messages), forever);
    const odd = await engine.complete(
      params(messages, { temperature: 2, topP: 0.1, seed: 7, presencePenalty: 2, logprobs: true }),
      forever,
    );
    expect(textOf(odd)).toBe(textOf(plain));
  });

  it('reads only user messages, not those of the system or the assistant', async () => {
    const answer = await answerTo(user('I need a holiday'));
    expect(answer).toBe('How long have you been looking for a holiday?');
    expect(await answerTo(said('developer', 'I am sad'), user('I need a holiday'), said('tool', 'bye'))).toBe(
      answer,
    );
    expect(await answerTo(said('system', 'hello'))).toContain('I am a small set of rules');
  });

  it('answers the clause with the highest rank', async () => {
    expect(await answerTo(user('Hello, how are you? By the way, are you an AI?'))).toContain(
      'not a language model',
    );
    expect(await answerTo(user('hi! my dog died'))).toMatch(/sorry/);
    expect(await answerTo(user('yes, but I want to die'))).toContain('emergency number');
  });
});

describe('swapping the person of a phrase', () => {
  it.each([
    ['I lost my keys', 'you lost your keys'],
    ['my boss hates me', 'your boss hates you'],
    ['you are better than me', 'I am better than you'],
    ['you hate me', 'I hate you'],
    ['he told you that you can go', 'he told me that I can go'],
    ["I'm afraid of myself", 'you are afraid of yourself'],
    ['I was told what you think', 'you were told what I think'],
    ["your friends like what I've done", 'my friends like what you have done'],
    ['am I mad', 'are you mad'],
    ['Paris in London', 'Paris in London'],
  ])('%s: %s', (phrase, turned) => expect(reflect(phrase)).toBe(turned));

  it('returns at most 16 words', () => {
    expect(reflect('my word '.repeat(1000)).split(' ')).toHaveLength(16);
    expect(reflect('m'.repeat(100_000)).length).toBeLessThanOrEqual(160);
  });
});

describe('an answer about itself', () => {
  it.each([
    'Are you human?',
    'are you ChatGPT',
    'Am I talking to a real person?',
    'You are just a program.',
    'Who are you?',
    'what model is this?',
    'Who made you',
    'Tell me about yourself',
    'help',
  ])('is honest, and says where models come from: %s', async (question) => {
    const completion = await engine.complete(params([user(question)], { n: 3 }), forever);
    for (const index of [0, 1, 2]) {
      expect(textOf(completion, index)).toMatch(/not .*language model|no language model/);
      expect(textOf(completion, index)).toContain('parley.yaml');
    }
  });

  it.each([
    'What is the capital of France?',
    'what is 12 * 4',
    'Please write a poem about the sea',
    'Can you translate this into Greek?',
  ])('says that it cannot do this: %s', async (task) => {
    expect(await answerTo(user(task))).toMatch(/rules/);
    expect(await answerTo(user(task))).toMatch(/real model/);
  });

  it('says that it neither thinks nor feels', async () => {
    expect(await answerTo(user('Do you really understand me?'))).toMatch(/^No\./);
  });
});

describe('what it cannot read', () => {
  it('an empty message', async () => {
    const answers = await talk('', '   \n');
    expect(answers[0]).toBe('You sent me an empty message. I can wait.');
    expect(answers[1]).not.toBe(answers[0]);
    expect(await answerTo({ role: 'user' })).toBe(answers[0]);
  });

  it.each([
    '你好，你会说中文吗？',
    'Здравствуйте, как дела?',
    'Ich bin traurig',
    'Je suis fatigué',
    'hola',
    'สวัสดี',
  ])('another language: %s', async (text) =>
    expect(await answerTo(user(text))).toContain('I only know English'),
  );

  it('but not English with names and borrowed words', () => {
    expect(languageOf('I met José in Zürich, très chic')).toBe('english');
    expect(languageOf('Tokyo (東京) is far')).toBe('english');
  });

  it('numbers and emoji', async () => {
    expect(await answerTo(user('12345'))).toContain('no words');
    expect(await answerTo(user('😀😀😀'))).toContain('no words');
  });

  it('pictures, which it says, and answers the text beside them', async () => {
    expect(await answerTo(inParts([image]))).toContain('I cannot see');
    const both = await answerTo(
      inParts([{ type: 'text', text: 'I am' }, image, { type: 'text', text: 'I feel tired' }]),
    );
    expect(both).toMatch(/^I cannot see .* you are tired/);
  });

  it('a whole very long message, which it says, and answers its end', async () => {
    const answer = await answerTo(user(`${'I hate rain. '.repeat(1000)} I need an umbrella`));
    expect(answer).toMatch(/^That was long, and I read only the end of it\. .*an umbrella/);
  });
});

describe('the work for an answer', () => {
  const units = 20_000_000;
  const conversations: Readonly<Record<string, () => Message[]>> = {
    'a message of 20 MB': () => [user('I am so very tired of it, my friend. '.repeat(units / 37))],
    'a message of 20 MB without a blank': () => [user('a'.repeat(units))],
    'half-fitting patterns': () =>
      ['i am ', 'you are so ', '...', 'my ', ' - ', "i'm '"].map((s) => user(s.repeat(units / 50))),
    'a message in 200,000 parts': () => [
      inParts(Array.from({ length: 200_000 }, () => ({ text: 'my dog ' }))),
    ],
    '200,000 messages': () => Array.from({ length: 200_000 }, () => user('I think that my dog is ill')),
  };

  it.each(Object.keys(conversations))('does not grow with %s', (name) => {
    const { messages } = params(conversations[name]?.() ?? []);
    const answer = () => expect(respond(conversationOf(messages))).not.toBe('');
    // Measured: 3 ms, and 30 ms for many messages or parts.
    expect(threadCpuMs(answer)).toBeLessThan(1500);
  });

  it('lets a stream begin before the tokens of a 20 MB prompt are counted', async () => {
    const aborter = new AbortController();
    let words = 0;
    const reading = (async () => {
      for await (const chunk of engine.stream(params([user('a b '.repeat(units / 4))]), aborter.signal)) {
        expect(chunk.usage).toBeUndefined();
        if (++words === 4) aborter.abort(new Error('enough'));
      }
    })();
    await expect(reading).rejects.toThrow('enough');
    expect(words).toBe(4);
  });
});

describe('the count of an answer', () => {
  it.each([
    ['many choices', 'I need a holiday by the sea', 128],
    ['a limit within a long word', `I need ${'x'.repeat(985)}`, 8],
    ['a limit within a word of letters that take three bytes', `I need a ${'\u1e9e'.repeat(900)}`, 8],
  ])('takes few steps for all choices: %s', async (_, text, maxTokens) => {
    let counts = 0;
    const counted: TokenCounter = {
      count: (text, bounds) => {
        counts++;
        return tokens.count(text, bounds);
      },
      close: () => Promise.resolve(),
    };
    const watched = builtinChat({ tokens: counted, clock: () => now });
    const completion = await watched.complete(params([user(text)], { n: 128, maxTokens }), forever);
    expect(completion.choices).toHaveLength(128);
    expect(counts).toBeLessThan(200);
  });
});

describe('limits', () => {
  const lastWords = (limit: number): Promise<ChatCompletion> =>
    engine.complete(params(longAnswer, { maxTokens: limit }), forever);

  it('cut an answer after the exact number of tokens', async () => {
    const full = await engine.complete(params(longAnswer), forever);
    const total = countTokens(textOf(full));
    for (let limit = 1; limit <= total + 1; limit++) {
      const completion = await lastWords(limit);
      const text = textOf(completion);
      expect(textOf(full).startsWith(text)).toBe(true);
      expect(countTokens(text)).toBe(Math.min(limit, total));
      expect(completion.usage?.completionTokens).toBe(Math.min(limit, total));
      expect(completion.choices[0]?.finishReason).toBe(limit < total ? 'length' : 'stop');
    }
  });

  it('cut every answer of every rule exactly, at any limit', async () => {
    const all = rules
      .flatMap(({ answers }) => answers)
      .map((answer) => answer.replace('{it}', 'miss your unforgettable dachshunds'));
    for (const answer of all) {
      const total = countTokens(answer);
      for (const limit of [1, 2, 5, 9, total - 1]) {
        const { words, tokens: counted } = await endAtLimit(answer, limit, tokens.count);
        expect(countTokens(words.join('')), answer).toBe(counted);
        expect(counted, answer).toBe(Math.min(limit, total));
      }
    }
  });

  it('cut within a word of several tokens, as late as possible', async () => {
    const cut = async (limit: number) => (await endAtLimit('Two dachshunds', limit, tokens.count)).words;
    expect(await cut(1)).toEqual(['Two']);
    expect(await cut(2)).toEqual(['Two', ' dach']);
    expect(await cut(3)).toEqual(['Two', ' dachshu']);
    expect(await cut(4)).toEqual(['Two', ' dachshunds']);
  });

  it('count as the smaller of the two', async () => {
    for (const limits of [
      { maxTokens: 5, maxCompletionTokens: 9 },
      { maxTokens: 9, maxCompletionTokens: 5 },
    ]) {
      const completion = await engine.complete(params(longAnswer, limits), forever);
      expect(completion.usage?.completionTokens).toBe(5);
    }
  });

  it('hold for each choice', async () => {
    const completion = await engine.complete(params(longAnswer, { n: 3, maxTokens: 4 }), forever);
    expect(completion.choices.map((choice) => choice.finishReason)).toEqual(['length', 'length', 'length']);
    expect(completion.usage?.completionTokens).toBe(12);
  });
});

describe('stop sequences', () => {
  const stopAt = async (...items: string[]): Promise<string> => {
    const completion = await engine.complete(
      params([user('Hello')], { stop: { value: { case: 'list', value: { items } } } }),
      forever,
    );
    expect(completion.choices[0]?.finishReason).toBe('stop');
    expect(completion.usage?.completionTokens).toBe(countTokens(textOf(completion)));
    return textOf(completion);
  };

  it('end the answer before the first one in it', async () => {
    expect(await stopAt('like')).toBe('Hello! What would you ');
    expect(await stopAt('talk', 'would', 'nowhere')).toBe('Hello! What ');
    expect(await stopAt('H')).toBe('');
    expect(await stopAt('nowhere', '')).toBe('Hello! What would you like to talk about?');
  });

  it('are at most 16', async () => {
    const items = Array.from({ length: 16 }, (_, at) => `nowhere ${at}`);
    expect(await stopAt(...items)).toContain('Hello!');
    await expect(stopAt(...items, 'one more')).rejects.toMatchObject({
      code: 'invalid_parameter',
      param: 'stop',
      message: expect.stringContaining('16'),
    });
  });

  it('may be a single string', async () => {
    const stop = { value: { case: 'text' as const, value: '!' } };
    expect(textOf(await engine.complete(params([user('Hello')], { stop }), forever))).toBe('Hello');
  });
});

describe('a completion', () => {
  it('has the form of the OpenAI API', async () => {
    const completion = await engine.complete(params([user('Hello')]), forever);
    expect(completion.id).toMatch(/^chatcmpl-[0-9a-f]{32}$/);
    expect(completion).toMatchObject({ object: 'chat.completion', created: 1_790_000_000n, model: 'eliza' });
    expect(completion.choices).toMatchObject([
      { index: 0, message: { role: 'assistant' }, finishReason: 'stop' },
    ]);
    expect((await engine.complete(params([user('Hello')]), forever)).id).not.toBe(completion.id);
  });

  it('gives `n` choices, which differ while there are answers left', async () => {
    const completion = await engine.complete(params([user('no')], { n: 4 }), forever);
    const texts = [0, 1, 2, 3].map((index) => textOf(completion, index));
    expect(completion.choices.map((choice) => choice.index)).toEqual([0, 1, 2, 3]);
    expect(new Set(texts).size).toBe(3);
    expect(texts[0]).toBe(await answerTo(user('no')));
  });

  it('counts the prompt as the texts of its messages and 3 tokens a message', async () => {
    const messages = [
      said('system', 'Be brief.'),
      user('Hello <|endoftext|>'),
      inParts([{ text: 'one two' }, image, { text: 'three' }]),
    ];
    const { usage } = await engine.complete(params(messages), forever);
    const special = countTokens('Hello <|endoftext|>', { disallowedSpecial: new Set() });
    expect(usage?.promptTokens).toBe(3 * 3 + countTokens('Be brief.') + special + 2 + 1);
    expect(usage?.totalTokens).toBe((usage?.promptTokens ?? 0) + (usage?.completionTokens ?? 0));
  });

  it('counts a prompt of many messages', async () => {
    const { usage } = await engine.complete(
      params(Array.from({ length: 1000 }, () => user('one two'))),
      forever,
    );
    expect(usage?.promptTokens).toBe(5000);
  });

  it('never calls a tool', async () => {
    const tools = [{ type: 'function', function: { name: 'weather' } }];
    const completion = await engine.complete(params([user('I need the weather')], { tools }), forever);
    expect(completion.choices[0]?.message?.toolCalls).toEqual([]);
    expect(completion.choices[0]?.finishReason).toBe('stop');
  });

  it("rejects with the signal's reason, or with the token counter's error", async () => {
    const reason = new Error('gone');
    await expect(engine.complete(params([user('Hi')]), AbortSignal.abort(reason))).rejects.toBe(reason);
    const failure = new ParleyError('internal_error');
    const broken: TokenCounter = { count: () => Promise.reject(failure), close: () => Promise.resolve() };
    const ill = builtinChat({ tokens: broken, clock: () => now });
    await expect(ill.complete(params([user('Hi')]), forever)).rejects.toBe(failure);
    await expect(collect(ill.stream(params([user('Hi')]), forever))).rejects.toBe(failure);
  });
});

describe('a stream', () => {
  it('is the role, then the words, then the finish reason with the usage', async () => {
    const chunks = await collect(engine.stream(params([user('Hello')]), forever));
    expect(chunks[0]?.choices).toMatchObject([{ index: 0, delta: { role: 'assistant' } }]);
    expect(chunks[0]?.choices[0]?.delta?.content).toBeUndefined();
    expect(chunks.slice(1, -1).map((chunk) => chunk.choices[0]?.delta?.content)).toEqual([
      'Hello!',
      ' What',
      ' would',
      ' you',
      ' like',
      ' to',
      ' talk',
      ' about?',
    ]);
    expect(chunks.at(-1)?.choices).toMatchObject([{ index: 0, finishReason: 'stop' }]);
    expect(chunks.filter((chunk) => chunk.usage !== undefined)).toEqual([chunks.at(-1)]);
    expect(chunks.slice(0, -1).every((chunk) => chunk.choices[0]?.finishReason === undefined)).toBe(true);
    expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1);
    for (const chunk of chunks) {
      expect(chunk).toMatchObject({
        object: 'chat.completion.chunk',
        created: 1_790_000_000n,
        model: 'eliza',
      });
    }
  });

  it.each<[string, Params]>([
    ['alone', {}],
    ['with a limit', { maxTokens: 7 }],
    ['with a stop sequence', { stop: { value: { case: 'text', value: ' rules' } } }],
    ['with three choices', { n: 3, maxCompletionTokens: 30 }],
  ])('carries the plain answer and its usage, %s', async (_, more) => {
    const plain = await engine.complete(params(longAnswer, more), forever);
    const chunks = await collect(engine.stream(params(longAnswer, more), forever));
    for (const { index, finishReason } of plain.choices) {
      expect(streamedText(chunks, index)).toBe(textOf(plain, index));
      const last = chunks.flatMap((chunk) => chunk.choices).findLast((choice) => choice.index === index);
      expect(last?.finishReason).toBe(finishReason);
    }
    expect(chunks.at(-1)?.usage).toEqual(plain.usage);
  });

  it('is paced, and ends at once when it is aborted between words', async () => {
    const slow = builtinChat({ tokens, clock: () => now, wordDelayMs: 3_600_000 });
    const aborter = new AbortController();
    const chunks = slow.stream(params([user('Hello')]), aborter.signal)[Symbol.asyncIterator]();
    expect((await chunks.next()).value?.choices[0]?.delta?.role).toBe('assistant');
    const reason = new Error('the client left');
    const next = expect(chunks.next()).rejects.toBe(reason);
    aborter.abort(reason);
    await next;
    expect(await chunks.next()).toEqual({ done: true, value: undefined });
  });

  it('and a completion end at once when they are aborted while tokens are counted', async () => {
    const endless: TokenCounter = { count: () => new Promise(() => {}), close: () => Promise.resolve() };
    const waiting = builtinChat({ tokens: endless, clock: () => now });
    const aborter = new AbortController();
    const reason = new Error('the client left');
    const streaming = expect(collect(waiting.stream(params([user('Hi')]), aborter.signal))).rejects.toBe(
      reason,
    );
    const completing = expect(waiting.complete(params([user('Hi')]), aborter.signal)).rejects.toBe(reason);
    aborter.abort(reason);
    await Promise.all([streaming, completing]);
  });

  it('that is aborted before it begins sends no chunk', async () => {
    const reason = new Error('too late');
    await expect(collect(engine.stream(params([user('Hi')]), AbortSignal.abort(reason)))).rejects.toBe(
      reason,
    );
  });

  it('stops when its reader leaves', async () => {
    for await (const chunk of engine.stream(params([user('Hello')]), forever)) {
      expect(chunk.choices).toHaveLength(1);
      break;
    }
  });
});

describe('the rules', () => {
  it('have ASCII answers with single blanks, and only placeholders that their pattern has', () => {
    for (const { pattern, answers } of rules) {
      expect(new Set(answers).size).toBe(answers.length);
      for (const answer of answers) {
        expect(answer).toMatch(/^[!-~]+(?: [!-~]+)*$/);
        for (const place of ['it', 'name']) {
          if (answer.includes(`{${place}}`)) expect(pattern.source).toContain(`(?<${place}>`);
        }
      }
    }
  });

  it('leave no placeholder in an answer', () => {
    const turn = (text: string) => ({ text, isCut: false, hasAttachment: false });
    for (const text of [
      'call me',
      'I wish',
      'I want to',
      'can you',
      'My name is -',
      'if',
      'you are',
      'I feel I feel',
    ]) {
      const conversation: Conversation = {
        latest: turn(text),
        earlier: [turn('my cat purrs'), turn(text)],
        forgotten: 0,
      };
      for (const choice of [0, 1, 2, 3]) expect(respond(conversation, choice)).not.toMatch(/[{}]/);
    }
  });
});
