/**
 * Worker thread that decodes one file at a time and cuts it into utterances. A session is a file, a task the next
 * utterance.
 */
import { Decoder, type EncodedFile } from '../../media/decoding/decoder.ts';
import { mayBeCut } from '../../media/formats/cut-file.ts';
import { serveTasks } from '../../threads/serve-tasks.ts';
import { type CutAudio, cutAtSilences } from './utterances.ts';

export interface CutTask {
  /** Given with the first task of a session. */
  readonly open?: EncodedFile & { readonly module: WebAssembly.Module };
}

export interface CutResult {
  /** Undefined at the end of the file. */
  readonly cut: CutAudio | undefined;
  readonly length: FileLength;
  /** Why the file could not be read to its end. */
  readonly failure: string | undefined;
  /** The codec that has no decoder here. */
  readonly undecodable: string | undefined;
}

/** Milliseconds of audio. */
export interface FileLength {
  /** By the file's packets; undefined if they state none. */
  readonly countedMs: number | undefined;
  /** By the headers of a file whose end may be missing. */
  readonly statedMs: number | undefined;
}

interface OpenFile {
  readonly decoder: Decoder;
  readonly length: FileLength;
  readonly cuts: Iterator<CutAudio, void, void>;
}

const files = new Map<number, OpenFile>();

serveTasks<CutTask, CutResult>({
  run({ open }, session) {
    if (open !== undefined) files.set(session, openFile(open.module, open));
    const file = files.get(session);
    if (file === undefined) throw new Error('the session has no file');
    const { value: cut = undefined } = file.cuts.next();
    const { failure, undecodable } = file.decoder;
    return { cut, length: file.length, failure, undecodable };
  },
  transfer: ({ cut }) => (cut?.utterance === undefined ? [] : [cut.utterance.samples.buffer]),
  close: (session) => {
    files.delete(session);
  },
});

function openFile(module: WebAssembly.Module, file: EncodedFile): OpenFile {
  const decoder = new Decoder(module, file);
  const statedMs = mayBeCut(file.bytes, file.container) ? decoder.statedMs() : undefined;
  const length = { countedMs: new Decoder(module, file).countedMs(), statedMs };
  return { decoder, length, cuts: cutAtSilences(decoder.blocks()) };
}
