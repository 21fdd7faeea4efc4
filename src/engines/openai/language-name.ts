/** Upstreams name a language by its tag or in English; clients of the API expect `english`. */

/** Made when it is first asked for: it takes longer than all else here. */
let names: Intl.DisplayNames | undefined;

/** The English name, lower case, of a tag such as `en` or `en-US`, or of a name; undefined where it is neither. */
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
