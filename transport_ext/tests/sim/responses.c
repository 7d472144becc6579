/* responses.c: askers, each with a response channel, and one responder for all of them, which
 * sometimes continues with another publication. An asker must receive the answers to its own
 * requests of this attempt, each once, and in order on each session. When the responder dies, its
 * next life finds its publications and its position in the requests as they were. It answers again
 * what the dead one had begun, maybe on the same session. So these rules hold for each life of the
 * responder. */
#include "tests/sim/generator.h"
#include "util/int_math.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SERVICE_STREAM 60
#define SERVICE_PORT (SIM_PORT + 5000)
#define ASKERS_MAX 4
#define CALLERS_MAX 24
#define LENGTH_MAX 3000
#define REQUESTS_MAX 30
#define SESSIONS_MAX 32 /* of answers in one attempt */
#define ANSWER_NS_MAX (30 * SIM_S)  /* in a gentle run */
#define ATTEMPT_NS_MAX (5 * SIM_S)  /* in a rough run: then it starts a new attempt */
#define PATIENCE_GROWTH_MAX 4
#define OFFER_NS_MAX (10 * SIM_S)
/* Longer than an image drains: where a stream may have one session, another asker is answered only
 * then. */
#define ROUGH_OFFER_NS_MAX (3 * SIM_S / 2)
#define QUIET_NS (3 * SIM_S)

typedef enum say_t {
    REQUEST = 1,
    ANSWER = 2
} say_t;

typedef struct header_t {
    int32_t say;
    int16_t asker;
    int16_t life; /* the life of the responder */
    int32_t attempt, number;
} header_t;

typedef struct asker_t {
    int32_t total, window;
    int32_t attempt;
    int64_t pause_ns_max;
    bool is_exclusive;
} asker_t;

/* Answers that an asker received in one attempt. */
typedef struct answered_t {
    uint64_t lives[REQUESTS_MAX]; /* one bit for each session that answered it */
    int32_t count;
    int32_t sessions[SESSIONS_MAX];
    int32_t last[SESSIONS_MAX]; /* the last number of that session and life */
    int32_t last_lives[SESSIONS_MAX];
    int32_t session_count;
} answered_t;

typedef struct caller_t {
    int32_t session_id;
    int64_t image_id;
    rst_publication_t *answers;
} caller_t;

static struct {
    bool is_ipc, has_prototype;
    double renewal; /* probability before an answer */
    char requests[96], answers[96];
    asker_t askers[ASKERS_MAX];
    int32_t asker_count;
    int16_t life; /* the life of the responder, from 1 */
} service;

/* ---- messages ---- */

static size_t length_of(const header_t *header)
{
    const uint32_t mixed = (uint32_t)header->asker * 7919 + (uint32_t)header->number * 104729
        + (uint32_t)header->say * 31;
    return sizeof *header + mixed % (mixed % 4 == 0 ? LENGTH_MAX : 64);
}

static uint8_t byte_at(const header_t *header, size_t i)
{
    return (uint8_t)((size_t)header->number * 31 + (size_t)header->asker * 7
        + (size_t)header->attempt * 13 + (size_t)header->say + i);
}

static size_t write_message(const header_t *header, uint8_t *message)
{
    const size_t length = length_of(header);
    memcpy(message, header, sizeof *header);
    for (size_t i = sizeof *header; i < length; i++) {
        message[i] = byte_at(header, i);
    }
    return length;
}

static header_t read_message(const rst_message_t *message, say_t say)
{
    header_t header;
    if (message->length < (int32_t)sizeof header) {
        sim_fail("a request or an answer comes with %d bytes", message->length);
    }
    memcpy(&header, message->data, sizeof header);
    if (header.say != (int32_t)say || (size_t)message->length != length_of(&header)) {
        sim_fail("a message of %d bytes comes where a %s is due", message->length,
            say == REQUEST ? "request" : "answer");
    }
    for (size_t i = sizeof header; i < (size_t)message->length; i++) {
        if (message->data[i] != byte_at(&header, i)) {
            sim_fail("byte %zu of message %d of asker %d is wrong", i, header.number, header.asker);
        }
    }
    return header;
}

static bool is_open(const sim_part_t *self)
{
    return rst_client_state(self->client->client) == RST_CLIENT_OPEN;
}

/* ---- askers ---- */

