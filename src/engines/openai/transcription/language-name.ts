/** Created at first use, because that is slow. */
let names: Intl.DisplayNames | undefined;

/**
 * The lower-case English name of a language, as clients of the OpenAI API expect it. Upstreams send a tag such as `en`
 * or `en-US`, or an English name. Undefined for anything else.
 */
export function languageName(written: string | undefined): string | undefined {
  const text = written?.trim().toLowerCase().replaceAll('_', '-');
  if (text === undefined || !/^\p{L}[\p{L}\p{M} '(),-]{1,63}$/u.test(text)) return undefined;
  return /^[a-z]{2,3}(-|$)/.test(text) ? (nameOfTag(text) ?? text) : text;
}

function nameOfTag(tag: string): string | undefined {
  try {
    names ??= new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' });
    return names.of(new Intl.Locale(tag).language)?.toLowerCase();
  } catch {
    return undefined;
  }
}
