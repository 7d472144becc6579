/* cnc_file.c: making and mapping the command and control file. */
#include "cnc/cnc_file.h"

#include "cnc/file_system.h"
#include "cnc/files.h"
#include "concurrent/atomics.h"
#include "util/bits.h"
#include "util/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_SIZE_MIN 4096
#define PAGE_SIZE_MAX (1024 * 1024 * 1024)
/* Keeps every region aligned to a cache line. */
#define RING_CAPACITY_MIN 1024
#define METADATA_PER_VALUES (RSTI_COUNTER_METADATA_LENGTH / RSTI_COUNTER_VALUE_LENGTH)

_Static_assert(offsetof(rsti_cnc_header_t, cnc_version) == 0, "version comes first");

/* The header is packed, so the compiler does not know that its start is aligned: a page is. */
static int32_t *version_address(uint8_t *base)
{
    return (int32_t *)(void *)base;
}

static bool is_ring_length(int64_t length, int64_t trailer_length)
{
    const int64_t capacity = length - trailer_length;
    return capacity >= RING_CAPACITY_MIN && rsti_is_power_of_two(capacity);
}

/* All five regions and the header; both sides check the same law. */
static bool are_lengths_possible(const rsti_cnc_header_t *header, int64_t *regions_end)
{
    const int64_t to_driver = header->to_driver_length;
    const int64_t to_clients = header->to_clients_length;
    const int64_t metadata = header->counter_metadata_length;
    const int64_t values = header->counter_values_length;
    const int64_t error_log = header->error_log_length;
    *regions_end = RSTI_CNC_HEADER_LENGTH + to_driver + to_clients + metadata + values + error_log;
    return is_ring_length(to_driver, RSTI_RB_TRAILER_LENGTH)
        && is_ring_length(to_clients, RSTI_BROADCAST_TRAILER_LENGTH)
        && values >= RSTI_COUNTER_VALUE_LENGTH && values % RSTI_COUNTER_VALUE_LENGTH == 0
        && metadata == METADATA_PER_VALUES * values && error_log >= 8 && error_log % 8 == 0
        && rsti_is_power_of_two(header->file_page_size) && header->file_page_size >= PAGE_SIZE_MIN
        && header->file_page_size <= PAGE_SIZE_MAX;
}

/* regions: a private copy of the header with checked lengths; the mapped one may change. */
static void set_regions(rsti_cnc_t *cnc, uint8_t *base, size_t length,
    const rsti_cnc_header_t *regions)
{
    uint8_t *next = base + RSTI_CNC_HEADER_LENGTH;
    cnc->base = base;
    cnc->length = length;
    cnc->header = (rsti_cnc_header_t *)(void *)base;
    cnc->ext = (rsti_cnc_ext_t *)(void *)(base + RSTI_CNC_EXT_OFFSET);
    cnc->to_driver = next;
    cnc->to_driver_length = (size_t)regions->to_driver_length;
    next += cnc->to_driver_length;
    cnc->to_clients = next;
    cnc->to_clients_length = (size_t)regions->to_clients_length;
    next += cnc->to_clients_length;
    cnc->counter_metadata = next;
    cnc->counter_metadata_length = (size_t)regions->counter_metadata_length;
    next += cnc->counter_metadata_length;
    cnc->counter_values = next;
    cnc->counter_values_length = (size_t)regions->counter_values_length;
    next += cnc->counter_values_length;
    cnc->error_log = next;
    cnc->error_log_length = (size_t)regions->error_log_length;
}

