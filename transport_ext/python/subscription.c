/* subscription.c: see subscription.h, and what a handle does as a subscription. */
#include "subscription.h"

#include "large.h"

#include <string.h>

static rst_subscription_t *of(rsti_py_handle_t *handle)
{
    return ((rsti_py_subscription_t *)handle)->subscription;
}

static int attach(rsti_py_handle_t *handle, rst_waiter_t *waiter, bool is_demand)
{
    (void)is_demand;
    return rst_waiter_attach_subscription(waiter, of(handle));
}

static void detach(rsti_py_handle_t *handle, rst_waiter_t *waiter)
{
    rst_waiter_detach_subscription(waiter, of(handle));
}

static void release(rsti_py_handle_t *handle)
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)handle;

    rsti_py_subscription_unread(self, 0);
    (void)rsti_py_subscription_release(self);
}

static void destroy(rsti_py_handle_t *handle)
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)handle;

    rsti_py_subscription_unread(self, 0);
    (void)rsti_py_subscription_release(self);
    rst_batch_destroy(self->batch);
    rst_batch_destroy(self->spare);
    self->batch = NULL;
    self->spare = NULL;
    rst_subscription_close(self->subscription);
    self->subscription = NULL;
    rsti_py_large_drain(self);
}

static int64_t add_destination(rsti_py_handle_t *handle, const char *uri)
{
    return rst_subscription_add_destination(of(handle), uri);
}

static int64_t remove_destination(rsti_py_handle_t *handle, const char *uri)
{
    return rst_subscription_remove_destination(of(handle), uri);
}

static int64_t remove_destination_by_id(rsti_py_handle_t *handle, int64_t destination_id)
{
    return rst_subscription_remove_destination_by_id(of(handle), destination_id);
}

static int local_address(rsti_py_handle_t *handle, int index, char *text, size_t size)
{
    return rst_subscription_local_address_at(of(handle), index, text, size);
}

static const rsti_py_handle_ops_t subscription_ops = {
    .kind = "subscription",
    .attach = attach,
    .detach = detach,
    .release = release,
    .destroy = destroy,
    .add_destination = add_destination,
    .remove_destination = remove_destination,
    .remove_destination_by_id = remove_destination_by_id,
    .local_address = local_address,
};

PyObject *rsti_py_subscription_make(rsti_py_client_t *client, rst_subscription_t *subscription)
{
    rsti_py_subscription_t *self = PyObject_New(rsti_py_subscription_t,
        client->state->subscription_type);
    rst_subscription_info_t info;

    if (self == NULL) {
        rst_subscription_close(subscription);
        return NULL;
    }
    memset((char *)self + sizeof(PyObject), 0, sizeof(*self) - sizeof(PyObject));
    self->subscription = subscription;
    self->handle.ops = &subscription_ops;
    rst_subscription_info(subscription, &info);
    self->handle.registration_id = info.registration_id;
    self->channel_status_id = info.channel_status_id;
    self->handle.stream_id = info.stream_id;
    rsti_py_handle_link(&self->handle, client);
    self->handle.channel = PyUnicode_FromString(info.channel);
    if (self->handle.channel == NULL) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}
