/** Under which names an upstream is told the limit of an answer. */
export type LimitNames = 'max_tokens' | 'max_completion_tokens' | 'both';

/** Hosts whose reasoning models refuse `max_tokens`. All their models take `max_completion_tokens`. */
const newNameHosts =
  /^api\.openai\.com$|\.openai\.azure\.com$|\.(cognitiveservices|services\.ai)\.azure\.com$/;
/** Models of the hosted OpenAI API with the o200k vocabulary. */
const o200kModels = /^(gpt-4o|chatgpt-4o|gpt-4\.1|gpt-4\.5|gpt-5|o1|o3|o4)/;

/** The default for a server: the old name, which nearly all know, unless its host needs the new one. */
export function defaultLimitNames(baseUrl: string): LimitNames {
  return newNameHosts.test(new URL(baseUrl).hostname) ? 'max_completion_tokens' : 'max_tokens';
}

/** The vocabulary of a model, if that is certain. */
export function tokenizerOf(baseUrl: string, model: string): 'o200k' | undefined {
  return new URL(baseUrl).hostname === 'api.openai.com' && o200kModels.test(model) ? 'o200k' : undefined;
}
