/* All parts of the recorder as one translation unit, which is what is compiled: so the compiler sees
 * the way of a call through them all, and inlines across them. */
#include "lz4.c"
#include "page.c"
#include "tables.c"
#include "threads.c"
#include "globals.c"
#include "snapshot.c"
#include "calls.c"
#include "generators.c"
#include "code.c"
#include "monitoring.c"
#include "profile.c"
#include "module.c"
