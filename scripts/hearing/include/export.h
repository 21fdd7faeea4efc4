/* A function that the host calls by its name. Its name in C is longer, as the C library has its own open() and read(). */
#define EXPORT(name) __attribute__((export_name(#name))) exported_##name
