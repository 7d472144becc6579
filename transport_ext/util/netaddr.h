/* netaddr.h: address text to sockaddr and back. Name look-ups may block (getaddrinfo): only the
 * conductor and clients call rsti_netaddr_resolve. */
#ifndef RSTI_UTIL_NETADDR_H
#define RSTI_UTIL_NETADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define RSTI_NETADDR_TEXT_MAX 64

/* "h:p" or "[v6]:p" split into host and port; false when the port is missing or not 0…65535. */
bool rsti_netaddr_split(const char *text, char *host, size_t host_size, uint16_t *port);
/* Resolves "h:p". 0, or -RST_EUNKNOWNHOST / -RST_ECHANNEL with a trail. */
int rsti_netaddr_resolve(const char *text, struct sockaddr_storage *address);
/* "a.b.c.d:port" or "[v6]:port"; always terminated. Returns text. */
const char *rsti_netaddr_format(const struct sockaddr_storage *address, char *text, size_t size);
bool rsti_netaddr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
bool rsti_netaddr_is_multicast(const struct sockaddr_storage *address);
uint16_t rsti_netaddr_port(const struct sockaddr_storage *address);
void rsti_netaddr_set_port(struct sockaddr_storage *address, uint16_t port);
socklen_t rsti_netaddr_length(const struct sockaddr_storage *address);
/* interface= text: "ip", "ip/prefix", "ip:port", "ip/prefix:port", "localhost"; finds the local
 * address that matches. 0 or -RST_ECHANNEL naming the text. */
int rsti_netaddr_interface(const char *text, int family, struct sockaddr_storage *address);

#endif
