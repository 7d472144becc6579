/* tcp_cubic.c: the window of cubic (RFC 9438), in packets.
 *
 *     slow start  + 1 for each packet delivered, until a loss, or until the least round trip of a
 *                 round (8 samples) is longer by an eighth of the least one, 4 to 16 ms (HyStart)
 *     a loss      W = 0.7 W;  the origin is W before, or 0.85 of it if it was below the last one
 *     after       W = max(0.4 (t - K)^3 + origin, reno), within half of W in a round trip */
#include "lab/tcp.h"

#include <math.h>
#include <stddef.h>

#define SCALE 0.4
#define KEEP 0.7
#define HYSTART_SAMPLES 8
#define HYSTART_WINDOW 16.0

void rsti_lab_cubic_init(rsti_lab_tcp_t *tcp)
{
    tcp->law.cubic = (rsti_lab_cubic_t){.slow_start_to = INFINITY, .round_least_s = INFINITY};
}

static void cut(rsti_lab_tcp_t *tcp)
{
    rsti_lab_cubic_t *cubic = &tcp->law.cubic;
    cubic->before = tcp->window < cubic->before ? tcp->window * (1.0 + KEEP) / 2.0 : tcp->window;
    tcp->window = fmax(KEEP * tcp->window, 2.0);
    cubic->slow_start_to = tcp->window;
    cubic->epoch_ns = 0;
}

void rsti_lab_cubic_on_timeout(rsti_lab_tcp_t *tcp)
{
    cut(tcp);
    tcp->window = 1.0;
}

static void slow_start(rsti_lab_tcp_t *tcp, const rsti_lab_acked_t *acked)
{
    rsti_lab_cubic_t *cubic = &tcp->law.cubic;
    cubic->round_least_s = fmin(cubic->round_least_s, acked->rtt_s);
    if (++cubic->round_samples == HYSTART_SAMPLES && tcp->window >= HYSTART_WINDOW) {
        const double above_s = fmin(fmax(tcp->least_s / 8.0, 4e-3), 16e-3);
        if (cubic->round_least_s >= tcp->least_s + above_s) {
            cubic->slow_start_to = tcp->window;
        }
    }
    if (acked->is_round) {
        cubic->round_samples = 0;
        cubic->round_least_s = INFINITY;
    }
    tcp->window += tcp->is_held ? 1.0 : 0.0;
}

static void avoid(rsti_lab_tcp_t *tcp, const rsti_lab_acked_t *acked)
{
    rsti_lab_cubic_t *cubic = &tcp->law.cubic;
    if (cubic->epoch_ns == 0) {
        cubic->epoch_ns = acked->now_ns;
        cubic->origin = fmax(cubic->before, tcp->window);
        cubic->k_s = cbrt((cubic->origin - tcp->window) / SCALE);
        cubic->reno = tcp->window;
    }
    const double t = (double)(acked->now_ns - cubic->epoch_ns) / 1e9 + tcp->smoothed_s;
    const double distance = t - cubic->k_s;
    const double wanted = cubic->origin + SCALE * distance * distance * distance;
    cubic->reno += 3.0 * (1.0 - KEEP) / (1.0 + KEEP) / tcp->window;
    const double most = 1.5 * tcp->window;
    if (wanted > tcp->window && tcp->is_held) {
        tcp->window += (fmin(wanted, most) - tcp->window) / tcp->window;
    }
    tcp->window = tcp->is_held ? fmax(tcp->window, cubic->reno) : tcp->window;
}

void rsti_lab_cubic_on_ack(rsti_lab_tcp_t *tcp, const rsti_lab_acked_t *acked)
{
    if (acked->is_new_loss) {
        cut(tcp);
    } else if (tcp->window < tcp->law.cubic.slow_start_to) {
        slow_start(tcp, acked);
    } else if (tcp->first >= tcp->recovery_to) {
        avoid(tcp, acked);
    }
}
