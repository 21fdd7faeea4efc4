/** Speech and transcription in the languages of the samples. */
import {
  baseUrl,
  goProgram,
  openAiPython,
  openAiTypeScript,
  pythonProgram,
  quoted,
  shellWord,
} from './quote.ts';
import type { Sample } from './sample.ts';

export interface SpeechSample {
  readonly model: string;
  readonly input: string;
  readonly voice: string;
  readonly format: string;
}

export function speechCode({ model, input, voice, format }: SpeechSample): Sample[] {
  const file = `speech.${format === 'opus' ? 'ogg' : format}`;
  const body = { model, input, voice, response_format: format };
  const fields = [
    `model=${quoted(model)}`,
    `input=${quoted(input)}`,
    `voice=${quoted(voice)}`,
    `response_format=${quoted(format)}`,
  ];
  return [
    {
      name: 'curl',
      code: [
        `curl ${baseUrl()}/audio/speech -o ${file} \\`,
        '  -H "Authorization: Bearer $PARLEY_API_KEY" \\',
        '  -H "Content-Type: application/json" \\',
        `  -d ${shellWord(JSON.stringify(body))}`,
      ].join('\n'),
    },
    {
      name: 'TypeScript',
      code: [
        'import { writeFile } from "node:fs/promises";',
        ...openAiTypeScript(),
        `const speech = await client.audio.speech.create(${JSON.stringify(body, null, 2)});`,
        `await writeFile(${quoted(file)}, Buffer.from(await speech.arrayBuffer()));`,
      ].join('\n'),
    },
    {
      name: 'Python',
      code: [
        ...openAiPython(),
        'with client.audio.speech.with_streaming_response.create(',
        ...fields.map((field) => `    ${field},`),
        ') as speech:',
        `    speech.stream_to_file(${quoted(file)})`,
      ].join('\n'),
    },
    { name: 'gRPC in Go', code: speechInGo({ model, input, voice, format }, file) },
    {
      name: 'gRPC in Python',
      code: pythonProgram('speech', 'speech', [
        `request = speech_pb2.SynthesizeSpeechRequest(${fields.join(', ')})`,
        'speech = speech_service_pb2_grpc.SpeechServiceStub(channel)',
        `with open(${quoted(file)}, "wb") as file:`,
        '    for part in speech.SynthesizeSpeech(request, metadata=key):',
        '        file.write(part.audio)',
      ]),
    },
  ];
}

function speechInGo({ model, input, voice, format }: SpeechSample, file: string): string {
  return goProgram(
    'speech',
    ['io'],
    [
      `model, input, voice, format := ${[model, input, voice, format].map(quoted).join(', ')}`,
      'parts, err := speechv1.NewSpeechServiceClient(conn).SynthesizeSpeech(ctx, &speechv1.SynthesizeSpeechRequest{',
      '\tModel: &model, Input: &input, Voice: &voice, ResponseFormat: &format,',
      '})',
      'check(err)',
      `file, err := os.Create(${quoted(file)})`,
      'check(err)',
      'defer file.Close()',
      'for {',
      '\tpart, err := parts.Recv()',
      '\tif err == io.EOF {',
      '\t\treturn',
      '\t}',
      '\tcheck(err)',
      '\t_, err = file.Write(part.Audio)',
      '\tcheck(err)',
      '}',
    ],
  );
}

export interface TranscriptionSample {
  readonly model: string;
  readonly file: string;
}

export function transcriptionCode({ model, file }: TranscriptionSample): Sample[] {
  return [
    {
      name: 'curl',
      code: [
        `curl ${baseUrl()}/audio/transcriptions \\`,
        '  -H "Authorization: Bearer $PARLEY_API_KEY" \\',
        `  -F ${shellWord(`file=@${file}`)} -F ${shellWord(`model=${model}`)} \\`,
        "  -F response_format=verbose_json -F 'timestamp_granularities[]=word'",
      ].join('\n'),
    },
    {
      name: 'TypeScript',
      code: [
        'import { createReadStream } from "node:fs";',
        ...openAiTypeScript(),
        'const transcript = await client.audio.transcriptions.create({',
        `  file: createReadStream(${quoted(file)}),`,
        `  model: ${quoted(model)},`,
        '  response_format: "verbose_json",',
        '  timestamp_granularities: ["word", "segment"],',
        '});',
        'console.log(transcript.text);',
      ].join('\n'),
    },
    {
      name: 'Python',
      code: [
        ...openAiPython(),
        `with open(${quoted(file)}, "rb") as file:`,
        '    transcript = client.audio.transcriptions.create(',
        `        file=file, model=${quoted(model)}, response_format="verbose_json",`,
        '        timestamp_granularities=["word", "segment"],',
        '    )',
        'print(transcript.text)',
      ].join('\n'),
    },
    {
      name: 'gRPC in Go',
      code: goProgram(
        'audio',
        ['fmt'],
        [
          `content, err := os.ReadFile(${quoted(file)})`,
          'check(err)',
          'request := &audiov1.CreateTranscriptionRequest{File: content, TimestampGranularities: []string{"word", "segment"}}',
          'answer, err := audiov1.NewTranscriptionServiceClient(conn).CreateTranscription(ctx, request)',
          'check(err)',
          'fmt.Println(answer.Transcript.Text)',
        ],
      ),
    },
    {
      name: 'gRPC in Python',
      code: pythonProgram('audio', 'transcription', [
        `with open(${quoted(file)}, "rb") as file:`,
        '    request = transcription_pb2.CreateTranscriptionRequest(',
        '        file=file.read(), timestamp_granularities=["word", "segment"]',
        '    )',
        'transcriptions = transcription_service_pb2_grpc.TranscriptionServiceStub(channel)',
        'print(transcriptions.CreateTranscription(request, metadata=key).transcript.text)',
      ]),
    },
  ];
}
