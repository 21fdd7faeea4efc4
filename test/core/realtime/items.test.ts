import { describe, expect, it } from 'vitest';
import { History, type Item, playedText } from '../../../src/core/realtime/items.ts';

function said(id: string, text: string): Item {
  const head = { id, object: 'realtime.item', status: 'completed' } as const;
  return { ...head, type: 'message', role: 'user', content: [{ type: 'input_text', text }] };
}

describe('a history', () => {
  it('drops its oldest items beyond 500, or 512 KiB', () => {
    const history = new History();
    for (let at = 0; at < 501; at++) history.add(said(`item_${at}`, 'x'));
    expect(() => history.get('item_0')).toThrow('no item `item_0`');
    expect(history.latest(1_000_000)).toHaveLength(500);
    for (let at = 0; at < 5; at++) history.add(said(`long_${at}`, 'x'.repeat(200_000)));
    expect(history.latest(1_000_000).map(({ id }) => id)).toEqual(['long_3', 'long_4']);
  });

  it('refuses an item that is too long, or there already', () => {
    const history = new History();
    expect(() => history.add(said('one', 'x'.repeat(262_144)))).toThrow('at most');
    history.add(said('one', 'x'));
    expect(() => history.add(said('one', 'y'))).toThrow('already');
    expect(() => history.add(said('two', 'y'), 'none')).toThrow('no item `none`');
  });

  it('gives the latest items that fit, without outputs of calls that do not', () => {
    const history = new History();
    const head = { object: 'realtime.item', status: 'completed' } as const;
    history.add({
      ...head,
      id: 'call',
      type: 'function_call',
      call_id: '1',
      name: 'f',
      arguments: 'x'.repeat(500),
    });
    history.add({ ...head, id: 'output', type: 'function_call_output', call_id: '1', output: '2' });
    history.add(said('last', 'x'));
    expect(history.latest(10_000).map(({ id }) => id)).toEqual(['call', 'output', 'last']);
    expect(history.latest(500).map(({ id }) => id)).toEqual(['last']);
    expect(history.latest(10)).toEqual([]);
  });

  it('adds nothing to speech that its client has cut', () => {
    const history = new History();
    const head = { id: 'a', object: 'realtime.item', type: 'message', role: 'assistant' } as const;
    const item = (transcript: string) =>
      ({ ...head, status: 'in_progress', content: [{ type: 'output_audio', transcript }] }) as const;
    history.add(item(''));
    history.noteSpoken('a', { text: 'One two. ', endMs: 1_000 }, true);
    history.truncate('a', 500);
    expect(history.replace(item('One two. Three.'))).toMatchObject({ content: [{ transcript: 'One' }] });
  });
});

describe('what was heard', () => {
  const clauses = [
    { text: 'One two. ', endMs: 1_000 },
    { text: 'Three four five. ', endMs: 2_500 },
  ];
  it.each([
    [0, ''],
    [499, ''],
    [500, 'One'],
    [1_000, 'One two.'],
    [2_000, 'One two. Three four'],
    [2_500, 'One two. Three four five. '],
    [99_000, 'One two. Three four five. '],
    [-5, ''],
    [Number.NaN, 'One two. Three four five. '],
  ])('after %d ms is %j', (ms, text) => {
    expect(playedText(clauses, ms)).toBe(text);
  });
});
