/* Maps from pointers: open addressing, no tombstones. */
#include "recorder.h"

static inline size_t map_slot(const Map *map, const void *key)
{
    return (size_t)(((uintptr_t)key >> 4) * 0x9E3779B97F4A7C15u >> 20) & map->mask;
}

void *map_get(const Map *map, const void *key)
{
    if (map->count == 0) {
        return NULL;
    }
    for (size_t i = map_slot(map, key);; i = (i + 1) & map->mask) {
        if (map->keys[i] == key) {
            return map->values[i];
        }
        if (map->keys[i] == NULL) {
            return NULL;
        }
    }
}

static void map_insert(Map *map, void *key, void *value)
{
    size_t i = map_slot(map, key);
    while (map->keys[i] != NULL && map->keys[i] != key) {
        i = (i + 1) & map->mask;
    }
    map->count += map->keys[i] == NULL;
    map->keys[i] = key;
    map->values[i] = value;
}

bool map_put(Map *map, void *key, void *value)
{
    if (map->keys == NULL || map->count * 2 > map->mask) {
        size_t size = map->keys == NULL ? 256 : (map->mask + 1) * 2;
        Map larger = {PyMem_RawCalloc(size, sizeof(void *)), PyMem_RawCalloc(size, sizeof(void *)),
                      size - 1, 0};
        if (larger.keys == NULL || larger.values == NULL) {
            PyMem_RawFree(larger.keys);
            PyMem_RawFree(larger.values);
            return false;
        }
        for (size_t i = 0; map->keys != NULL && i <= map->mask; i++) {
            if (map->keys[i] != NULL) {
                map_insert(&larger, map->keys[i], map->values[i]);
            }
        }
        map_clear(map);
        *map = larger;
    }
    map_insert(map, key, value);
    return true;
}

void *map_remove(Map *map, const void *key)
{
    if (map->count == 0) {
        return NULL;
    }
    size_t i = map_slot(map, key);
    while (map->keys[i] != key) {
        if (map->keys[i] == NULL) {
            return NULL;
        }
        i = (i + 1) & map->mask;
    }
    void *value = map->values[i];
    map->count--;
    for (size_t j = (i + 1) & map->mask; map->keys[j] != NULL; j = (j + 1) & map->mask) {
        size_t home = map_slot(map, map->keys[j]);
        if (((j - home) & map->mask) >= ((j - i) & map->mask)) {
            map->keys[i] = map->keys[j];
            map->values[i] = map->values[j];
            i = j;
        }
    }
    map->keys[i] = NULL;
    return value;
}

void map_clear(Map *map)
{
    PyMem_RawFree(map->keys);
    PyMem_RawFree(map->values);
    *map = (Map){NULL, NULL, 0, 0};
}
