/** The documents in `reference/`, from which the pages are made. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Api, readApi } from '../../console/docs/document.ts';
import type { RpcDocument } from '../../console/docs/rpc-document.ts';
import { root } from '../setup/run.mjs';

export function readApiDocument(): Api {
  return readApi(readJson<Parameters<typeof readApi>[0]>('openapi'));
}

export function readRpcDocument(): RpcDocument {
  return readJson<RpcDocument>('rpcs');
}

function readJson<T>(name: string): T {
  return JSON.parse(readFileSync(join(root, 'reference', `${name}.json`), 'utf8')) as T;
}
