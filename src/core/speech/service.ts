import { create } from '@bufbuild/protobuf';
import {
  type SynthesizeSpeechRequest,
  type SynthesizeSpeechResponse,
  SynthesizeSpeechResponseSchema,
} from '../../../gen/parley/speech/v1/speech_pb.ts';
import type { Call } from '../access/call.ts';
import { type FairUseRules, speechUnits, unitsPerMonth } from '../billing/fair-use.ts';
import { type Catalog, unknownModel } from '../catalog/catalog.ts';
import { voicesOf } from '../catalog/views.ts';
import {
  type AudioFormat,
  audioFormats,
  contentType as contentTypeOf,
  type SpeechRequest,
} from '../entities/engine.ts';
import type { SpeechModel } from '../entities/model.ts';
import { type Idempotency, messageForm } from '../idempotency/idempotency.ts';
import { bounds } from '../values/bounds.ts';
import { ParleyError } from '../values/errors.ts';

/** Bytes of audio in one part, so that every transport's messages stay small. */
const partBytesMax = 64 * 1024;

interface SpeechJob extends SpeechRequest {
  readonly model: SpeechModel;
  readonly characters: number;
}

export interface AudioDeps {
  readonly catalog: Catalog;
  readonly fairUse: FairUseRules;
  readonly idempotency: Idempotency;
}

export class SpeechOperations {
  readonly #deps: AudioDeps;

  constructor(deps: AudioDeps) {
    this.#deps = deps;
  }

  synthesizeSpeech(request: SynthesizeSpeechRequest, call: Call): AsyncGenerator<SynthesizeSpeechResponse> {
    call.metering.noteModel(request.model);
    const repeatable = { answerForm: messageForm(SynthesizeSpeechResponseSchema), request, call };
    return this.#deps.idempotency.runParts(repeatable, () => this.#speak(request, call));
  }

  async *#speak(request: SynthesizeSpeechRequest, call: Call): AsyncGenerator<SynthesizeSpeechResponse> {
    const { metering, caller, signal } = call;
    const job = this.#check(request);
    await job.model.engine.check(job, signal);
    const { fairUse } = this.#deps;
    const units = speechUnits(fairUse, job.characters);
    const limitUnits = unitsPerMonth(fairUse, caller.entitlement);
    await metering.reserve({ characters: job.characters, fairUse: { units, limitUnits } });
    const output = job.model.engine.synthesize(job, signal);
    let contentType: string | undefined = contentTypeOf(job.format);
    for await (const bytes of output.audio) {
      for (const audio of cut(bytes)) {
        metering.used.audioMsOut = output.durationMs();
        yield create(SynthesizeSpeechResponseSchema, { audio, ...(contentType && { contentType }) });
        contentType = undefined;
      }
    }
    metering.used.audioMsOut = output.durationMs();
    if (contentType !== undefined) {
      throw new ParleyError('upstream_error', { cause: new Error('the engine gave no audio') });
    }
  }

  /** In the order of the contract's table 7.1. */
  #check(request: SynthesizeSpeechRequest): SpeechJob {
    if (request.model === undefined) throw new ParleyError('missing_model', { param: 'model' });
    if (request.input === undefined) throw new ParleyError('missing_input', { param: 'input' });
    const { input } = request;
    refuseBlank(request);
    const model = this.#deps.catalog.speechModel(request.model);
    if (model === undefined) throw unknownModel('speech', request.model);
    const characters = countCharacters(input);
    const { maxLength } = bounds.speechInput;
    if (characters > maxLength) {
      throw new ParleyError('input_too_long', {
        message: `\`input\` has ${characters} characters; at most ${maxLength} are spoken in one request.`,
        param: 'input',
      });
    }
    const format = checkFormat(request.responseFormat ?? 'mp3');
    const voice = chooseVoice(model, request.voice);
    return { model, input, characters, format, voice };
  }
}

/** A blank format is unsupported, and is refused later. */
function refuseBlank({ model, input, voice }: SynthesizeSpeechRequest): void {
  const texts = { model, input, voice };
  const blank = Object.entries(texts).find(([, text]) => text?.trim() === '');
  if (blank === undefined) return;
  const [param] = blank;
  throw new ParleyError('invalid_input', {
    message: `\`${param}\` is blank. ${param === 'input' ? 'Send text to speak.' : 'Send a value or leave it out.'}`,
    param,
  });
}

/** Counts code points, not UTF-16 units: an emoji is one, not two. */
function countCharacters(text: string): number {
  return text.replace(/[\ud800-\udbff][\udc00-\udfff]/g, '_').length;
}

function checkFormat(name: string): AudioFormat {
  const format = audioFormats.find((known) => known === name);
  if (format !== undefined) return format;
  throw new ParleyError('unsupported_response_format', {
    message: `\`response_format\` must be one of ${audioFormats.join(', ')}.`,
    param: 'response_format',
  });
}

function chooseVoice(model: SpeechModel, wanted: string | undefined): string {
  const { voices, defaultVoice } = voicesOf(model);
  const voice = wanted ?? defaultVoice;
  if (!voices.some(({ id }) => id === voice)) {
    throw new ParleyError('unknown_voice', {
      message: `\`${model.id}\` has no such voice. It has: ${voices.map(({ id }) => id).join(', ')}.`,
      param: 'voice',
    });
  }
  return model.voiceNames?.get(voice) ?? voice;
}

function* cut(bytes: Uint8Array): Generator<Uint8Array> {
  for (let offset = 0; offset < bytes.length; offset += partBytesMax) {
    yield bytes.subarray(offset, offset + partBytesMax);
  }
}
