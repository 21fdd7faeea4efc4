/* WASI has no temporary files. FFmpeg's decoders use none. */
#define tempnam(folder, prefix) NULL
#define mkstemp(template) (-1)