static int header_from_params(const rsti_cnc_params_t *params, rsti_cnc_header_t *header,
    int64_t *file_length)
{
    memset(header, 0, sizeof *header);
    if (params->counter_values_length > INT32_MAX / METADATA_PER_VALUES) {
        return RST_SET_ERR(RST_EINVAL, "counter values of %d bytes are too large",
            params->counter_values_length);
    }
    header->to_driver_length = params->to_driver_length;
    header->to_clients_length = params->to_clients_length;
    header->counter_metadata_length = METADATA_PER_VALUES * params->counter_values_length;
    header->counter_values_length = params->counter_values_length;
    header->error_log_length = params->error_log_length;
    header->client_liveness_timeout_ns = params->client_liveness_timeout_ns;
    header->start_timestamp_ms = params->start_timestamp_ms;
    header->pid = (int64_t)getpid();
    header->file_page_size = params->file_page_size;
    header->ext.magic = RSTI_EXT_MAGIC;
    header->ext.version = RSTI_EXT_VERSION;
    int64_t end;
    if (!are_lengths_possible(header, &end)) {
        return RST_SET_ERR(RST_EINVAL,
            "impossible lengths for %s: to-driver %d, to-clients %d, counter values %d, error log "
            "%d, page size %d",
            RSTI_CNC_FILE_NAME, params->to_driver_length, params->to_clients_length,
            params->counter_values_length, params->error_log_length, params->file_page_size);
    }
    *file_length = rsti_align_i64(end, params->file_page_size);
    if (*file_length > INT32_MAX) {
        return RST_SET_ERR(RST_EINVAL, "%s would be %lld bytes, 2^31 - 1 are allowed",
            RSTI_CNC_FILE_NAME, (long long)*file_length);
    }
    return 0;
}

int rsti_cnc_create(rsti_cnc_t *cnc, const char *dir, const rsti_cnc_params_t *params)
{
    char path[RSTI_PATH_MAX];
    rsti_cnc_header_t header;
    int64_t file_length = 0;
    memset(cnc, 0, sizeof *cnc);
    int result = header_from_params(params, &header, &file_length);
    if (result == 0) {
        result = rsti_path_format(path, sizeof path, "%s/%s", dir, RSTI_CNC_FILE_NAME);
    }
    if (result != 0) {
        return result;
    }
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return RST_SET_ERRNO("creating %s", path);
    }
    uint8_t *base = NULL;
    result = rsti_file_reserve(fd, 0, file_length, path, dir);
    if (result == 0) {
        result = rsti_file_map(fd, (size_t)file_length, false, path, &base);
    }
    close(fd);
    if (result != 0) {
        unlink(path);
        return result;
    }
    memcpy(base, &header, sizeof header);
    set_regions(cnc, base, (size_t)file_length, &header);
    return 0;
}

void rsti_cnc_publish(rsti_cnc_t *cnc)
{
    rsti_store_release_i32(version_address(cnc->base), RSTI_CNC_VERSION);
}

/* Reads a mapping whose length is that of the file. The lengths are copied before the check,
 * because another process may change them between check and use. */
static int check_mapping(uint8_t *base, size_t length, const char *path, rsti_cnc_header_t *header)
{
    const int32_t version = rsti_load_acquire_i32(version_address(base));
    if (version == 0) {
        return RST_SET_ERR(RST_ENODRIVER, "%s is not ready yet", path);
    }
    if ((version >> 16) != (RSTI_CNC_VERSION >> 16)) {
        return RST_SET_ERR(RST_EVERSION, "%s has version %d.%d.%d, this library reads 0.x.x", path,
            version >> 16, (version >> 8) & 0xFF, version & 0xFF);
    }
    memcpy(header, base, sizeof *header);
    if (header->file_page_size == 0) {
        header->file_page_size = PAGE_SIZE_MIN; /* drivers before 1.47 do not set the field */
    }
    int64_t end;
    if (!are_lengths_possible(header, &end)) {
        return RST_SET_ERR(RST_ECORRUPT,
            "%s: impossible lengths: to-driver %d, to-clients %d, counter metadata %d, counter "
            "values %d, error log %d, page size %d",
            path, header->to_driver_length, header->to_clients_length,
            header->counter_metadata_length, header->counter_values_length,
            header->error_log_length, header->file_page_size);
    }
    if (end > (int64_t)length) {
        return RST_SET_ERR(RST_ECORRUPT, "%s: regions end at %lld, the file at %zu", path,
            (long long)end, length);
    }
    rsti_rb_trailer_t *trailer = (rsti_rb_trailer_t *)(void *)(base + RSTI_CNC_HEADER_LENGTH
        + header->to_driver_length - RSTI_RB_TRAILER_LENGTH);
    if (rsti_load_acquire_i64(&trailer->consumer_heartbeat_ms) == 0) {
        return RST_SET_ERR(RST_ENODRIVER, "%s: the driver has not beaten yet", path);
    }
    return 0;
}

