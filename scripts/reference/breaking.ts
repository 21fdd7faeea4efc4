/** Finds differences between two OpenAPI documents that break clients of the older one. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { isObject } from '../../src/core/values/json.ts';

/** A request must stay accepted, an answer must stay readable. */
type Direction = 'request' | 'response';

/** @returns a line for each difference */
export function breakingDifferences(before: JsonObject, after: JsonObject): string[] {
  const comparison = new Comparison(before, after);
  for (const [path, item] of entries(before['paths'])) {
    for (const verb of ['get', 'post']) {
      if (isObject(item[verb])) comparison.operation(`${verb.toUpperCase()} ${path}`, [path, verb]);
    }
  }
  return comparison.found;
}

class Comparison {
  readonly found: string[] = [];
  readonly #before: JsonObject;
  readonly #after: JsonObject;
  /** Compared pairs of references, since a schema may contain itself. */
  readonly #seen = new Set<string>();

  constructor(before: JsonObject, after: JsonObject) {
    this.#before = before;
    this.#after = after;
  }

  operation(name: string, [path, verb]: readonly [string, string]): void {
    const old = member(member(member(this.#before, 'paths'), path), verb);
    const { [verb]: next } = member(member(this.#after, 'paths'), path);
    if (!isObject(next)) {
      this.#note(`${name} is gone`);
      return;
    }
    for (const key of ['operationId', 'security']) {
      if (JSON.stringify(old[key]) !== JSON.stringify(next[key])) this.#note(`${name}: ${key} changed`);
    }
    this.#parameters(name, old, next);
    this.#requestBody(name, member(old, 'requestBody'), member(next, 'requestBody'));
    for (const [status, response] of entries(old['responses'])) {
      if (/^2/.test(status))
        this.#response(`${name}: ${status}`, response, member(next, 'responses')[status]);
    }
  }

  #parameters(name: string, old: JsonObject, next: JsonObject): void {
    const before = this.#parametersOf(this.#before, old);
    const after = this.#parametersOf(this.#after, next);
    for (const [key, parameter] of before) {
      const other = after.get(key);
      if (other === undefined) this.#note(`${name}: parameter ${key} is gone`);
      else this.schema(`${name}: ${key}`, [member(parameter, 'schema'), member(other, 'schema')], 'request');
    }
    for (const [key, { required }] of after) {
      if (required === true && before.get(key)?.['required'] !== true) this.#note(`${name}: requires ${key}`);
    }
  }

  #parametersOf(document: JsonObject, { parameters }: JsonObject): Map<string, JsonObject> {
    const list = Array.isArray(parameters) ? parameters : [];
    const resolved = list.map((one) => resolve(document, one));
    return new Map(resolved.map((one) => [`${one['in']} ${one['name']}`, one]));
  }

  #requestBody(name: string, old: JsonObject, next: JsonObject): void {
    if (next['required'] === true && old['required'] !== true) this.#note(`${name}: requires a body`);
    this.#contents(`${name}: body`, old, next, 'request');
  }

  #response(name: string, old: JsonObject, next: JsonValue | undefined): void {
    if (!isObject(next)) {
      this.#note(`${name} is gone`);
      return;
    }
    for (const [header] of entries(old['headers'])) {
      if (!(header in member(next, 'headers'))) this.#note(`${name}: header ${header} is gone`);
    }
    this.#contents(name, old, next, 'response');
  }

  #contents(name: string, old: JsonObject, next: JsonObject, direction: Direction): void {
    for (const [type, content] of entries(old['content'])) {
      const other = member(next, 'content')[type];
      if (!isObject(other)) this.#note(`${name}: ${type} is gone`);
      else this.schema(`${name} ${type}`, [member(content, 'schema'), member(other, 'schema')], direction);
    }
  }