static int32_t session_of(answered_t *answered, int32_t session_id)
{
    int32_t i = 0;
    while (i < answered->session_count && answered->sessions[i] != session_id) {
        i++;
    }
    if (i == SESSIONS_MAX) {
        sim_fail("answers come on more than %d sessions", SESSIONS_MAX);
    }
    if (i == answered->session_count) {
        answered->sessions[i] = session_id;
        answered->last[i] = -1;
        answered->last_lives[i] = 0;
        answered->session_count++;
    }
    return i;
}

static void take_answer(const sim_part_t *self, const rst_message_t *message, answered_t *answered,
    int32_t asked)
{
    const header_t header = read_message(message, ANSWER);
    const int32_t session = session_of(answered, message->session_id);
    const int32_t last_life = answered->last_lives[session];
    const int32_t last = header.life > last_life ? -1 : answered->last[session];
    const int32_t attempt = service.askers[self->number].attempt;
    if (header.asker != self->number || header.attempt != attempt) {
        sim_fail("asker %d, attempt %d, gets an answer for asker %d, attempt %d", self->number,
            attempt, header.asker, header.attempt);
    }
    const uint64_t life = UINT64_C(1) << (header.life & 63);
    if (header.number < 0 || header.number >= asked || header.life < last_life
        || (answered->lives[header.number] & life) != 0 || header.number <= last) {
        sim_fail("asker %d gets answer %d of life %d, the last one of this session was %d of life"
                 " %d, %d are asked",
            self->number, header.number, header.life, answered->last[session], last_life, asked);
    }
    const bool is_new = answered->lives[header.number] == 0;
    answered->lives[header.number] |= life;
    answered->last[session] = header.number;
    answered->last_lives[session] = header.life;
    answered->count += is_new;
    sim_count(is_new ? "asker: answers" : "asker: answers again, of another life");
}

static void take_answers(const sim_part_t *self, rst_subscription_t *subscription,
    rst_batch_t *batch, answered_t *answered, int32_t asked)
{
    int32_t count = 0;
    if (rst_subscription_poll(subscription, 8, 0, batch) > 0) {
        const rst_message_t *messages = rst_batch_messages(batch, &count);
        for (int32_t i = 0; i < count; i++) {
            take_answer(self, &messages[i], answered, asked);
        }
        rst_batch_release(batch);
    }
}

/* True when all requests are answered. */
static bool converse(sim_part_t *self, rst_publication_t *requests, rst_subscription_t *answers,
    rst_batch_t *batch)
{
    uint8_t message[sizeof(header_t) + LENGTH_MAX];
    const asker_t *asker = &service.askers[self->number];
    /* The responder spends as long as ROUGH_OFFER_NS_MAX on each attempt that was given up. So with
     * constant patience several askers could keep it from ever answering one in time. */
    const int64_t patience_ns = actors.is_gentle
        ? ANSWER_NS_MAX
        : ATTEMPT_NS_MAX * rsti_min_i32(asker->attempt, PATIENCE_GROWTH_MAX);
    answered_t answered = {.count = 0};
    int32_t asked = 0;
    for (int64_t news_ns = world.now_ns; answered.count < asker->total && is_open(self);) {
        const int32_t before = answered.count + asked;
        if (asked < asker->total && asked - answered.count < asker->window) {
            const header_t header = {REQUEST, (int16_t)self->number, 0, asker->attempt, asked};
            const size_t length = write_message(&header, message);
            asked += rst_publication_offer(requests, message, length, 0) > 0;
        }
        take_answers(self, answers, batch, &answered, asked);
        if (answered.count + asked > before) {
            news_ns = world.now_ns;
        } else if (world.now_ns - news_ns > patience_ns) {
            return false;
        }
        /* Polls less often while nothing happens: seconds in steps of a microsecond would take too
         * long. */
        sim_fiber_sleep(1000 + (int64_t)sim_below(RNG_ACTOR, (uint64_t)asker->pause_ns_max)
            + (world.now_ns - news_ns) / 16);
    }
    return answered.count == asker->total;
}

static bool attempt(sim_part_t *self, rst_batch_t *batch)
{
    char channel[SIM_CHANNEL_MAX];
    asker_t *asker = &service.askers[self->number];
    bool is_done = false;
    rst_subscription_info_t info;
    rst_publication_t *requests = NULL;
    rst_subscription_t *answers = sim_part_subscribe(self, service.answers, SERVICE_STREAM + 1);
    if (answers == NULL) {
        return false;
    }
    asker->attempt++;
    rst_subscription_info(answers, &info);
    snprintf(channel, sizeof channel, "%s%cresponse-correlation-id=%" PRId64, service.requests,
        service.is_ipc ? '?' : '|', info.registration_id);
    requests = sim_part_publish(self, channel, SERVICE_STREAM, asker->is_exclusive);
    if (requests != NULL) {
        is_done = converse(self, requests, answers, batch);
        rst_publication_close(requests);
    }
    rst_subscription_close(answers);
    return is_done;
}

