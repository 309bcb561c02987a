/* One translation unit, so that all names but the module's stay inside. */
#include "values.c"
#include "entries.c"
#include "passages.c"
#include "confine.c"
#include "module.c"
