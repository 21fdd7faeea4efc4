/** Words `not_found`. Most wrong paths differ from a served one by a prefix, a method or a slash. */
import type { HTTPMethod } from 'find-my-way';
import { basePath } from '../../core/base-path.ts';
import { ParleyError } from '../../core/errors.ts';
import { quote } from '../../core/quote.ts';

/** The verbs of the REST paths. */
const verbs = ['GET', 'POST'] as const;
/** Prefixes that clients send in place of the base path, or twice. */
const prefixPattern = /^(?:\/(?:api|v1))+(?=\/|$)/;

/** Whether there is a route for the verb and path. */
export type IsServed = (verb: HTTPMethod, path: string) => boolean;

/** The error `not_found`, with the path or the method that the client probably meant. */
export function wrongPath(path: string, isServed: IsServed): ParleyError {
  return new ParleyError('not_found', { message: adviceFor(path, isServed) });
}

function adviceFor(path: string, isServed: IsServed): string {
  const served = verbsOf(path, isServed);
  if (served.length > 0) return `There is nothing at this path for this method. Use ${served.join(' or ')}.`;
  const meant = basePath + withoutSlash(path).replace(prefixPattern, '');
  if (verbsOf(meant, isServed).length === 0) {
    return `There is nothing at this path. The API is under ${basePath}; docs/rest.md lists its paths.`;
  }
  const advice = `There is nothing at this path. Send the request to ${quote(meant)}.`;
  return path.startsWith(`${basePath}/`) ? advice : `${advice} In an SDK, end the base URL in ${basePath}.`;
}

function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

function verbsOf(path: string, isServed: IsServed): readonly string[] {
  return verbs.filter((verb) => isServed(verb, path));
}
