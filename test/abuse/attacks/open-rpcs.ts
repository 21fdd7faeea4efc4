import assert from 'node:assert/strict';
import { create, toBinary } from '@bufbuild/protobuf';
import { ServerReflectionRequestSchema } from '../../../gen/grpc/reflection/v1/reflection_pb.ts';
import type { AttackClass } from '../attack.ts';
import { expectStatus } from '../harness/expected.ts';
import { enveloped, field, mebibyte, repeated } from '../harness/messages.ts';
import type { Answered, Target } from '../harness/target.ts';

const paths = {
  reflection: '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  health: '/grpc.health.v1.Health/Check',
};
const [invalidArgument, notFound, resourceExhausted] = [3, 5, 8];
const questions = 1_000;
/**
 * Sends only the start of a message: Node's client loses the status if the server refuses a message that is still being
 * written.
 */
const sentBytes = 30_000;
const answerBytesMax = mebibyte;

function expectSmall(answer: Answered): void {
  assert.ok(answer.body.length <= answerBytesMax, `answered with ${answer.body.length} bytes`);
}

const listServices = { messageRequest: { case: 'listServices', value: '' } } as const;
const reflect = (host: string) =>
  enveloped(
    toBinary(ServerReflectionRequestSchema, create(ServerReflectionRequestSchema, { host, ...listServices })),
  );

async function ask(
  target: Target,
  path: string,
  body: Buffer,
  ...statuses: readonly number[]
): Promise<void> {
  const answer = await target.grpc({ path, body });
  expectStatus(answer, ...statuses);
  expectSmall(answer);
}

export const openRpcs: AttackClass = {
  title: 'Reflection and health, without a key',
  attacks: [
    {
      name: 'reflection with a host of 16 MiB',
      by: 'stranger',
      play: (target) =>
        ask(
          target,
          paths.reflection,
          reflect('h'.repeat(16 * mebibyte)).subarray(0, sentBytes),
          resourceExhausted,
        ),
    },
    {
      name: 'reflection with a host of 60 KiB',
      by: 'stranger',
      play: (target) =>
        ask(target, paths.reflection, reflect('h'.repeat(60 * 1024)), 0, invalidArgument, resourceExhausted),
    },
    {
      name: `${questions} reflection requests in one stream`,
      by: 'stranger',
      connections: 8,
      requests: 8 * questions,
      async play(target) {
        const body = repeated(reflect(''), questions);
        const all = Array.from({ length: 8 }, () =>
          ask(target, paths.reflection, body, 0, resourceExhausted),
        );
        await Promise.all(all);
      },
    },
    {
      name: 'health of a service with a name of 16 MiB',
      by: 'stranger',
      play: (target) =>
        ask(
          target,
          paths.health,
          enveloped(field(1, repeated('s', 16 * mebibyte))).subarray(0, sentBytes),
          resourceExhausted,
        ),
    },
    {
      name: 'health of a service with a name of 1 KiB',
      by: 'stranger',
      play: (target) => ask(target, paths.health, enveloped(field(1, repeated('s', 1024))), notFound),
    },
  ],
};
