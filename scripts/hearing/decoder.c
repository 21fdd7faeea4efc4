/*
 * The decoder as a WebAssembly module: FFmpeg's libraries, with what the ten formats of the contract need.
 *
 * An instance decodes one file: open(), then read() until it returns 0. It reads the file through the host's read_at only.
 */
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/opt.h>
#include <libswresample/swresample.h>
#include <stdlib.h>

#include "export.h"

enum {
  outputRate = 16000,
  /* read() returns after so many samples, or at the end. */
  blockSamples = outputRate,
  readBytes = 32768,
  /* No packet of a recording is longer. */
  packetSecondsMax = 30,
};

void *EXPORT(allocate)(size_t bytes) { return malloc(bytes); }

/* Copies up to `length` bytes at `offset` of the file to `pointer`. Returns how many; 0 at the end of the file. */
__attribute__((import_module("env"), import_name("read_at"))) extern int readAt(void *pointer, int length, double offset);

static AVFormatContext *file;
static AVStream *stream;
static AVCodecContext *codec;
static AVPacket *packet;
static AVFrame *frame;
static int64_t fileBytes, position;

static int readFile(void *unused, uint8_t *buffer, int length) {
  int count = readAt(buffer, length, (double)position);
  if (count <= 0) return AVERROR_EOF;
  position += count;
  return count;
}

static int64_t seekFile(void *unused, int64_t offset, int whence) {
  if (whence == AVSEEK_SIZE) return fileBytes;
  if (whence == SEEK_CUR) offset += position;
  if (whence == SEEK_END) offset += fileBytes;
  if (offset < 0) return AVERROR(EINVAL);
  return position = offset;
}

static int openFile(char const *name) {
  AVInputFormat const *format = av_find_input_format(name);
  if (format == NULL) return AVERROR_DEMUXER_NOT_FOUND;
  file = avformat_alloc_context();
  if (file == NULL) return AVERROR(ENOMEM);
  file->pb = avio_alloc_context(av_malloc(readBytes), readBytes, 0, NULL, readFile, NULL, seekFile);
  if (file->pb == NULL) return AVERROR(ENOMEM);
  int result = avformat_open_input(&file, NULL, format, NULL);
  return result < 0 ? result : avformat_find_stream_info(file, NULL);
}

/* libavformat may take video of an MPEG program stream for audio, as its decoders are not there; the id of a stream says video. */
static int isAudio(AVStream const *candidate) {
  int isProgramVideo = strcmp(file->iformat->name, "mpeg") == 0 && candidate->id >= 0x1e0 && candidate->id <= 0x1ef;
  return candidate->codecpar->codec_type == AVMEDIA_TYPE_AUDIO && !isProgramVideo;
}

/* Chooses the first stream of audio that can be decoded, or the first of audio if none can be. */
static int openStream(void) {
  AVCodec const *kind = NULL;
  for (unsigned index = 0; index < file->nb_streams; index++) {
    AVStream *candidate = file->streams[index];
    if (!isAudio(candidate) || kind != NULL) continue;
    kind = avcodec_find_decoder(candidate->codecpar->codec_id);
    if (stream == NULL || kind != NULL) stream = candidate;
  }
  for (unsigned index = 0; index < file->nb_streams; index++)
    if (file->streams[index] != stream) file->streams[index]->discard = AVDISCARD_ALL;
  if (stream == NULL) return AVERROR_STREAM_NOT_FOUND;
  if (kind == NULL) return AVERROR_DECODER_NOT_FOUND;
  codec = avcodec_alloc_context3(kind);
  packet = av_packet_alloc();
  frame = av_frame_alloc();
  if (codec == NULL || packet == NULL || frame == NULL) return AVERROR(ENOMEM);
  int result = avcodec_parameters_to_context(codec, stream->codecpar);
  codec->pkt_timebase = stream->time_base;
  return result < 0 ? result : avcodec_open2(codec, kind, NULL);
}

/* FFmpeg reads the header of a RIFX file as big-endian, but not its samples. */
static void swapSamples(void) {
  char tag[4];
  if (readAt(tag, sizeof tag, 0) != sizeof tag || memcmp(tag, "RIFX", sizeof tag) != 0) return;
  static enum AVCodecID const bigEndian[][2] = {
    {AV_CODEC_ID_PCM_S16LE, AV_CODEC_ID_PCM_S16BE},
    {AV_CODEC_ID_PCM_S24LE, AV_CODEC_ID_PCM_S24BE},
    {AV_CODEC_ID_PCM_S32LE, AV_CODEC_ID_PCM_S32BE},
    {AV_CODEC_ID_PCM_F32LE, AV_CODEC_ID_PCM_F32BE},
    {AV_CODEC_ID_PCM_F64LE, AV_CODEC_ID_PCM_F64BE},
  };
  AVCodecParameters *parameters = file->streams[0]->codecpar;
  for (unsigned index = 0; index < FF_ARRAY_ELEMS(bigEndian); index++)
    if (parameters->codec_id == bigEndian[index][0]) {
      parameters->codec_id = bigEndian[index][1];
      return;
    }
}

/*
 * Opens a file of so many bytes, in a format by FFmpeg's name: flac, mp3, mov, mpeg, ogg, wav or matroska. Returns 0, or a
 * negative number on failure.
 */
int EXPORT(open)(double bytes, char const *format) {
  av_log_set_level(AV_LOG_QUIET);
  fileBytes = (int64_t)bytes;
  int result = openFile(format);
  if (result < 0) return result;
  if (file->nb_streams == 1) swapSamples();
  return openStream();
}

