/* host.c: see the header. */
#include "lab/host.h"

#include "util/error.h"

#include <stdio.h>
#include <string.h>

#define CLIENT_ID 1
#define COMMAND_BYTES_MAX 4096
#define EPOCH_MS INT64_C(1700000000000) /* wall clock at zero of the virtual clock */

static int take_options(rst_driver_params_t *params, const char *const *options)
{
    for (; options != NULL && *options != NULL; options += 2) {
        const int result = rst_driver_params_set(params, options[0], options[1]);
        if (result < 0) {
            return result;
        }
    }
    return 0;
}

static void on_datagram(void *arg, const rsti_tapped_t *datagram)
{
    rsti_lab_host_t *host = arg;
    host->received_bytes += datagram->is_sent ? 0 : (int64_t)datagram->length;
}

static int open_driver(rsti_lab_host_t *host, const rst_driver_params_t *params, bool is_real,
    uint64_t seed)
{
    const rsti_secret_t secret = rsti_secret_of_seed(seed);
    const int result = rsti_driver_open_with(&host->driver, params, &host->clock,
        is_real ? NULL : &host->media, &secret);
    if (result == 0 && is_real) {
        rsti_media_udp_tap(&host->driver->udp_media, &(const rsti_tap_t){on_datagram, host});
    }
    return result;
}

int rsti_lab_host_open(rsti_lab_host_t *host, rsti_lab_port_t *port, const char *dir,
    const char *const *options, uint64_t seed)
{
    *host = (rsti_lab_host_t){.media = {&rsti_lab_wire_media, port}};
    if (port != NULL) {
        host->manual = (rsti_manual_clock_t){
            .now_ns = port->wire->now_ns, .epoch_ms_at_zero = EPOCH_MS};
        host->clock = rsti_clock_manual(&host->manual);
    } else {
        host->clock = rsti_clock_system();
    }
    rst_driver_params_t params;
    rsti_driver_params_init(&params);
    (void)snprintf(params.dir, sizeof params.dir, "%s", dir);
    params.threading = RSTI_THREADING_INVOKER;
    int result = take_options(&params, options);
    if (result == 0) {
        result = open_driver(host, &params, port == NULL, seed);
    }
    if (result == 0) {
        result = rsti_broadcast_rx_init(&host->answers, host->driver->cnc.to_clients,
            host->driver->cnc.to_clients_length);
        host->has_answers = result == 0;
    }
    if (result < 0) {
        rsti_lab_host_close(host);
    }
    return result;
}

void rsti_lab_host_close(rsti_lab_host_t *host)
{
    if (host->has_answers) {
        rsti_broadcast_rx_fini(&host->answers);
    }
    if (host->driver != NULL) {
        rst_driver_close(host->driver);
    }
    *host = (rsti_lab_host_t){0};
}

static void on_answer(void *arg, int32_t type, const void *record, size_t length)
{
    rsti_lab_host_t *host = arg;
    rsti_response_t response;
    if (type == RSTI_RSP_ON_ERROR && rsti_response_decode(type, record, length, &response) == 0) {
        (void)RST_SET_ERR(RST_EINVAL, "the driver refused: %.*s", (int)response.log_file.length,
            response.log_file.text);
        host->is_refused = true;
    }
}

int rsti_lab_host_add(rsti_lab_host_t *host, int32_t type, const char *channel, int32_t stream_id)
{
    uint8_t buffer[COMMAND_BYTES_MAX];
    const rsti_command_t command = {
        .type = type,
        .client_id = CLIENT_ID,
        .correlation_id = rsti_mpsc_rb_next_correlation_id(&host->driver->to_driver),
        .registration_id = -1,
        .stream_id = stream_id,
        .channel = {channel, (int32_t)strlen(channel)},
    };
    const int64_t length = rsti_command_encode(&command, buffer, sizeof buffer);
    if (length < 0
        || rsti_mpsc_rb_write(&host->driver->to_driver, type, buffer, (size_t)length)
            != RSTI_RB_OK) {
        return RST_SET_ERR(RST_EINVAL, "the command for %s is too long", channel);
    }
    host->is_refused = false;
    (void)rsti_lab_host_work(host, rsti_clock_nano_time(&host->clock));
    while (rsti_broadcast_receive(&host->answers, on_answer, host) == 1) {
    }
    return host->is_refused ? -rst_last_error_code() : 0;
}

static void stay_alive(rsti_lab_host_t *host)
{
    const int32_t id = rsti_counters_find(&host->driver->counters.counters,
        RSTI_COUNTER_CLIENT_HEARTBEAT, CLIENT_ID);
    if (id >= 0) {
        rsti_counter_store(host->driver, id, rsti_clock_epoch_ms(&host->clock));
    }
}

int64_t rsti_lab_host_work(rsti_lab_host_t *host, int64_t now_ns)
{
    int64_t deadline_ns = RSTI_NO_DEADLINE;
    const bool is_due = now_ns / RSTI_NS_PER_S != host->worked_ns / RSTI_NS_PER_S;
    host->manual.now_ns = now_ns;
    host->worked_ns = now_ns;
    if (is_due) {
        stay_alive(host);
        while (rsti_broadcast_receive(&host->answers, on_answer, host) == 1) {
        }
    }
    return rst_driver_do_work(host->driver, &deadline_ns);
}
