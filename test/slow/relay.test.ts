/**
 * Parley in front of Parley: the same table, with the same answers and books as Parley alone. `relay-differences.ts`
 * has the necessary differences, with reasons.
 */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Operator } from '../conformance/books.ts';
import type { Case } from '../conformance/case.ts';
import { openGrpc } from '../conformance/grpc.ts';
import { type Observation, observe } from '../conformance/observation.ts';
import { type RelayKind, startRelay } from '../conformance/relay.ts';
import { differences, differencesOf } from '../conformance/relay-differences.ts';
import { openRest } from '../conformance/rest.ts';
import { type RunningTarget, startTarget } from '../conformance/servers.ts';
import { servers, table } from '../conformance/table.ts';
import type { OpenWire, WireClient } from '../conformance/wire.ts';

/** The clients of each outer server call it over the wire over which that one calls the inner server. */
const kinds: readonly (readonly [RelayKind, readonly OpenWire[]])[] = [
  ['remote', [openGrpc, openRest]],
  ['openai', [openRest, openGrpc]],
];

describe.each(servers)('in front of another, with the %s server:', (name) => {
  let alone: Caller;
  let relays: readonly (readonly [RelayKind, Caller])[] = [];

  beforeAll(async () => {
    alone = new Caller(await startTarget(name), [openGrpc, openRest]);
    relays = await Promise.all(
      kinds.map(async ([kind, wires]) => [kind, new Caller(await startRelay(name, kind), wires)] as const),
    );
  });
  afterAll(() => Promise.all([alone.close(), ...relays.map(([, caller]) => caller.close())]));

  const rows = table.filter(({ server, isOfServer }) => server === name && !isOfServer);
  it.each(rows)('$what', async (row) => {
    const [measure, ...seen] = await Promise.all([
      alone.observe(row),
      ...relays.map(([, caller]) => caller.observe(row)),
    ]);
    for (const [index, observation] of seen.entries()) {
      const [kind = 'remote'] = relays[index] ?? [];
      const alone = expected(measure, row, kind);
      expect(comparable(observation), `${kind} engine`).toEqual(comparable(alone));
    }
  });
});

/** Facts of the relay's own: its engines, whose upstream answers, and what it reserves before that upstream refuses. */
const ofRelay = {
  engine: undefined,
  attempts: undefined,
  reserved_nano_credits: undefined,
  returned_units: undefined,
};

function comparable({ answer, records, ...others }: Observation) {
  const compared = records.map((record) => ({ ...(record as object), ...ofRelay }));
  return { ...others, answer: withoutNulls(answer), records: compared };
}

/**
 * An answer without null members in `other`: an inner server sends null for missing members over REST, which gRPC then
 * passes on.
 */
function withoutNulls(answer: unknown): unknown {
  if (Array.isArray(answer)) return answer.map(withoutNulls);
  if (typeof answer !== 'object' || answer === null) return answer;
  const members = Object.entries(answer).flatMap(([name, value]): [string, unknown][] => {
    if (name !== 'other') return [[name, withoutNulls(value)]];
    const others = Object.entries(value).filter(([, other]) => other !== null);
    return others.length > 0 ? [[name, Object.fromEntries(others)]] : [];
  });
  return Object.fromEntries(members);
}

/** Listed differences that did not occur. */
const idle = new Map(differences.map((difference) => [difference, true]));

/** The expected observation of the relay: the observation of Parley alone, with the known differences. */
function expected(measure: Observation, row: Case, kind: RelayKind): Observation {
  return differencesOf(row, kind).reduce((seen, difference) => {
    const changed = difference.change(seen);
    if (!isDeepStrictEqual(changed, seen)) idle.delete(difference);
    return changed;
  }, measure);
}

describe('the differences', () => {
  it('all occur', () => {
    expect([...idle.keys()].map(({ why }) => why)).toEqual([]);
  });
});

/** A server, and its clients over two wires. Another test shows that all six wires are alike. */
class Caller {
  readonly operator: Operator;
  readonly #clients: readonly WireClient[];
  readonly #target: RunningTarget;

  /** @param wires the first of them that a case has is used */
  constructor(target: RunningTarget, wires: readonly OpenWire[]) {
    this.#target = target;
    this.operator = new Operator(target);
    this.#clients = wires.map((open) => open(target));
  }

  observe(row: Case): Promise<Observation> {
    const client = this.#clients.find(({ name }) => !(row.notOn && name in row.notOn));
    if (client === undefined) throw new Error('the case runs on neither wire');
    return observe(row, client, this.operator);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients.map((client) => client.close()), this.operator.close()]);
    await this.#target.close();
  }
}
