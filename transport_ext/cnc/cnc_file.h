/* cnc_file.h: the command and control file (docs/reference/aeron/memory.md 9). */
#ifndef RSTI_CNC_CNC_FILE_H
#define RSTI_CNC_CNC_FILE_H

#include "concurrent/broadcast.h"
#include "concurrent/counters.h"
#include "concurrent/mpsc_rb.h"
#include "concurrent/wake.h"

#include <stddef.h>
#include <stdint.h>

#define RSTI_CNC_VERSION 512
#define RSTI_CNC_HEADER_LENGTH 128

#pragma pack(push, 1)
typedef struct rsti_cnc_header_t {
    int32_t cnc_version; /* 0 until ready */
    int32_t to_driver_length;
    int32_t to_clients_length;
    int32_t counter_metadata_length;
    int32_t counter_values_length;
    int32_t error_log_length;
    int64_t client_liveness_timeout_ns;
    int64_t start_timestamp_ms;
    int64_t pid;
    int32_t file_page_size;
    rsti_cnc_ext_t ext; /* ours, at 52 */
} rsti_cnc_header_t;
#pragma pack(pop)
_Static_assert(sizeof(rsti_cnc_header_t) == RSTI_CNC_HEADER_LENGTH, "CnC header");
_Static_assert(offsetof(rsti_cnc_header_t, ext) == RSTI_CNC_EXT_OFFSET, "CnC header");

typedef struct rsti_cnc_t {
    uint8_t *base;
    size_t length;
    rsti_cnc_header_t *header;
    rsti_cnc_ext_t *ext;
    uint8_t *to_driver;
    size_t to_driver_length;
    uint8_t *to_clients;
    size_t to_clients_length;
    uint8_t *counter_metadata;
    size_t counter_metadata_length;
    uint8_t *counter_values;
    size_t counter_values_length;
    uint8_t *error_log;
    size_t error_log_length;
    uint64_t device, inode; /* of the file that was opened */
} rsti_cnc_t;

typedef struct rsti_cnc_params_t {
    int32_t to_driver_length;  /* with trailer */
    int32_t to_clients_length;
    int32_t counter_values_length; /* metadata is 4 times this */
    int32_t error_log_length;
    int64_t client_liveness_timeout_ns;
    int64_t start_timestamp_ms;
    int32_t file_page_size;
} rsti_cnc_params_t;

/* Driver: creates cnc.dat with version 0. Its space is reserved, so full shared memory gives
 * -RST_ESTORAGE with the size needed and never a bus error later. rsti_cnc_publish stores the
 * version last. */
int rsti_cnc_create(rsti_cnc_t *cnc, const char *dir, const rsti_cnc_params_t *params);
void rsti_cnc_publish(rsti_cnc_t *cnc);
/* Client: maps an existing file. -RST_ENODRIVER: absent or not ready yet, try again; -RST_EVERSION;
 * -RST_ECORRUPT: impossible lengths; -RST_EACCESS. read_only: for tools. */
int rsti_cnc_open(rsti_cnc_t *cnc, const char *dir, bool read_only);
void rsti_cnc_close(rsti_cnc_t *cnc);
bool rsti_cnc_is_rstream(const rsti_cnc_t *cnc);
/* Whether the name in dir is now another file than the one that rsti_cnc_open opened: that of a
 * later driver. False: there is none. One system call. */
bool rsti_cnc_is_replaced(const rsti_cnc_t *cnc, const char *dir);

#endif
