/** What to tell those who ask for what is not there: most of them are a prefix, a method or a slash away from what is. */
import type { HTTPMethod } from 'find-my-way';
import { basePath } from '../../core/base-path.ts';
import { ParleyError } from '../../core/errors.ts';
import { quote } from '../../core/quote.ts';

/** The verbs of the REST paths. */
const verbs = ['GET', 'POST'] as const;
/** Beginnings that base URLs have in place of ours, or twice. */
const prefixPattern = /^(?:\/(?:api|v1))+(?=\/|$)/;

/** Whether anything is served there. */
export type IsServed = (verb: HTTPMethod, path: string) => boolean;

/** The error `not_found`, with the path or the method that was probably meant. */
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