  schema(name: string, pair: readonly [JsonObject, JsonObject], direction: Direction): void {
    const refs = `${direction} ${pair[0]['$ref']} ${pair[1]['$ref']}`;
    if (pair[0]['$ref'] !== undefined && this.#seen.has(refs)) return;
    this.#seen.add(refs);
    const [old, next] = [resolve(this.#before, pair[0]), resolve(this.#after, pair[1])];
    this.#values(name, old, next, direction);
    this.#alternatives(name, old, next, direction);
    const [oldRequired, nextRequired] = [texts(old['required']), texts(next['required'])];
    if (direction === 'request') {
      for (const key of missing(nextRequired, oldRequired)) this.#note(`${name}: requires ${key}`);
      if (next['additionalProperties'] === false && old['additionalProperties'] !== false)
        this.#note(`${name}: refuses unknown members`);
    } else {
      for (const key of missing(oldRequired, nextRequired)) this.#note(`${name}: ${key} may be absent`);
    }
    for (const [key, property] of entries(old['properties'])) {
      const other = member(next, 'properties')[key];
      if (!isObject(other)) this.#note(`${name}: ${key} is gone`);
      else this.schema(`${name}.${key}`, [property, other], direction);
    }
    for (const key of ['items', 'additionalProperties']) {
      const inner = old[key];
      if (isObject(inner)) this.schema(`${name}[]`, [inner, member(next, key)], direction);
    }
  }

  /** Types and allowed values. Answers may have new values of an `enum`. */
  #values(name: string, old: JsonObject, next: JsonObject, direction: Direction): void {
    const [oldTypes, nextTypes] = [texts(old['type']), texts(next['type'])];
    const [narrow, wide] = direction === 'request' ? [oldTypes, nextTypes] : [nextTypes, oldTypes];
    const isRefused = wide.length > 0 && (narrow.length === 0 || missing(narrow, wide).length > 0);
    if (isRefused) this.#note(`${name}: the type changed from ${oldTypes} to ${nextTypes}`);
    if (direction === 'response') return;
    const allowed = texts(next['enum']);
    if (allowed.length > 0 && (old['enum'] === undefined || missing(texts(old['enum']), allowed).length > 0))
      this.#note(`${name}: fewer values are allowed`);
    for (const [limit, sign] of [
      ['maxLength', 1],
      ['maximum', 1],
      ['minItems', -1],
      ['minimum', -1],
    ] as const) {
      const [was, is] = [Number(old[limit] ?? sign * Number.POSITIVE_INFINITY), next[limit]];
      if (is !== undefined && sign * Number(is) < sign * was) this.#note(`${name}: ${limit} is narrower`);
    }
  }

  /** Each alternative of an old request must still exist; each alternative of a new answer must have existed. */
  #alternatives(name: string, old: JsonObject, next: JsonObject, direction: Direction): void {
    if (old['anyOf'] === undefined && next['anyOf'] === undefined) return;
    const [before, after] = [list(old['anyOf'] ?? [old]), list(next['anyOf'] ?? [next])];
    const fits = (one: JsonObject, other: JsonObject) => {
      const trial = new Comparison(this.#before, this.#after);
      for (const pair of this.#seen) trial.#seen.add(pair);
      trial.schema(name, [one, other], direction);
      return trial.found.length === 0;
    };
    const isKept =
      direction === 'request'
        ? before.every((one) => after.some((other) => fits(one, other)))
        : after.every((other) => before.some((one) => fits(one, other)));
    if (!isKept) this.#note(`${name}: the alternatives changed`);
  }

  #note(difference: string): void {
    this.found.push(difference);
  }
}

function resolve(document: JsonObject, json: JsonValue): JsonObject {
  if (!isObject(json)) return {};
  const { $ref: reference, ...rest } = json;
  if (typeof reference !== 'string') return json;
  const keys = reference.replace('#/', '').split('/');
  return { ...resolve(document, keys.reduce<JsonObject>(member, document)), ...rest };
}

function member(json: JsonObject, name: string): JsonObject {
  const value = json[name];
  return isObject(value) ? value : {};
}

function entries(json: JsonValue | undefined): [string, JsonObject][] {
  if (!isObject(json)) return [];
  return Object.entries(json).filter((entry): entry is [string, JsonObject] => isObject(entry[1]));
}

function list(json: JsonValue): JsonObject[] {
  return Array.isArray(json) ? json.filter(isObject) : [];
}

function texts(json: JsonValue | undefined): string[] {
  return json === undefined ? [] : [json].flat().map(String);
}

function missing(wanted: readonly string[], there: readonly string[]): string[] {
  return wanted.filter((one) => !there.includes(one));
}
