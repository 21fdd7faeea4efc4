import flac from 'libflacjs/dist/libflac.js';
import { type Encoder, joinBytes, type OwnedBytes } from './encoder.ts';

const bitsPerSample = 16;
/** libFLAC's default: smaller files than lower levels, and still far faster than speaking. */
const compressionLevel = 5;
/**
 * Short blocks, so that a stream starts early: 144 ms at 8 kHz, 48 ms at 24 kHz. They cost about one percent in size.
 */
const blockSamples = 1152;
const statusOk = 0;

/** A FLAC file at the source's rate. Its header states neither length nor checksum, as in every stream. */
export async function createFlacEncoder(sampleRate: number): Promise<Encoder> {
  if (!flac.isReady()) await new Promise((resolve) => flac.on('ready', resolve));
  return new FlacEncoder(sampleRate);
}

class FlacEncoder implements Encoder {
  readonly #codec: number;
  #written: Uint8Array[] = [];

  constructor(sampleRate: number) {
    this.#codec = flac.create_libflac_encoder(
      sampleRate,
      1,
      bitsPerSample,
      compressionLevel,
      0,
      false,
      blockSamples,
    );
    if (this.#codec === 0) throw new Error(`libFLAC refuses ${sampleRate} Hz`);
    const status = flac.init_encoder_stream(this.#codec, (bytes) => {
      this.#written.push(bytes);
    });
    if (status !== statusOk) {
      this.free();
      throw new Error(`libFLAC cannot start: status ${status}`);
    }
  }

  encode(samples: Int16Array): OwnedBytes {
    const widened = Int32Array.from(samples);
    if (!flac.FLAC__stream_encoder_process_interleaved(this.#codec, widened, widened.length)) {
      throw new Error(`libFLAC cannot encode: state ${flac.FLAC__stream_encoder_get_state(this.#codec)}`);
    }
    return this.#taken();
  }

  finish(): OwnedBytes {
    if (!flac.FLAC__stream_encoder_finish(this.#codec)) throw new Error('libFLAC cannot finish the stream');
    return this.#taken();
  }

  free(): void {
    flac.FLAC__stream_encoder_delete(this.#codec);
  }

  #taken(): OwnedBytes {
    const bytes = joinBytes(this.#written);
    this.#written = [];
    return bytes;
  }
}
