/*
 * A chat model that answers at once: plain, or as a stream with ten events in each piece. `pieces` and `everyMs` in the request set
 * the number of pieces and the pause between them. It takes a fraction of the CPU of the servers that it answers.
 *
 *   mock-upstream [PORT]    listens on 127.0.0.1, prints its port, and ends with its parent. Default: a free port
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 65536, REQUEST_BYTES_MAX = 65536, EVENTS = 256, DEFAULT_PIECES = 10 };

/* Bytes that are sent unchanged. */
typedef struct {
  char *bytes;
  size_t length;
} Answer;

typedef struct {
  char request[REQUEST_BYTES_MAX + 1];
  size_t length;
  /* The answer that is being sent, and how much of it has gone. Null between answers. */
  const Answer *sending;
  size_t sent;
  /* Of a stream: pieces to send after this one, the last one included. 0 otherwise. */
  long pieces_left, every_ms;
  /* When the next piece is due; 0 where none waits. */
  long due_ms;
} Connection;

static Connection *connections[CONNECTIONS_MAX];
static int highest, paused;
static int poller;
static Answer plain, first, ten, last, not_found;

#define HEAD "\"id\":\"chatcmpl-bench\",\"created\":1700000000,\"model\":\"mock-model\",\"system_fingerprint\":\"fp_bench\","
#define USAGE "\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":100,\"total_tokens\":120}"
#define EVENT(choices, more) \
  "data: {" HEAD "\"object\":\"chat.completion.chunk\",\"choices\":[" choices "]," more "}\n\n"
#define CHOICE(delta, reason) "{\"index\":0,\"delta\":" delta ",\"logprobs\":null,\"finish_reason\":" reason "}"
#define KEPT "date: Thu, 01 Jan 2026 00:00:00 GMT\r\nconnection: keep-alive\r\nkeep-alive: timeout=600\r\n"

/* Appends `count` copies of the text. */
static void append(Answer *answer, const char *text, int count) {
  size_t length = strlen(text);
  answer->bytes = realloc(answer->bytes, answer->length + length * count + 1);
  for (; count > 0; count--) answer->length = stpcpy(answer->bytes + answer->length, text) - answer->bytes;
}

/* Appends a chunk of the transfer coding. */
static void append_chunk(Answer *answer, const char *event, int count) {
  char size[32];
  snprintf(size, sizeof size, "%zx\r\n", strlen(event) * count);
  append(answer, size, 1);
  append(answer, event, count);
  append(answer, "\r\n", 1);
}

