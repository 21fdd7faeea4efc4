/** Reports of a session as messages of StreamTranscribe. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type StreamTranscribeResponse,
  StreamTranscribeResponseSchema,
} from '../../../gen/parley/audio/v1/live_pb.ts';
import type { SessionReport } from './reports.ts';

/** Undefined for a report that has no message. */
export function toResponse(report: SessionReport): StreamTranscribeResponse | undefined {
  const event = toEvent(report);
  return event && create(StreamTranscribeResponseSchema, { event });
}

type EventInit = MessageInitShape<typeof StreamTranscribeResponseSchema>['event'];

function toEvent(report: SessionReport): EventInit {
  switch (report.kind) {
    case 'started':
    case 'stopped':
      return { case: report.kind, value: { turn: report.turn, atMs: BigInt(Math.round(report.atMs)) } };
    case 'partial':
      return { case: 'partial', value: report };
    case 'completed':
      return { case: 'turn', value: toTurn(report) };
    case 'failed':
      return { case: 'failure', value: toFailure(report) };
    case 'commit_empty':
      return {
        case: 'failure',
        value: { code: 'invalid_input', message: 'There is no turn to commit. Send audio first.' },
      };
    default:
      return undefined;
  }
}

function toTurn({
  turn,
  id,
  transcript,
  startMs,
  durationMs,
}: Extract<SessionReport, { kind: 'completed' }>) {
  const words = transcript.words.map((word) => ({
    word: word.word,
    start: (startMs + word.startMs) / 1000,
    end: (startMs + word.endMs) / 1000,
    ...(word.probability !== undefined && { probability: word.probability }),
  }));
  return {
    turn,
    text: transcript.text,
    words,
    startMs: BigInt(Math.round(startMs)),
    seconds: durationMs / 1000,
    requestId: id,
  };
}

function toFailure({ turn, id, error }: Extract<SessionReport, { kind: 'failed' }>) {
  return { turn, code: error.code, message: error.message, ...(id !== undefined && { requestId: id }) };
}
