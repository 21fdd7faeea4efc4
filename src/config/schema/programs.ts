import { group, path, wholeNumber } from './setting-types.ts';

const mebibyte = 1_048_576;

export const programs = group({
  memoryBytesMax: wholeNumber(mebibyte, 1_048_576 * mebibyte)
    .optional()
    .describe(
      'Memory for all programs together, in bytes. For a program that has requests, others that have none are ended, the least recently used first. Default: three quarters of the memory of the machine or its cgroup.',
    ),
  socketDir: path('the path of a folder')
    .optional()
    .describe(
      'The folder of their Unix sockets. Its path may have some 60 characters. Default: `sockets` in the data folder.',
    ),
  llamaServer: path()
    .optional()
    .describe(
      'The program llama-server, for engines of the kind `local`. Default: the one that `parley runtimes install` put into the data folder, else the one in PATH.',
    ),
})
  .prefault({})
  .describe('The programs of all engines of the kinds `process` and `local`.');
