/** Live transcription in the languages of the samples. Each sends a file as fast as the server takes it. */
import { baseUrl, pythonProgram, quoted } from './quote.ts';
import type { Sample } from './sample.ts';

export interface LiveSample {
  readonly model: string;
  /** Empty: none. */
  readonly language: string;
}

export function liveCode({ model, language }: LiveSample): Sample[] {
  const transcription = { model, ...(language !== '' && { language }) };
  const input = { transcription, turn_detection: { type: 'server_vad' } };
  const session = { type: 'transcription', audio: { input } };
  const event = 'conversation.item.input_audio_transcription';
  return [
    {
      name: 'TypeScript',
      code: [
        'import { readFileSync } from "node:fs";',
        '',
        `const url = ${quoted(`${baseUrl().replace('http', 'ws')}/realtime?intent=transcription`)};`,
        'const key = "openai-insecure-api-key." + process.env.PARLEY_API_KEY;',
        'const socket = new WebSocket(url, ["realtime", key]);',
        'const send = (event: object) => socket.send(JSON.stringify(event));',
        'socket.onopen = () => {',
        `  send({ type: "session.update", session: ${JSON.stringify(session)} });`,
        '  // 16 bits, 24 kHz, one channel',
        '  const samples = readFileSync("speech.pcm");',
        '  for (let at = 0; at < samples.length; at += 4_800) {',
        '    const audio = samples.subarray(at, at + 4_800).toString("base64");',
        '    send({ type: "input_audio_buffer.append", audio });',
        '  }',
        '  // A pause ends a turn; this ends the last one.',
        '  send({ type: "input_audio_buffer.commit" });',
        '};',
        'socket.onmessage = ({ data }) => {',
        '  const event = JSON.parse(data);',
        `  if (event.type === "${event}.delta") process.stdout.write(event.delta);`,
        `  if (event.type !== "${event}.completed") return;`,
        '  console.log("\\n" + event.transcript);',
        '  socket.close();',
        '};',
      ].join('\n'),
    },
    {
      name: 'gRPC in Python',
      code: pythonProgram(
        'audio',
        'live',
        [
          'def requests():',
          `    config = live_pb2.StreamTranscribeConfig(sample_rate=24000${language === '' ? '' : `, language=${quoted(language)}`})`,
          '    config.turn_detection.SetInParent()',
          '    yield live_pb2.StreamTranscribeRequest(config=config)',
          '    with open("speech.pcm", "rb") as file:',
          '        while samples := file.read(4800):',
          '            yield live_pb2.StreamTranscribeRequest(audio=samples)',
          '',
          'transcriptions = transcription_service_pb2_grpc.TranscriptionServiceStub(channel)',
          'for answer in transcriptions.StreamTranscribe(requests(), metadata=key):',
          '    if answer.HasField("turn"):',
          '        print(answer.turn.text)',
        ],
        'transcription',
      ),
    },
  ];
}
