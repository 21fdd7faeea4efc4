/** Languages that recognisers often know, by their codes (ISO 639-1). */
const codes = [
  'ar',
  'de',
  'en',
  'es',
  'fr',
  'hi',
  'it',
  'ja',
  'ko',
  'nl',
  'pl',
  'pt',
  'ru',
  'tr',
  'uk',
  'zh',
];
const names = new Intl.DisplayNames(undefined, { type: 'language' });

export const languageOptions: readonly (readonly [code: string, name: string])[] = codes.map((code) => [
  code,
  names.of(code) ?? code,
]);