static bool ask(sim_part_t *self)
{
    rst_batch_t *batch;
    bool is_done = false;
    if (rst_batch_create(&batch, 8) < 0) {
        sim_fail("asker %d: %s", self->number, rst_last_error_text());
    }
    while (!is_done && is_open(self)) {
        is_done = attempt(self, batch);
        if (!is_done && actors.is_gentle) {
            sim_fail("asker %d is not answered", self->number);
        }
        sim_count(is_done ? "asker: all is answered" : "asker: asks anew");
    }
    rst_batch_destroy(batch);
    return is_done;
}

/* ---- responders ---- */

static caller_t *find_caller(caller_t *callers, int32_t session_id)
{
    for (int32_t i = 0; i < CALLERS_MAX; i++) {
        if (callers[i].answers != NULL && callers[i].session_id == session_id) {
            return &callers[i];
        }
    }
    return NULL;
}

/* It is refused when the image of the requests is gone by now. */
static rst_publication_t *greet(const sim_part_t *self, int64_t image_id)
{
    char channel[SIM_CHANNEL_MAX];
    rst_client_t *client = self->client->client;
    snprintf(channel, sizeof channel, "%s|response-correlation-id=%" PRId64, service.answers,
        image_id);
    const int64_t id = rst_client_add_publication(client, channel, SERVICE_STREAM + 1,
        sim_chance(RNG_ACTOR, 0.5));
    if (sim_part_await(self, id) != 1) {
        sim_count("responder: response channel refused");
        return NULL;
    }
    return rst_client_take_publication(client, id);
}

static void add_caller(const sim_part_t *self, caller_t *callers, const rst_image_event_t *event)
{
    int32_t i = 0;
    while (i < CALLERS_MAX && callers[i].answers != NULL) {
        i++;
    }
    if (i == CALLERS_MAX) {
        sim_fail("responder %d: more than %d callers", self->number, CALLERS_MAX);
    }
    callers[i] = (caller_t){
        event->session_id, event->correlation_id, greet(self, event->correlation_id)};
}

/* The same caller continues with another session. */
static void renew(const sim_part_t *self, caller_t *caller)
{
    sim_count("responder: another publication");
    rst_publication_close(caller->answers);
    caller->answers = greet(self, caller->image_id);
}

static bool take_callers(const sim_part_t *self, rst_subscription_t *subscription,
    caller_t *callers)
{
    rst_image_event_t event;
    bool has_news = false;
    while (rst_subscription_next_event(subscription, &event) == 1) {
        if (event.kind == RST_IMAGE_GAP) {
            continue;
        }
        caller_t *caller = find_caller(callers, event.session_id);
        has_news = true;
        if (caller != NULL) {
            rst_publication_close(caller->answers);
            *caller = (caller_t){0};
        }
        if (event.kind == RST_IMAGE_AVAILABLE) {
            add_caller(self, callers, &event);
        }
    }
    return has_news;
}

static void answer(const sim_part_t *self, caller_t *caller, const header_t *request)
{
    uint8_t message[sizeof(header_t) + LENGTH_MAX];
    const header_t header = {
        ANSWER, request->asker, service.life, request->attempt, request->number};
    const size_t length = write_message(&header, message);
    const int64_t begin_ns = world.now_ns;
    const int64_t patience_ns = actors.is_gentle ? OFFER_NS_MAX : ROUGH_OFFER_NS_MAX;
    while (rst_publication_offer(caller->answers, message, length, 0) <= 0) {
        if (world.now_ns - begin_ns > patience_ns || !is_open(self)) {
            sim_count("responder: no reader of the answer");
            rst_publication_close(caller->answers);
            *caller = (caller_t){0}; /* a further answer would leave a gap in the stream */
            return;
        }
        sim_fiber_sleep(1000 + (int64_t)sim_below(RNG_ACTOR, SIM_MS));
    }
    sim_count("responder: answers");
}