static int open_file(const char *dir, bool read_only, char *path, size_t path_size)
{
    int result = rsti_path_format(path, path_size, "%s/%s", dir, RSTI_CNC_FILE_NAME);
    if (result != 0) {
        return result;
    }
    const int dir_fd = rsti_dir_open(dir, read_only);
    if (dir_fd < 0) {
        return dir_fd;
    }
    const int fd = openat(dir_fd, RSTI_CNC_FILE_NAME,
        (read_only ? O_RDONLY : O_RDWR) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        result = RST_SET_ERR(RST_ENODRIVER, "%s does not exist: no media driver there", path);
    } else if (fd < 0 && errno == ELOOP) {
        result = RST_SET_ERR(RST_EACCESS, "%s is a link", path);
    } else if (fd < 0) {
        result = RST_SET_ERRNO("opening %s", path);
    }
    close(dir_fd);
    return result != 0 ? result : fd;
}

int rsti_cnc_open(rsti_cnc_t *cnc, const char *dir, bool read_only)
{
    char path[RSTI_PATH_MAX];
    memset(cnc, 0, sizeof *cnc);
    const int fd = open_file(dir, read_only, path, sizeof path);
    if (fd < 0) {
        return fd;
    }
    uint8_t *base = NULL;
    const int64_t length = rsti_file_length(fd, read_only, path);
    int result = length < 0 ? (int)length : 0;
    struct stat status;
    if (result == 0 && fstat(fd, &status) != 0) {
        result = RST_SET_ERRNO("looking at %s", path);
    }
    if (result == 0 && length <= RSTI_CNC_HEADER_LENGTH) {
        result = RST_SET_ERR(RST_ENODRIVER, "%s has %lld bytes: not ready yet", path,
            (long long)length);
    }
    if (result == 0 && length > INT32_MAX) {
        result = RST_SET_ERR(RST_ECORRUPT, "%s has %lld bytes: too long", path, (long long)length);
    }
    if (result == 0) {
        result = rsti_file_map(fd, (size_t)length, read_only, path, &base);
    }
    close(fd);
    if (result != 0) {
        return result;
    }
    rsti_cnc_header_t header = {.cnc_version = 0};
    result = check_mapping(base, (size_t)length, path, &header);
    if (result != 0) {
        (void)rsti_file_unmap(base, (size_t)length);
        return result;
    }
    set_regions(cnc, base, (size_t)length, &header);
    cnc->device = status.st_dev;
    cnc->inode = status.st_ino;
    return 0;
}

bool rsti_cnc_is_replaced(const rsti_cnc_t *cnc, const char *dir)
{
    char path[RSTI_PATH_MAX];
    struct stat status;
    const int length = snprintf(path, sizeof path, "%s/%s", dir, RSTI_CNC_FILE_NAME);
    if (length < 0 || (size_t)length >= sizeof path || lstat(path, &status) != 0) {
        return false;
    }
    /* This mapping keeps the old file, so its inode is not reused meanwhile. */
    return status.st_dev != cnc->device || status.st_ino != cnc->inode;
}

void rsti_cnc_close(rsti_cnc_t *cnc)
{
    (void)rsti_file_unmap(cnc->base, cnc->length);
    memset(cnc, 0, sizeof *cnc);
}

bool rsti_cnc_is_rstream(const rsti_cnc_t *cnc)
{
    return cnc->ext != NULL && cnc->ext->magic == RSTI_EXT_MAGIC;
}
