/* law_steps.c: the laws of rate, tokens, fill, readers, budget and path, one event per line of
 * stdin, one line of state on stdout after each. Tests in tests/unit drive it beside the models in
 * tests/models/.
 *
 *   rate LAW now initial least most floor target detect is_group window step increase decrease
 *        datagrams
 *   report now id is_clear fill drain allowed buffer rtt
 *   cycle now sent rtt buffer            change now bytes datagrams
 *   fill target
 *   update now received highest consumed buffer rtt mtu largest window
 *   sent                                 part drain is_clear
 *   wait group longest unit
 *   window buffer window mtu             window_due consumed window position last_window whole
 *   suppress                             due is_due group unit         heard allowed
 *   fair (rate is_limited) ...
 *   truth now                            status now id consumed window
 *   claim now sent slack, then as in report from id on
 *   stand now position mtu limit
 *   tokens bytes datagrams mtu now       set bytes datagrams now
 *   ask bytes datagrams now              spend bytes datagrams now
 *   grant kind bytes memory least most new_share threshold all_share connections granted
 *   reader                               look now produced consumed window largest mtu
 *        may_fill is_stopped
 *   room granted unacknowledged          share room unacknowledged streams
 *   step connection stream
 *   path datagram rtt                    gone position bytes now         silence now
 *   item now contiguous highest received since missing clock hold fresh
 *   arrival                              came from to now rtt            tell contiguous now */
#include "flow/budget.h"
#include "flow/fair_share.h"
#include "flow/fill.h"
#include "flow/fill_suppress.h"
#include "flow/fill_window.h"
#include "flow/path.h"
#include "flow/rate.h"
#include "flow/reader_window.h"
#include "flow/standstill.h"
#include "flow/tokens.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct lab_t {
    rsti_rate_t rate;
    rsti_fill_t fill;
    rsti_fill_suppress_t suppress;
    rsti_reader_window_t reader;
    rsti_tokens_t tokens;
    rsti_fill_truth_t truth;
    rsti_standstill_t standstill;
    rsti_path_t path;
    rsti_path_arrival_t arrival;
} lab_t;

static double real(void)
{
    const char *text = strtok(NULL, " \n");
    return text != NULL ? strtod(text, NULL) : 0;
}

