/** The schemas with their comments, which the generated code lacks. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import {
  createFileRegistry,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  type FileRegistry,
  fromBinary,
  hasOption,
} from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { getComments } from '@bufbuild/protoplugin';
import { http } from '../../gen/google/api/annotations_pb.ts';
import { root } from '../setup/run.mjs';
import { groupTitles } from './titles.ts';

export function readSchemas(): FileRegistry {
  const buf = join(root, 'node_modules', '.bin', 'buf');
  const args = ['build', '--path', 'proto/parley', '--as-file-descriptor-set', '-o', '-'];
  const { status, stdout, stderr } = spawnSync(buf, args, { cwd: root, maxBuffer: 64 * 1024 ** 2 });
  if (status !== 0) throw new Error(`buf cannot read the schemas: ${stderr}`);
  return createFileRegistry(fromBinary(FileDescriptorSetSchema, stdout));
}

const packages = Object.keys(groupTitles);

function rankOf(service: DescService): number {
  const rank = packages.indexOf(packageWord(service.file.proto.package));
  return rank < 0 ? packages.length : rank;
}

/** The services of Parley, in the order of their packages. */
export function ownServices(registry: FileRegistry): DescService[] {
  return [...registry.files]
    .flatMap(({ services }) => services)
    .filter(({ typeName }) => typeName.startsWith('parley.'))
    .sort((a, b) => rankOf(a) - rankOf(b) || a.typeName.localeCompare(b.typeName));
}

/** The RPCs that have a REST path. */
export function restMethods(services: readonly DescService[]): DescMethod[] {
  return services.flatMap(({ methods }) => methods).filter((method) => hasOption(method, http));
}

/** The comment before a declaration: one line for each paragraph, with an empty line between them. */
export function commentOf(desc: DescField | DescMessage | DescMethod | DescService): string {
  const { leading = '' } = getComments(desc);
  const paragraphs = leading.split(/\n\s*\n/).map((paragraph) => paragraph.trim().replace(/\s*\n\s*/g, ' '));
  return paragraphs.filter((paragraph) => paragraph !== '').join('\n\n');
}

/** The word for a package, such as `chat` for `parley.chat.v1` and everything in it. */
export function packageWord(name: string): string {
  return name.split('.')[1] ?? '';
}

export function capitalised(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
