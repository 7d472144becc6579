/* A publication with several destinations at work: destinations that change while data flow, spies,
 * receivers that reject, and its end. */
#include "logbuffer/appender.h"
#include "tests/driver/harness.h"

#define START "|init-term-id=5|term-id=5|term-offset=0|term-length=64k"
#define DYNAMIC "aeron:udp?control=127.0.0.1:24401|control-mode=dynamic|tags=7" START
#define MANUAL "aeron:udp?control=127.0.0.1:24402|control-mode=manual" START
#define A "127.0.0.1:31001"
#define B "127.0.0.1:31002"
#define STREAM 10

typedef struct publisher_t {
    harness_t *h;
    int64_t id;
    rsti_network_publication_t *publication;
    rsti_appender_t appender;
} publisher_t;

static void publisher_open(publisher_t *p, const char *channel)
{
    p->h = harness_open();
    p->id = add(p->h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, channel, STREAM);
    p->publication = p->h->driver->conductor->publications.items[0];
    rsti_publication_t *base = &p->publication->base;
    rsti_appender_init(&p->appender, &base->file.log, base->pub_lmt, base->session_id, STREAM,
        true);
    forget_frames(p->h);
}

static void consumed(publisher_t *p, const char *from, int64_t receiver_id, int64_t position)
{
    const rsti_sm_t sm = {
        .frame = {RSTI_SM_LENGTH, 0, 0, RSTI_FRAME_SM},
        .session_id = p->publication->base.session_id,
        .stream_id = STREAM,
        .consumption_term_id = 5 + (int32_t)(position >> 16),
        .consumption_term_offset = (int32_t)(position & 0xFFFF),
        .receiver_window = 32 * 1024,
        .receiver_id = receiver_id,
    };
    inject(p->h, p->publication->endpoint->socket, from, &sm, sizeof sm);
}

/* A receiver rejects the image. */
static void send_err(publisher_t *p, const char *from, int64_t receiver_id)
{
    const struct {
        rsti_err_t err;
        char text[4];
    } frame = {
        .err =
            {
                .frame = {RSTI_ERR_LENGTH + 4, 0, 0, RSTI_FRAME_ERR},
                .session_id = p->publication->base.session_id,
                .stream_id = STREAM,
                .receiver_id = receiver_id,
                .error_code = RSTI_DRIVER_IMAGE_REJECTED,
                .error_length = 4,
            },
        .text = {'n', 'o', 'n', 'e'},
    };
    inject(p->h, p->publication->endpoint->socket, from, &frame, sizeof frame);
    pass(p->h);
    pass(p->h);
}

static int64_t destination(publisher_t *p, int32_t type, const char *channel)
{
    rsti_command_t c = {
        .type = type,
        .registration_id = p->id,
        .channel = {channel, (int32_t)strlen(channel)},
    };
    return command(p->h, &c);
}

static bool went_to(const frame_t *frame, const char *to)
{
    const struct sockaddr_storage address = address_of(to);
    return rsti_netaddr_equal(&frame->address, &address);
}

/* N7: one destination comes and goes while data flow; the other misses nothing and receives nothing
 * twice. */
TEST(destinations_change_while_data_flow)
{
    static const uint8_t message[992];
    const rsti_iovec_t part = {message, sizeof message};
    publisher_t p;
    publisher_open(&p, MANUAL);
    (void)destination(&p, RSTI_CMD_ADD_DESTINATION, "aeron:udp?endpoint=" A);
    consumed(&p, A, 1, 0);
    pass(p.h);
    pass(p.h);
    forget_frames(p.h);
    int64_t reached = 0, to_b = 0;
    for (int round = 0; reached < 5 * 65536; round++) {
        CHECK(round < 2000);
        for (int i = 0; i < 4; i++) {
            (void)rsti_append(&p.appender, &part, 1, part.length, 0);
        }
        p.h->answer_count = 0;
        const int32_t type = round % 4 < 2 ? RSTI_CMD_ADD_DESTINATION : RSTI_CMD_REMOVE_DESTINATION;
        if (round % 2 == 0) {
            const int64_t id = destination(&p, type, "aeron:udp?endpoint=" B);
            CHECK(answer(p.h, RSTI_RSP_OPERATION_SUCCESS, id) != NULL);
        }
        pass(p.h);
        for (int i = 0; i < p.h->sent_count; i++) {
            const frame_t *frame = &p.h->sent[i];
            const rsti_data_header_t *header = (const void *)frame->data;
            if (frame_type(frame) == RSTI_FRAME_SETUP || header->frame.frame_length == 0) {
                continue;
            }
            const int64_t position = (int64_t)(header->term_id - 5) * 65536 + header->term_offset;
            if (went_to(frame, A)) {
                CHECK_EQ(position, reached);
                const bool is_padding = header->frame.type == RSTI_FRAME_PAD;
                reached += is_padding ? header->frame.frame_length : (int64_t)frame->length;
            } else {
                to_b++;
            }
        }
        forget_frames(p.h);
        consumed(&p, A, 1, reached);
        pass(p.h);
    }
    CHECK(to_b > 20);
    harness_close(p.h);
}

