import type { AttackClass } from '../attack.ts';
import { bodiesWithoutKey } from './bodies-without-key.ts';
import { chatBodies } from './chat-bodies.ts';
import { forms } from './forms.ts';
import { grpcErrors } from './grpc-errors.ts';
import { heldMemory } from './held-memory.ts';
import { http1 } from './http1.ts';
import { http2 } from './http2.ts';
import { live } from './live.ts';
import { liveCalls } from './live-calls.ts';
import { media } from './media.ts';
import { openRpcs } from './open-rpcs.ts';
import { products } from './products.ts';
import { signIns } from './sign-in.ts';
import { storeTroubles } from './store.ts';
import { upstreams } from './upstreams.ts';

export const attackClasses: readonly AttackClass[] = [
  bodiesWithoutKey,
  heldMemory,
  openRpcs,
  http1,
  http2,
  grpcErrors,
  forms,
  chatBodies,
  products,
  media,
  live,
  liveCalls,
  upstreams,
  signIns,
  storeTroubles,
];
