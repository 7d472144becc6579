/* publication.c: see publication.h, and what a handle does as a publication. */
#include "publication.h"

#include <string.h>

static rst_publication_t *of(rsti_py_handle_t *handle)
{
    return ((rsti_py_publication_t *)handle)->publication;
}

static int attach(rsti_py_handle_t *handle, rst_waiter_t *waiter, bool is_demand)
{
    return is_demand ? rst_waiter_attach_demand(waiter, of(handle))
                     : rst_waiter_attach_publication(waiter, of(handle));
}

static void detach(rsti_py_handle_t *handle, rst_waiter_t *waiter)
{
    rst_waiter_detach_publication(waiter, of(handle));
    rst_waiter_detach_demand(waiter, of(handle));
}

static void release(rsti_py_handle_t *handle)
{
    (void)handle; /* open claims pin the handle: they end it */
}

static void destroy(rsti_py_handle_t *handle)
{
    rsti_py_publication_t *self = (rsti_py_publication_t *)handle;

    if (self->is_revoking) {
        rst_publication_revoke(self->publication);
    } else {
        rst_publication_close(self->publication);
    }
    self->publication = NULL;
}

static int64_t add_destination(rsti_py_handle_t *handle, const char *uri)
{
    return rst_publication_add_destination(of(handle), uri);
}

static int64_t remove_destination(rsti_py_handle_t *handle, const char *uri)
{
    return rst_publication_remove_destination(of(handle), uri);
}

static int64_t remove_destination_by_id(rsti_py_handle_t *handle, int64_t destination_id)
{
    return rst_publication_remove_destination_by_id(of(handle), destination_id);
}

static int local_address(rsti_py_handle_t *handle, int index, char *text, size_t size)
{
    return rst_publication_local_address(of(handle), index, text, size);
}

static const rsti_py_handle_ops_t publication_ops = {
    .kind = "publication",
    .attach = attach,
    .detach = detach,
    .release = release,
    .destroy = destroy,
    .add_destination = add_destination,
    .remove_destination = remove_destination,
    .remove_destination_by_id = remove_destination_by_id,
    .local_address = local_address,
};

PyObject *rsti_py_publication_make(rsti_py_client_t *client, rst_publication_t *publication)
{
    rsti_py_publication_t *self = PyObject_New(rsti_py_publication_t,
        client->state->publication_type);

    if (self == NULL) {
        rst_publication_close(publication);
        return NULL;
    }
    memset((char *)self + sizeof(PyObject), 0, sizeof(*self) - sizeof(PyObject));
    self->publication = publication;
    self->filled = -1;
    self->handle.ops = &publication_ops;
    rst_publication_info(publication, &self->info);
    self->handle.registration_id = self->info.registration_id;
    self->handle.stream_id = self->info.stream_id;
    rsti_py_handle_link(&self->handle, client);
    self->handle.channel = PyUnicode_FromString(self->info.channel);
    if (self->handle.channel == NULL) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}
