/* The part of PocketSphinx's configuration that its sources need. */
#define HAVE_LONG_LONG 1
#define SIZEOF_LONG_LONG 8
#define SIZEOF_LONG 4
