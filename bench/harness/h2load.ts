/** Load from nghttp2's `h2load`, over HTTP/1.1. All requests of a run are alike, and every answer is checked. */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inFolder } from './folder.ts';

export interface LoadRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Is sent with POST. Default: GET */
  readonly body?: string;
  /**
   * Size of the body of each answer. An answer that is cut short or is an error has another size. Without it, answers are not checked, and
   * those that are errors are left out.
   */
  readonly answerBytes?: number | undefined;
}

export interface Load {
  readonly connections: number;
  /** Pause before each connection after the first. Default: 0 */
  readonly connectEveryMs?: number;
  /** The run ends after so many requests or, with requests cut short, after a time. */
  readonly until: { readonly calls: number } | { readonly ms: number };
}

/** An answered request. */
export interface Call {
  /** Since 1970. */
  readonly startedAtMs: number;
  readonly ms: number;
}

/** @returns the answered requests. Throws where an answer is not the expected one. */
export function h2load(request: LoadRequest, load: Load): Promise<Call[]> {
  return inFolder(async (folder) => {
    const log = join(folder, 'log');
    const { stdout } = await promisify(execFile)('h2load', [
      ...argumentsOf(load),
      `--log-file=${log}`,
      ...bodyArguments(request, folder),
      ...Object.entries(request.headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
      '--h1',
      request.url,
    ]);
    check(stdout, request, load);
    return readFileSync(log, 'utf8').trimEnd().split('\n').flatMap(callOf);
  });
}

function argumentsOf({ connections, connectEveryMs = 0, until }: Load): string[] {
  const rate = connectEveryMs === 0 ? [] : ['-r', '1', `--rate-period=${connectEveryMs}ms`];
  const end = 'calls' in until ? ['-n', `${until.calls}`] : ['-D', `${until.ms}ms`];
  return ['-c', `${connections}`, ...rate, ...end];
}

function bodyArguments({ body }: LoadRequest, folder: string): string[] {
  if (body === undefined) return [];
  const path = join(folder, 'body');
  writeFileSync(path, body);
  return ['-d', path];
}

function check(printed: string, { url, answerBytes }: LoadRequest, { connections, until }: Load): void {
  const read = (pattern: RegExp) => Number(pattern.exec(printed)?.[1]);
  if (answerBytes === undefined) return;
  const [succeeded, bytes] = [read(/ (\d+) succeeded/), read(/\((\d+)\) data/)];
  // Time may cut off the last answer of each connection.
  const [calls, cutMax] = 'calls' in until ? [until.calls, 0] : [succeeded, connections];
  const isWhole = bytes >= calls * answerBytes && bytes <= (calls + cutMax) * answerBytes;
  if (succeeded === calls && read(/ (\d+) 2xx/) === calls && isWhole) return;
  const summary = printed.slice(Math.max(0, printed.indexOf('finished in')));
  throw new Error(`${url}: ${calls} answers of ${answerBytes} bytes were expected.\n${summary}`);
}

/** A line has the start in µs, the status and the duration in µs. */
function callOf(line: string): Call[] {
  const [startedAtUs = 0, status, us = 0] = line.split('\t').map(Number);
  return status === 200 ? [{ startedAtMs: startedAtUs / 1000, ms: us / 1000 }] : [];
}
