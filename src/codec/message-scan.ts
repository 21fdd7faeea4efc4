/** Counts the elements and levels of an encoded message, and finds its unknown fields, without decoding it. */
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import type { ElementLimits, Excess, RequestLimits } from './json-scan.ts';
import { unknownNumber } from './unknown-fields.ts';

interface Encoding {
  readonly wireType: WireType;
  readonly message: MessageForm | undefined;
  /** Minimum bytes of a list element if the list may be packed; else undefined. */
  readonly packedBytes: number | undefined;
  /** A single value costs a fraction of a message or an element, and JSON in a message has three of them for each member. */
  readonly elements: number;
  readonly isEntry?: boolean;
}

interface FieldForm extends Encoding {
  /** The same as in JSON. */
  readonly name: string;
}

const elementsOfSingle = 0.25;

/** Strict for a request that refuses unknown fields. */
type ScanLimits = ElementLimits & Partial<RequestLimits>;

type MessageForm = ReadonlyMap<number, FieldForm>;

/**
 * Returns the limit that the message exceeds; undefined if none.
 * @throws if it is malformed; `invalid_parameter` for an unknown field if the limits are strict
 */
export function scanMessage(schema: DescMessage, bytes: Uint8Array, limits: ScanLimits): Excess | undefined {
  const scan = new MessageScan(new BinaryReader(bytes), limits);
  return scan.read(formOf(schema), bytes.length);
}

class MessageScan {
  readonly #reader: BinaryReader;
  readonly #limits: ScanLimits;
  readonly #path: string[] = [];
  #elements = 0;
  #levels = 0;

  constructor(reader: BinaryReader, limits: ScanLimits) {
    this.#reader = reader;
    this.#limits = limits;
  }

  /** Reads the fields of a message up to `end`, or of a group up to its end. */
  read(form: MessageForm, end: number, group?: number): Excess | undefined {
    if (++this.#levels > this.#limits.levelsMax) return 'levelsMax';
    const { membersMax = Number.POSITIVE_INFINITY } = this.#limits;
    let entries = 0;
    while (this.#reader.pos < end) {
      const [number, wireType] = this.#reader.tag();
      if (wireType === WireType.EndGroup) {
        if (number !== group) throw new Error('a group ends that has not begun');
        break;
      }
      if (form.get(number)?.isEntry && ++entries > membersMax) return 'membersMax';
      const excess = this.#skip(form.get(number), number, wireType);
      if (excess !== undefined) return excess;
    }
    this.#levels--;
    return undefined;
  }

  #readWithin(name: string, form: MessageForm, end: number): Excess | undefined {
    this.#path.push(name);
    const excess = this.read(form, end);
    this.#path.pop();
    return excess;
  }

  #skip(field: FieldForm | undefined, number: number, wireType: WireType): Excess | undefined {
    if (field === undefined && this.#limits.isStrict) throw unknownNumber(this.#path.join('.'), number);
    this.#elements += field?.elements ?? 1;
    if (this.#elements > this.#limits.elementsMax) return 'elementsMax';
    const isPacked = wireType === WireType.LengthDelimited && field?.packedBytes !== undefined;
    // Decoders differ on a field of another type, so they could read something else.
    if (field !== undefined && wireType !== field.wireType && !isPacked)
      throw new Error('a field has another type');
    if (wireType === WireType.StartGroup) return this.read(noFields, this.#reader.len, number);
    if (wireType !== WireType.LengthDelimited) {
      this.#reader.skip(wireType, number);
      return undefined;
    }
    const length = this.#reader.uint32();
    const end = this.#reader.pos + length;
    if (end > this.#reader.len) throw new RangeError('a field is cut short');
    if (field?.message) return this.#readWithin(field.name, field.message, end);
    this.#reader.pos = end;
    if (isPacked) this.#elements += length / (field?.packedBytes ?? 1);
    return this.#elements > this.#limits.elementsMax ? 'elementsMax' : undefined;
  }
}

const noFields: MessageForm = new Map();
const forms = new Map<DescMessage, MessageForm>();

function formOf(message: DescMessage): MessageForm {
  const known = forms.get(message);
  if (known) return known;
  const form = new Map<number, FieldForm>();
  // A message may contain itself: the map gets its entry before the fields do.
  forms.set(message, form);
  for (const field of message.fields) form.set(field.number, { name: field.jsonName, ...encodingOf(field) });
  return form;
}

function encodingOf(field: DescField): Encoding {
  switch (field.fieldKind) {
    case 'message':
      return delimited(formOf(field.message));
    case 'map':
      return { ...delimited(entryForm(field)), isEntry: true };
    case 'list':
      return field.listKind === 'message'
        ? delimited(formOf(field.message))
        : scalarForm(field.listKind === 'scalar' ? field.scalar : ScalarType.INT32, true);
    case 'scalar':
      return scalarForm(field.scalar, false);
    case 'enum':
      return scalarForm(ScalarType.INT32, false);
  }
}

/** The form of the entries of a map: the key has number 1, the value 2. */
function entryForm(field: DescField & { readonly fieldKind: 'map' }): MessageForm {
  const value =
    field.mapKind === 'message'
      ? delimited(formOf(field.message))
      : scalarForm(field.mapKind === 'scalar' ? field.scalar : ScalarType.INT32, false);
  return new Map([
    [1, { name: 'key', ...scalarForm(field.mapKey, false) }],
    [2, { name: 'value', ...value }],
  ]);
}

function delimited(message: MessageForm | undefined): Encoding {
  return { wireType: WireType.LengthDelimited, message, packedBytes: undefined, elements: 1 };
}

function scalarForm(scalar: ScalarType, isList: boolean): Encoding {
  const [wireType, bytes] = wireTypeOf(scalar);
  const packedBytes = isList && wireType !== WireType.LengthDelimited ? bytes : undefined;
  return { wireType, message: undefined, packedBytes, elements: isList ? 1 : elementsOfSingle };
}

/** The type of a scalar on the wire, and the minimum bytes that it needs. */
function wireTypeOf(scalar: ScalarType): readonly [WireType, number] {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return [WireType.LengthDelimited, 0];
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return [WireType.Bit64, 8];
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return [WireType.Bit32, 4];
    default:
      return [WireType.Varint, 1];
  }
}
