import { ParleyError } from '../../../core/values/errors.ts';
import { StatusError } from '../errors.ts';

/** The parameters that carry an answer's limit to an upstream. */
export type LimitNames = 'max_tokens' | 'max_completion_tokens' | 'both';

const openAiHosts =
  /^api\.openai\.com$|\.openai\.azure\.com$|\.(cognitiveservices|services\.ai)\.azure\.com$/;
/** Models of the hosted OpenAI API with the o200k vocabulary. */
const o200kModels = /^(gpt-4o|chatgpt-4o|gpt-4\.1|gpt-4\.5|gpt-5|o1|o3|o4)/;

/** Whether OpenAI's own models answer: the only ones that take the role `developer` for certain. */
export function isOpenAi(baseUrl: string): boolean {
  return openAiHosts.test(new URL(baseUrl).hostname);
}

/**
 * The default for a server: the old name, which nearly all accept, but OpenAI's reasoning models refuse. All of its models accept
 * the new one.
 */
export function defaultLimitNames(baseUrl: string): LimitNames {
  return isOpenAi(baseUrl) ? 'max_completion_tokens' : 'max_tokens';
}

/**
 * The parameter that carries the limit. If an upstream refuses one that is not configured, the other is tried; the
 * accepted one is kept.
 */
export class LimitName {
  readonly #isConfigured: boolean;
  readonly #onChange: (name: LimitNames) => void;
  #name: LimitNames;

  constructor(configured: LimitNames | undefined, baseUrl: string, onChange: (name: LimitNames) => void) {
    this.#isConfigured = configured !== undefined;
    this.#name = configured ?? defaultLimitNames(baseUrl);
    this.#onChange = onChange;
  }

  withName<T>(ask: (name: LimitNames) => Promise<T>): Promise<T> {
    const name = this.#name;
    const answer = ask(name);
    return this.#isConfigured ? answer : answer.catch((error: unknown) => this.#askAgain(ask, name, error));
  }

  async #askAgain<T>(ask: (name: LimitNames) => Promise<T>, name: LimitNames, error: unknown): Promise<T> {
    if (!isLimitNameRefused(error)) throw error;
    const other = name === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
    const answer = await ask(other);
    if (this.#name === name) this.#onChange(other);
    this.#name = other;
    return answer;
  }
}

function isLimitNameRefused(error: unknown): boolean {
  return error instanceof ParleyError && error.cause instanceof StatusError && error.cause.isLimitNameRefused;
}

/** The vocabulary of a model, if known for certain. */
export function tokenizerOf(baseUrl: string, model: string): 'o200k' | undefined {
  return new URL(baseUrl).hostname === 'api.openai.com' && o200kModels.test(model) ? 'o200k' : undefined;
}