static int64_t whole(void)
{
    const char *text = strtok(NULL, " \n");
    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

static void print_rate(const rsti_rate_t *rate)
{
    const bool is_adaptive = rate->law == &rsti_rate_adaptive;
    const rsti_rate_adaptive_t *state = &rate->state.adaptive;
    printf("%.17g %.17g %" PRId64 " %.17g %" PRId32 " %.17g %d %.17g %.17g\n", rate->bytes_per_s,
        rate->datagrams_per_s, rate->due_ns, rate->margin, rate->source_count,
        rsti_rate_highest(rate), is_adaptive && state->is_episode,
        is_adaptive ? state->back_to : 0.0, is_adaptive ? state->jump : 0.0);
}

static void start_rate(lab_t *lab)
{
    const rsti_rate_law_t *law = rsti_rate_find(strtok(NULL, " \n"));
    if (law == NULL) {
        fprintf(stderr, "no such law\n");
        exit(2);
    }
    rsti_rate_params_t params = rsti_rate_defaults();
    params.now_ns = whole();
    params.initial = real();
    params.least = real();
    params.most = real();
    params.floor_share = real();
    params.target_delay_ns = whole();
    params.detect_ns = whole();
    params.is_group = whole() != 0;
    params.window_ns = whole();
    params.step_share = real();
    params.increase = real();
    params.decrease = real();
    params.datagrams_per_s = real();
    rsti_rate_init(&lab->rate, law, &params);
}

static rsti_fill_report_t report_of(void)
{
    rsti_fill_report_t report = {.receiver_id = whole()};
    report.is_clear = whole() != 0;
    report.fill = real();
    report.drain = real();
    report.allowed = real();
    report.buffer_bytes = whole();
    report.rtt_ns = whole();
    return report;
}

static bool do_rate(lab_t *lab, const char *word)
{
    if (strcmp(word, "rate") == 0) {
        start_rate(lab);
    } else if (strcmp(word, "report") == 0) {
        const int64_t now_ns = whole();
        const rsti_fill_report_t report = report_of();
        rsti_rate_on_report(&lab->rate, &report, now_ns);
    } else if (strcmp(word, "cycle") == 0) {
        rsti_rate_use_t use = {.now_ns = whole()};
        use.sent_bytes = whole();
        use.rtt_ns = whole();
        use.buffer_bytes = whole();
        (void)rsti_rate_on_cycle(&lab->rate, &use);
    } else if (strcmp(word, "change") == 0) {
        const int64_t now_ns = whole();
        const double bytes = real();
        const double datagrams = real();
        rsti_rate_change(&lab->rate, bytes, datagrams, now_ns);
    } else {
        return false;
    }
    print_rate(&lab->rate);
    return true;
}

static void print_fill(const rsti_fill_t *fill, rsti_fill_due_t due)
{
    printf("%d %.17g %.17g %.17g %.17g %" PRId64 " %" PRId64 " %" PRId64 " %d %d %" PRId64 "\n",
        (int)due, fill->fill, fill->drain, fill->taking, fill->allowed, fill->standing,
        fill->set_point, fill->period_ns, fill->is_reporting, fill->is_stalled,
        rsti_fill_due_ns(fill));
}

static rsti_fill_facts_t facts_of(void)
{
    rsti_fill_facts_t facts = {.now_ns = whole()};
    facts.received = whole();
    facts.highest = whole();
    facts.consumed = whole();
    facts.buffer_bytes = whole();
    facts.rtt_ns = whole();
    facts.mtu = (int32_t)whole();
    facts.largest = whole();
    facts.window_bytes = whole();
    return facts;
}

static bool do_fill(lab_t *lab, const char *word)
{
    if (strcmp(word, "fill") == 0) {
        rsti_fill_init(&lab->fill, whole());
        print_fill(&lab->fill, RSTI_FILL_QUIET);
    } else if (strcmp(word, "update") == 0) {
        const rsti_fill_facts_t facts = facts_of();
        const rsti_fill_due_t due = rsti_fill_update(&lab->fill, &facts);
        print_fill(&lab->fill, due);
    } else if (strcmp(word, "sent") == 0) {
        rsti_fill_on_sent(&lab->fill);
        print_fill(&lab->fill, RSTI_FILL_QUIET);
    } else if (strcmp(word, "part") == 0) {
        rsti_fill_report_t report;
        const double drain = real();
        rsti_fill_report(&lab->fill, drain, whole() != 0, &report);
        printf("%.17g %.17g\n", report.drain, report.allowed);
    } else {
        return false;
    }
    return true;
}

static bool do_share(const char *word)
{
    if (strcmp(word, "fair") != 0) {
        return false;
    }
    rsti_fair_sender_t senders[RSTI_FAIR_SENDERS_MAX];
    int32_t count = 0;
    const char *rate = strtok(NULL, " \n");
    for (; rate != NULL && count < RSTI_FAIR_SENDERS_MAX; rate = strtok(NULL, " \n")) {
        senders[count++] = (rsti_fair_sender_t){strtod(rate, NULL), whole() != 0};
    }
    printf("%.17g\n", rsti_fair_share(senders, count));
    return true;
}

static bool do_window(const lab_t *lab, const char *word)
{
    if (strcmp(word, "window") == 0) {
        const int64_t buffer = whole();
        const int32_t window = (int32_t)whole();
        printf("%" PRId32 "\n", rsti_fill_window(&lab->fill, buffer, window, (int32_t)whole()));
    } else if (strcmp(word, "window_due") == 0) {
        rsti_fill_window_due_t due = {.consumed = whole()};
        due.window = (int32_t)whole();
        due.position = whole();
        due.last_window = (int32_t)whole();
        due.whole = (int32_t)whole();
        printf("%d\n", rsti_fill_window_is_due(&due));
    } else {
        return false;
    }
    return true;
}

static bool do_reader(lab_t *lab, const char *word)
{
    if (strcmp(word, "reader") == 0) {
        rsti_reader_window_init(&lab->reader);
        puts("0");
    } else if (strcmp(word, "look") == 0) {
        rsti_reader_window_facts_t facts = {.now_ns = whole()};
        facts.produced = whole();
        facts.consumed = whole();
        facts.window = whole();
        facts.stopped = whole();
        facts.largest = whole();
        facts.first = whole();
        facts.frame = whole();
        facts.turn_ns = whole();
        facts.may_fill = whole() != 0;
        facts.is_blocked = whole() != 0;
        facts.has_read = whole() != 0;
        const int64_t window = rsti_reader_window_update(&lab->reader, &facts);
        printf("%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", window, lab->reader.turn,
            rsti_reader_window_wake_position(&lab->reader),
            rsti_reader_window_due_ns(&lab->reader));
    } else {
        return false;
    }
    return true;
}

static bool do_suppress(lab_t *lab, const char *word)
{
    if (strcmp(word, "wait") == 0) {
        const double group = real();
        const int64_t longest_ns = whole();
        printf("%" PRId64 "\n", rsti_fill_wait_ns(group, longest_ns, real()));
        return true;
    }
    bool is_sent = false;
    if (strcmp(word, "suppress") == 0) {
        rsti_fill_suppress_init(&lab->suppress);
    } else if (strcmp(word, "due") == 0) {
        const bool is_due = whole() != 0;
        const double group = real();
        is_sent = rsti_fill_suppress_is_due(&lab->suppress, &lab->fill, is_due, group, real());
    } else if (strcmp(word, "heard") == 0) {
        rsti_fill_suppress_on_heard(&lab->suppress, &lab->fill, real());
    } else {
        return false;
    }
    printf("%d %d %" PRId64 "\n", is_sent, lab->suppress.is_waiting, lab->suppress.silenced_count);
    return true;
}

/* A claim is a fill NAK right after its status message: accepted or not, it goes to standstill as
 * it does in the sender. */
static bool do_truth(lab_t *lab, const char *word)
{
    rsti_fill_truth_t *truth = &lab->truth;
    bool is_good = false;
    int64_t id = 0;
    if (strcmp(word, "truth") == 0) {
        rsti_fill_truth_init(truth);
        rsti_standstill_init(&lab->standstill, whole());
    } else if (strcmp(word, "status") == 0) {
        const int64_t now_ns = whole();
        id = whole();
        const int64_t consumed = whole();
        is_good = rsti_fill_truth_on_status(truth, id, consumed, whole(), now_ns);
    } else if (strcmp(word, "claim") == 0) {
        const int64_t now_ns = whole(), sent = whole(), slack = whole();
        const rsti_fill_report_t report = report_of();
        id = report.receiver_id;
        is_good = rsti_fill_truth_is_believed(truth, &report, sent, (int32_t)slack, now_ns);
        if (is_good) {
            rsti_standstill_on_report(&lab->standstill, truth, &report, now_ns);
        }
    } else {
        return false;
    }
    printf("%d %d %" PRId32 " %" PRId64 " %" PRId64 "\n", is_good,
        rsti_fill_truth_is_liar(truth, id), truth->source_count, truth->ignored_count,
        lab->standstill.until_ns);
    return true;
}

static bool do_stand(lab_t *lab, const char *word)
{
    if (strcmp(word, "stand") != 0) {
        return false;
    }
    rsti_standstill_t *standstill = &lab->standstill;
    const int64_t now_ns = whole(), position = whole(), mtu = whole();
    const int64_t limit = rsti_standstill_limit(standstill, &lab->truth, position, whole(),
        (int32_t)mtu, now_ns);
    printf("%" PRId64 " %d %" PRId64 " %" PRId64 "\n", limit, standstill->is_holding,
        standstill->left_ns, rsti_standstill_due_ns(standstill));
    return true;
}

static bool do_tokens(lab_t *lab, const char *word)
{
    rsti_tokens_t *tokens = &lab->tokens;
    int state = -1;
    int64_t due_ns = 0;
    if (strcmp(word, "tokens") == 0) {
        const double bytes = real();
        const double datagrams = real();
        const int64_t mtu = whole();
        rsti_tokens_init(tokens, bytes, datagrams, (int32_t)mtu, whole());
    } else if (strcmp(word, "set") == 0) {
        const double bytes = real();
        const double datagrams = real();
        rsti_tokens_set(tokens, bytes, datagrams, whole());
    } else {
        const int64_t bytes = whole();
        const int64_t datagrams = whole();
        const int64_t now_ns = whole();
        if (strcmp(word, "spend") == 0) {
            rsti_tokens_spend(tokens, bytes, datagrams, now_ns);
        } else if (strcmp(word, "ask") == 0) {
            state = (int)rsti_tokens_ask(tokens, bytes, datagrams, now_ns);
            due_ns = rsti_tokens_due_ns(tokens, bytes, datagrams, now_ns);
        } else {
            return false;
        }
    }
    printf("%d %" PRId64 " %.17g %.17g\n", state, due_ns, tokens->bytes.level,
        tokens->datagrams.level);
    return true;
}

static bool do_budget(const char *word)
{
    if (strcmp(word, "grant") == 0) {
        rsti_budget_policy_t policy = {.kind = (rsti_budget_kind_t)whole()};
        policy.bytes = whole();
        policy.memory_bytes = whole();
        policy.least = whole();
        policy.most = whole();
        policy.new_share = real();
        policy.threshold = real();
        policy.all_share = real();
        const int64_t connections = whole();
        printf("%" PRId64 " %d\n", rsti_budget_grant(&policy, connections, whole()),
            rsti_budget_is_shared(&policy));
    } else if (strcmp(word, "room") == 0) {
        const int64_t granted = whole();
        printf("%" PRId64 "\n", rsti_budget_room(granted, whole()));
    } else if (strcmp(word, "share") == 0) {
        const int64_t room = whole(), unacknowledged = whole();
        printf("%" PRId64 "\n", rsti_budget_room_of_stream(room, unacknowledged, whole()));
    } else if (strcmp(word, "step") == 0) {
        const int64_t connection = whole();
        printf("%" PRId64 "\n", rsti_budget_ack_step(connection, whole()));
    } else {
        return false;
    }
    return true;
}

static void print_path(const rsti_path_t *path, bool is_news)
{
    const rsti_path_track_t *track = &path->track;
    printf("%d %d %.17g %.17g %.17g %.17g %.17g %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
           " %" PRId64 " %" PRId64 "\n",
        is_news, (int)path->state, path->window, path->least_s, path->queue_s, path->usual,
        path->shallow, rsti_path_limit(path, track->now_ns), rsti_path_pace(path),
        rsti_path_run(path), rsti_path_under_way(track), track->refused_count, track->old_count);
}

static bool do_path(lab_t *lab, const char *word)
{
    rsti_path_t *path = &lab->path;
    bool is_news = false;
    if (strcmp(word, "path") == 0) {
        rsti_path_params_t params = {.datagram = (int32_t)whole()};
        params.rtt_ns = whole();
        rsti_path_fini(path);
        if (rsti_path_init(path, &params) != 0) {
            return false;
        }
    } else if (strcmp(word, "gone") == 0) {
        const int64_t position = whole(), bytes = whole();
        rsti_path_on_sent(path, position, bytes, whole());
    } else if (strcmp(word, "silence") == 0) {
        rsti_path_on_silence(path, whole());
    } else if (strcmp(word, "item") == 0) {
        const int64_t now_ns = whole();
        rsti_path_item_t item = {.contiguous = whole()};
        item.highest = whole();
        item.received = whole();
        item.since = whole();
        item.missing = whole();
        item.clock_ns = whole();
        item.hold_ns = whole();
        item.fresh_ns = whole();
        is_news = rsti_path_on_item(path, &item, now_ns);
    } else {
        return false;
    }
    print_path(path, is_news);
    return true;
}

static bool do_arrival(lab_t *lab, const char *word)
{
    rsti_path_arrival_t *arrival = &lab->arrival;
    if (strcmp(word, "arrival") == 0) {
        rsti_path_arrival_init(arrival, 0, 0);
        printf("0\n");
    } else if (strcmp(word, "came") == 0) {
        const int64_t from = whole(), to = whole();
        rsti_path_arrival_on_data(arrival, from, to, to - from, whole());
        printf("%" PRId64 "\n", rsti_path_arrival_due_ns(arrival, whole()));
    } else if (strcmp(word, "tell") == 0) {
        rsti_path_item_t item;
        const int64_t contiguous = whole();
        rsti_path_arrival_tell(arrival, contiguous, whole(), &item);
        printf("%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
               " %" PRId64 "\n",
            item.contiguous, item.highest, item.received, item.since, item.missing, item.clock_ns,
            item.hold_ns, item.fresh_ns);
    } else {
        return false;
    }
    return true;
}

int main(void)
{
    static lab_t lab;
    char line[4096]; /* 64 senders */
    while (fgets(line, sizeof line, stdin) != NULL) {
        const char *word = strtok(line, " \n");
        if (word == NULL) {
            continue;
        }
        if (!do_rate(&lab, word) && !do_fill(&lab, word) && !do_suppress(&lab, word)
            && !do_reader(&lab, word) && !do_budget(word) && !do_truth(&lab, word)
            && !do_stand(&lab, word) && !do_share(word) && !do_window(&lab, word)
            && !do_path(&lab, word) && !do_arrival(&lab, word) && !do_tokens(&lab, word)) {
            fprintf(stderr, "unknown: %s\n", word);
            return 2;
        }
        fflush(stdout);
    }
    return 0;
}
