/** Everything that commands need to call a server. Loaded on demand, since `--help` needs none of it. */
export { toJson } from '@bufbuild/protobuf';
export { SpokenTurnSchema } from '../../../gen/parley/audio/v1/live_pb.ts';
export { TranscriptionService } from '../../../gen/parley/audio/v1/transcription_service_pb.ts';
export { CatalogService } from '../../../gen/parley/catalog/v1/catalog_service_pb.ts';
export { ChatService } from '../../../gen/parley/chat/v1/chat_service_pb.ts';
export { SpeechService } from '../../../gen/parley/speech/v1/speech_service_pb.ts';
export { responseBodyCodec } from '../../codec/http-rule.ts';
export { clientServer } from './chosen-server.ts';
export { openLiveAudio } from './live-audio.ts';
export { openGrpc } from './server-connection.ts';
export { openSpeaker } from './speaker.ts';
export { Talk } from './talk.ts';
export { requestTranscript } from './transcript-request.ts';
