/* A set of addresses, by open addressing. Up to FEW / 2 of them need no memory of their own. */

#ifndef WHENCE_ADDRESS_SET_H
#define WHENCE_ADDRESS_SET_H

#include "cpython/cpython.h"

#include <stdint.h>

enum { FEW = 128 };

typedef struct {
    const void **slots, *few[FEW];
    size_t mask, used;
} AddressSet;

static inline size_t address_index(const AddressSet *set, const void *address)
{
    size_t index = (((uintptr_t)address >> 4) * 0x9E3779B97F4A7C15u >> 32) & set->mask;
    while (set->slots[index] != NULL && set->slots[index] != address) {
        index = (index + 1) & set->mask;
    }
    return index;
}

static inline bool address_set_grow(AddressSet *set)
{
    AddressSet larger = {.mask = set->mask * 2 + 1, .used = set->used};
    larger.slots = PyMem_Calloc(larger.mask + 1, sizeof(*larger.slots));
    if (larger.slots == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t i = 0; i <= set->mask; i++) {
        if (set->slots[i] != NULL) {
            larger.slots[address_index(&larger, set->slots[i])] = set->slots[i];
        }
    }
    if (set->slots != set->few) {
        PyMem_Free(set->slots);
    }
    set->slots = larger.slots;
    set->mask = larger.mask;
    return true;
}

/* 1: the address is new, 0: it was there, -1: an exception. */
static inline int address_set_add(AddressSet *set, const void *address)
{
    size_t index = address_index(set, address);
    if (set->slots[index] != NULL) {
        return 0;
    }
    if (2 * ++set->used > set->mask) {
        if (!address_set_grow(set)) {
            return -1;
        }
        index = address_index(set, address);
    }
    set->slots[index] = address;
    return 1;
}

#endif