/* After open() has failed: the name of the known codec that has no decoder here, a C string. NULL after other failures. */
char const *EXPORT(undecodable)(void) {
  enum AVCodecID codecId = stream == NULL ? AV_CODEC_ID_NONE : stream->codecpar->codec_id;
  return codecId == AV_CODEC_ID_NONE || avcodec_find_decoder(codecId) != NULL ? NULL : avcodec_get_name(codecId);
}

/*
 * Seconds that the stream states, or else the file, or -1. A guess from the bitrate is no statement, nor are all ones, which
 * ISO/IEC 14496-12 (8.4.2) gives to an unknown duration.
 */
double EXPORT(duration)(void) {
  if (file->duration_estimation_method == AVFMT_DURATION_FROM_BITRATE || stream->duration == UINT32_MAX) return -1;
  if (stream->duration != AV_NOPTS_VALUE) return stream->duration * av_q2d(stream->time_base);
  return file->duration == AV_NOPTS_VALUE ? -1 : file->duration / (double)AV_TIME_BASE;
}

/*
 * A duration or a distance of packets in seconds, or 0 if no packet can have it. RFC 6716 bounds those of Opus: the headers in the
 * middle of a chained Ogg arrive as packets of a second.
 */
static double possible(int64_t ticks) {
  double seconds = ticks * av_q2d(stream->time_base);
  double max = stream->codecpar->codec_id == AV_CODEC_ID_OPUS ? 0.12 : packetSecondsMax;
  return seconds > 0 && seconds <= max ? seconds : 0;
}

/* Seconds of the packet that the decoder is told to leave out, such as the delay of an encoder. */
static double skippedSeconds(void) {
  size_t bytes = 0;
  uint8_t const *samples = av_packet_get_side_data(packet, AV_PKT_DATA_SKIP_SAMPLES, &bytes);
  int rate = stream->codecpar->sample_rate;
  return bytes < 8 || rate <= 0 ? 0 : ((double)AV_RL32(samples) + AV_RL32(samples + 4)) / rate;
}

/*
 * Seconds of the stream: the sum of its packets, which are read to the end of the file. Times may begin anew in the middle, and
 * a negative duration arrives as a huge one: then the time since the packet before counts. Nothing can be decoded after it.
 */
double EXPORT(scan)(void) {
  int64_t last = AV_NOPTS_VALUE;
  double sum = 0;
  for (; av_read_frame(file, packet) >= 0; av_packet_unref(packet)) {
    if (packet->stream_index != stream->index) continue;
    double seconds = possible(packet->duration);
    if (seconds == 0 && last != AV_NOPTS_VALUE && packet->pts != AV_NOPTS_VALUE) seconds = possible(packet->pts - last);
    sum += FFMAX(seconds - skippedSeconds(), 0);
    last = packet->pts;
  }
  return sum;
}

static SwrContext *resampler;
/* The form of frames that the resampler takes. A file may change it. */
static AVChannelLayout layout;
static int rate, sampleFormat;

static int16_t *block;
static int blockCapacity, blockCount;

static int prepareResampler(void) {
  int isSame = resampler != NULL && frame->sample_rate == rate && frame->format == sampleFormat &&
               av_channel_layout_compare(&frame->ch_layout, &layout) == 0;
  if (isSame) return 0;
  swr_free(&resampler);
  rate = frame->sample_rate;
  sampleFormat = frame->format;
  int result = av_channel_layout_copy(&layout, &frame->ch_layout);
  if (result < 0) return result;
  AVChannelLayout mono = AV_CHANNEL_LAYOUT_MONO, known = layout;
  if (layout.order == AV_CHANNEL_ORDER_UNSPEC) av_channel_layout_default(&known, layout.nb_channels);
  result = swr_alloc_set_opts2(&resampler, &mono, AV_SAMPLE_FMT_S16, outputRate, &known, sampleFormat, rate, 0, NULL);
  if (result >= 0) result = swr_init(resampler);
  if (result < 0) swr_free(&resampler);
  return result;
}

/* Appends to the block: `count` samples of each channel, or what the resampler holds back if `input` is NULL. */
static int resample(uint8_t const **input, int count) {
  if (resampler == NULL) return 0;
  int room = swr_get_out_samples(resampler, count);
  if (room < 0) return room;
  if (blockCount + room > blockCapacity) {
    int capacity = blockCount + room + blockSamples;
    int16_t *larger = realloc(block, capacity * sizeof *block);
    if (larger == NULL) return AVERROR(ENOMEM);
    block = larger;
    blockCapacity = capacity;
  }
  uint8_t *output = (uint8_t *)(block + blockCount);
  int added = swr_convert(resampler, &output, room, input, count);
  if (added > 0) blockCount += added;
  return added;
}

/* Gives the decoder the next packet of the stream, or at the end of the file the order to finish. */
static void sendPacket(void) {
  if (av_read_frame(file, packet) < 0) {
    avcodec_send_packet(codec, NULL);
    return;
  }
  /* A packet that cannot be decoded is left out. */
  if (packet->stream_index == stream->index) avcodec_send_packet(codec, packet);
  av_packet_unref(packet);
}

/*
 * Decodes the next second or so. Returns how many samples are at samples(); 0 at the end.
 */
int EXPORT(read)(void) {
  static int isFinished;
  blockCount = 0;
  while (!isFinished && blockCount < blockSamples) {
    int result = avcodec_receive_frame(codec, frame);
    if (result == AVERROR_EOF) {
      isFinished = 1;
      resample(NULL, 0);
    } else if (result < 0) {
      sendPacket();
    } else {
      if (prepareResampler() >= 0) resample((uint8_t const **)frame->extended_data, frame->nb_samples);
      av_frame_unref(frame);
    }
  }
  return blockCount;
}

/* The samples that read() returned: 16 kHz mono, valid until it is called again. */
int16_t const *EXPORT(samples)(void) { return block; }