/* N7, N9: a spy finds a publication with destinations by its tag, and limits it like any other. */
TEST(a_spy_finds_it_by_tag)
{
    publisher_t p;
    publisher_open(&p, DYNAMIC);
    const int64_t spy = add(p.h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron-spy:aeron:udp?tags=7", STREAM);
    const answer_t *image = answer(p.h, RSTI_RSP_AVAILABLE_IMAGE, p.id);
    CHECK(image != NULL);
    CHECK_EQ(image->response.registration_id, spy);
    (void)add(p.h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron-spy:aeron:udp?tags=8", STREAM);
    CHECK_EQ(p.publication->base.subscribers.count, 1);
    consumed(&p, A, 1, 0);
    pass(p.h);
    pass(p.h);
    CHECK_EQ(*p.publication->base.pub_lmt, 32 * 1024);
    harness_close(p.h);
}

/* N11: a receiver of a manual destination rejects: the publisher hears the destination's id. */
TEST(a_rejection_names_its_destination)
{
    publisher_t p;
    publisher_open(&p, MANUAL);
    (void)destination(&p, RSTI_CMD_ADD_DESTINATION, "aeron:udp?endpoint=" A);
    const int64_t id = destination(&p, RSTI_CMD_ADD_DESTINATION, "aeron:udp?endpoint=" B);
    consumed(&p, A, 1, 0);
    consumed(&p, B, 2, 0);
    pass(p.h);
    pass(p.h);
    p.h->answer_count = 0;
    send_err(&p, B, 2);
    const answer_t *told = answer_of_type(p.h, RSTI_RSP_PUBLICATION_ERROR);
    CHECK(told != NULL);
    CHECK_EQ(told->response.destination_id, id);
    harness_close(p.h);
}

/* N11: one of two receivers rejects; the publisher hears which, and the other one goes on. */
TEST(one_of_several_receivers_rejects)
{
    static const uint8_t message[992];
    const rsti_iovec_t part = {message, sizeof message};
    publisher_t p;
    publisher_open(&p, DYNAMIC);
    consumed(&p, A, 1, 0);
    consumed(&p, B, 2, 0);
    pass(p.h);
    pass(p.h);
    p.h->answer_count = 0;
    send_err(&p, B, 2);
    const answer_t *told = answer_of_type(p.h, RSTI_RSP_PUBLICATION_ERROR);
    CHECK(told != NULL);
    CHECK_EQ(told->response.registration_id, p.id);
    CHECK_EQ(told->response.receiver_id, 2);
    CHECK_EQ(told->response.destination_id, -1); /* it was never added */
    CHECK_EQ(told->response.port, 31002);
    CHECK_STR(told->text, "none");
    CHECK_EQ(p.publication->base.file.log.metadata->is_connected, 1);
    CHECK(rsti_append(&p.appender, &part, 1, part.length, 0) > 0);
    forget_frames(p.h);
    pass(p.h);
    bool is_sent = false;
    for (int i = 0; i < p.h->sent_count; i++) {
        is_sent = is_sent || went_to(&p.h->sent[i], A);
    }
    CHECK(is_sent);
    harness_close(p.h);
}

/* N12, N13: every destination is told of the end of the stream and of its revocation. */
TEST(every_destination_hears_of_the_end)
{
    for (int is_revoked = 0; is_revoked < 2; is_revoked++) {
        publisher_t p;
        publisher_open(&p, MANUAL);
        (void)destination(&p, RSTI_CMD_ADD_DESTINATION, "aeron:udp?endpoint=" A);
        (void)destination(&p, RSTI_CMD_ADD_DESTINATION, "aeron:udp?endpoint=" B);
        consumed(&p, A, 1, 0);
        consumed(&p, B, 2, 0);
        pass(p.h);
        pass(p.h);
        forget_frames(p.h);
        rsti_command_t c = {.type = RSTI_CMD_REMOVE_PUBLICATION,
            .registration_id = p.id,
            .flags = (uint64_t)is_revoked};
        CHECK(answer(p.h, RSTI_RSP_OPERATION_SUCCESS, command(p.h, &c)) != NULL);
        advance_alive(p.h, 300 * MS, 50 * MS);
        int ends[2] = {0};
        const uint8_t wanted = (uint8_t)(RSTI_FLAG_UNFRAGMENTED | RSTI_FLAG_EOS
            | (is_revoked ? RSTI_FLAG_REVOKED : 0));
        for (int i = 0; i < p.h->sent_count; i++) {
            const rsti_data_header_t *header = (const void *)p.h->sent[i].data;
            if (header->frame.type == RSTI_FRAME_DATA && header->frame.flags == wanted) {
                ends[went_to(&p.h->sent[i], B)]++;
            }
        }
        CHECK(ends[0] >= 1 && ends[1] >= 1);
        CHECK_EQ(counter(p.h, RSTI_SYSTEM_PUBLICATIONS_REVOKED), is_revoked);
        harness_close(p.h);
    }
}

CHECK_MAIN(RUN(destinations_change_while_data_flow), RUN(a_spy_finds_it_by_tag),
    RUN(a_rejection_names_its_destination), RUN(one_of_several_receivers_rejects),
    RUN(every_destination_hears_of_the_end))
