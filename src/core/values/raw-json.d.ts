/** ECMAScript's proposal "JSON.parse source text access", which TypeScript does not know yet. */
interface RawJson {
  readonly rawJSON: string;
}

interface JSON {
  rawJSON(text: string): RawJson;
  isRawJSON(value: unknown): value is RawJson;
}
