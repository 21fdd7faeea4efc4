/** ECMAScript's proposal "JSON.parse source text access", which TypeScript does not have yet. */
interface RawJson {
  readonly rawJSON: string;
}

interface JSON {
  rawJSON(text: string): RawJson;
  isRawJSON(value: unknown): value is RawJson;
}
