/* Where the garbage collector counts the objects that were made since it came last; for the recorder
 * and the journal. Includes come first: internal/pycore_interp.h. */
#ifndef WHENCE_GARBAGE_H
#define WHENCE_GARBAGE_H

/* By its place: the first releases of 3.14 have other names for the generations than later ones. */
static inline struct gc_generation *youngest_generation(struct _gc_runtime_state *collector)
{
#if PY_VERSION_HEX >= 0x030E0000
    char *behind = (char *)collector + offsetof(struct _gc_runtime_state, permanent_generation);
    return (struct gc_generation *)behind - NUM_GENERATIONS;
#else
    return collector->generations;
#endif
}

#endif