static void write_answers(void) {
  Answer body = {0};
  append(&body, "{" HEAD "\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"", 1);
  append(&body, "word ", 100);
  append(&body, "\"},\"logprobs\":null,\"finish_reason\":\"stop\"}]," USAGE "}", 1);
  char length[64];
  snprintf(length, sizeof length, "content-length: %zu\r\n\r\n", body.length);
  append(&plain, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n" KEPT, 1);
  append(&plain, length, 1);
  append(&plain, body.bytes, 1);
  append(&first, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n" KEPT "\r\n", 1);
  append_chunk(&first, EVENT(CHOICE("{\"role\":\"assistant\",\"content\":\"\"}", "null"), "\"usage\":null"), 1);
  append_chunk(&ten, EVENT(CHOICE("{\"content\":\"word \"}", "null"), "\"usage\":null"), 10);
  append_chunk(&last, EVENT(CHOICE("{}", "\"stop\""), "\"usage\":null") EVENT("", USAGE) "data: [DONE]\n\n", 1);
  append(&last, "0\r\n\r\n", 1);
  append(&not_found, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", 1);
}

static long now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void watch(int fd, int how, uint32_t events) {
  struct epoll_event event = {.events = events, .data.fd = fd};
  epoll_ctl(poller, how, fd, &event);
}

static void end(int fd) {
  Connection *connection = connections[fd];
  if (connection->due_ms != 0) paused--;
  close(fd);
  free(connection);
  connections[fd] = NULL;
}

/* The number after a name in the body, or `otherwise`. */
static long number_of(const char *body, const char *name, long otherwise) {
  const char *at = strstr(body, name);
  return at == NULL ? otherwise : atol(at + strlen(name) + strspn(at + strlen(name), "\": "));
}

/* The length of the first request, if all of it has come; else 0. */
static size_t request_length(const Connection *connection, const char **body) {
  const char *head_end = memmem(connection->request, connection->length, "\r\n\r\n", 4);
  if (head_end == NULL) return 0;
  *body = head_end + 4;
  const char *field = strcasestr(connection->request, "\r\ncontent-length:");
  size_t length = *body - connection->request;
  if (field != NULL && field < head_end) length += atol(field + strlen("\r\ncontent-length:"));
  return length <= connection->length ? length : 0;
}

/* Sends as much as the connection accepts. */
static void send_on(int fd) {
  Connection *connection = connections[fd];
  const Answer *answer = connection->sending;
  int was_waiting = connection->sent > 0 || answer == &last;
  ssize_t count = send(fd, answer->bytes + connection->sent, answer->length - connection->sent, MSG_NOSIGNAL);
  if (count < 0 && errno != EAGAIN) return end(fd);
  if (count > 0) connection->sent += count;
  if (connection->sent < answer->length) return watch(fd, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
  connection->sent = 0;
  if (connection->pieces_left == 0) {
    connection->sending = NULL;
    if (was_waiting) watch(fd, EPOLL_CTL_MOD, EPOLLIN);
    return;
  }
  connection->pieces_left--;
  connection->sending = connection->pieces_left == 0 ? &last : &ten;
  if (connection->every_ms > 0) {
    connection->due_ms = now_ms() + connection->every_ms;
    paused++;
  }
  /* Streams take turns: each sends a piece when it is writable. */
  watch(fd, EPOLL_CTL_MOD, connection->every_ms > 0 ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

static void answer_request(int fd, size_t length, const char *body) {
  Connection *connection = connections[fd];
  char kept = connection->request[length];
  connection->request[length] = 0;
  int is_stream = strstr(body, "\"stream\":true") != NULL || strstr(body, "\"stream\": true") != NULL;
  connection->pieces_left = is_stream ? number_of(body, "\"pieces\"", DEFAULT_PIECES) + 1 : 0;
  connection->every_ms = is_stream ? number_of(body, "\"everyMs\"", 0) : 0;
  /* A peer may look for more than chat. */
  int is_chat = strncmp(connection->request, "POST ", 5) == 0;
  connection->sending = !is_chat ? &not_found : is_stream ? &first : &plain;
  connection->request[length] = kept;
  connection->length -= length;
  memmove(connection->request, connection->request + length, connection->length + 1);
  send_on(fd);
}

static void receive(int fd) {
  Connection *connection = connections[fd];
  ssize_t count = recv(fd, connection->request + connection->length, REQUEST_BYTES_MAX - connection->length, 0);
  if (count < 0 && errno == EAGAIN) return;
  if (count <= 0) return end(fd);
  connection->length += count;
  connection->request[connection->length] = 0;
  if (connection->sending != NULL) return;
  const char *body;
  size_t length = request_length(connection, &body);
  if (length > 0) answer_request(fd, length, body);
}

static void accept_all(int listener) {
  int fd, on = 1;
  while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
    if (fd >= CONNECTIONS_MAX) exit(1);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connections[fd] = calloc(1, sizeof(Connection));
    if (fd > highest) highest = fd;
    watch(fd, EPOLL_CTL_ADD, EPOLLIN);
  }
}

static void send_due(void) {
  long now = now_ms();
  for (int fd = 0; fd <= highest && paused > 0; fd++) {
    Connection *connection = connections[fd];
    if (connection == NULL || connection->due_ms == 0 || connection->due_ms > now) continue;
    connection->due_ms = 0;
    paused--;
    send_on(fd);
  }
}

static int listen_on(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int on = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 4096) != 0) return -1;
  getsockname(listener, (struct sockaddr *)&address, &length);
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  return listener;
}

int main(int count, char **arguments) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  write_answers();
  poller = epoll_create1(0);
  int listener = listen_on(count > 1 ? atoi(arguments[1]) : 0);
  if (listener < 0) return 1;
  watch(listener, EPOLL_CTL_ADD, EPOLLIN);
  struct epoll_event events[EVENTS];
  for (;;) {
    int ready = epoll_wait(poller, events, EVENTS, paused > 0 ? 1 : -1);
    for (int n = 0; n < ready; n++) {
      int fd = events[n].data.fd;
      if (fd == listener) accept_all(fd);
      else if (connections[fd] != NULL && events[n].events & EPOLLOUT && connections[fd]->sending != NULL) send_on(fd);
      else if (connections[fd] != NULL) receive(fd);
    }
    if (paused > 0) send_due();
  }
}