static void answer_all(const sim_part_t *self, caller_t *callers, const rst_batch_t *batch)
{
    int32_t count;
    const rst_message_t *messages = rst_batch_messages(batch, &count);
    for (int32_t i = 0; i < count; i++) {
        const header_t request = read_message(&messages[i], REQUEST);
        caller_t *caller = find_caller(callers, messages[i].session_id);
        if (caller != NULL && sim_chance(RNG_ACTOR, service.renewal)) {
            renew(self, caller);
        }
        if (caller != NULL && caller->answers != NULL) {
            answer(self, caller, &request);
        }
    }
}

static bool serve(sim_part_t *self, rst_subscription_t *subscription, rst_batch_t *batch)
{
    caller_t callers[CALLERS_MAX] = {{0}};
    bool is_over = false;
    for (int64_t news_ns = world.now_ns; !is_over && is_open(self);) {
        const bool has_callers = take_callers(self, subscription, callers);
        const int count = rst_subscription_poll(subscription, 4, 0, batch);
        if (count < 0) {
            break;
        }
        if (count > 0) {
            (void)take_callers(self, subscription, callers);
            answer_all(self, callers, batch);
            rst_batch_release(batch);
        }
        if (count > 0 || has_callers) {
            news_ns = world.now_ns;
        } else {
            sim_fiber_sleep(1000 + (int64_t)sim_below(RNG_ACTOR, 2 * SIM_MS));
        }
        is_over = actors.is_publishing_over && rst_subscription_image_count(subscription) == 0
            && world.now_ns - news_ns > QUIET_NS;
    }
    for (int32_t i = 0; i < CALLERS_MAX; i++) {
        if (callers[i].answers != NULL) {
            rst_publication_close(callers[i].answers);
        }
    }
    return is_over;
}

static bool respond(sim_part_t *self)
{
    char channel[SIM_CHANNEL_MAX];
    rst_batch_t *batch;
    rst_publication_t *prototype = NULL;
    bool is_done = false;
    rst_subscription_t *subscription = sim_part_subscribe(self, service.requests, SERVICE_STREAM);
    if (subscription == NULL) {
        return false;
    }
    service.life++;
    if (service.has_prototype) {
        sim_count("responder: keeps the socket open");
        snprintf(channel, sizeof channel, "%s|response-correlation-id=prototype", service.answers);
        prototype = sim_part_publish(self, channel, SERVICE_STREAM + 1, false);
    }
    if (rst_batch_create(&batch, 4) < 0) {
        sim_fail("responder %d: %s", self->number, rst_last_error_text());
    }
    is_done = serve(self, subscription, batch);
    rst_batch_destroy(batch);
    if (prototype != NULL) {
        rst_publication_close(prototype);
    }
    rst_subscription_close(subscription);
    return is_done;
}

/* ---- generators ---- */

static const sim_part_kind_t asker_kind = {"asker", true, ask};
static const sim_part_kind_t responder_kind = {"responder", false, respond};

int32_t sim_service_sessions(void)
{
    return service.is_ipc ? 0 : service.asker_count;
}

void sim_generate_service(void)
{
    sim_driver_t *server = sim_generate_any_driver();
    service.is_ipc = chance(0.25);
    service.has_prototype = chance(0.3);
    service.renewal = chance(0.4) ? 0.1 : 0;
    if (service.is_ipc) {
        snprintf(service.requests, sizeof service.requests, "aeron:ipc");
        snprintf(service.answers, sizeof service.answers, "aeron:ipc?control-mode=response");
    } else {
        const char *host = sim_host_address(server->host, chance(0.2));
        snprintf(service.requests, sizeof service.requests, "aeron:udp?endpoint=%s:%d", host,
            SERVICE_PORT);
        snprintf(service.answers, sizeof service.answers,
            "aeron:udp?control-mode=response|control=%s:%d", host, SERVICE_PORT + 1);
    }
    sim_count(service.is_ipc ? "responses: IPC" : "responses: UDP");
    sim_generate_part(&responder_kind, 0, server);
    service.asker_count = (int32_t)between(1, ASKERS_MAX);
    for (int32_t i = 0; i < service.asker_count; i++) {
        service.askers[i] = (asker_t){
            .total = (int32_t)between(1, REQUESTS_MAX),
            .window = (int32_t)skewed(4),
            .pause_ns_max = skewed(21),
            .is_exclusive = chance(0.7),
        };
        sim_generate_part(&asker_kind, i, service.is_ipc ? server : sim_generate_any_driver());
    }
}
