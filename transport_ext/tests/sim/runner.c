#include "tests/sim/runner.h"

#include "tests/sim/actors.h"
#include "tests/sim/keys.h"
#include "tests/sim/world.h"

#include <ftw.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOBS_MAX 16
#define RUN_SECONDS_MAX 60
#define TALLIES_MAX 256
#define REPORT_MAX 16384

int __real_close(int fd);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);

typedef struct job_t {
    pid_t pid;
    uint64_t seed;
    int fd; /* the counts of the child */
} job_t;

typedef struct tally_t {
    char name[48];
    int64_t amount, runs;
} tally_t;

static tally_t tallies[TALLIES_MAX];
static int tally_count;

static void add_tally(const char *name, int64_t amount)
{
    int i = 0;
    while (i < tally_count && strcmp(tallies[i].name, name) != 0) {
        i++;
    }
    if (i == TALLIES_MAX) {
        return;
    }
    if (i == tally_count) {
        tally_count++;
        snprintf(tallies[i].name, sizeof tallies[i].name, "%s", name);
    }
    tallies[i].amount += amount;
    tallies[i].runs++;
}

static void read_report(int fd)
{
    static char report[REPORT_MAX];
    size_t used = 0;
    ssize_t got;
    while (used < sizeof report - 1
        && (got = read(fd, report + used, sizeof report - 1 - used)) > 0) {
        used += (size_t)got;
    }
    report[used] = '\0';
    for (char *line = strtok(report, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char *tab = strchr(line, '\t');
        if (tab != NULL) {
            *tab = '\0';
            add_tally(line, strtoll(tab + 1, NULL, 10));
        }
    }
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

/* Removes what the drivers of a failed run left. */
static void remove_home(pid_t pid, uint64_t seed)
{
    char path[128];
    snprintf(path, sizeof path, SIM_HOME, (int)pid, seed);
    if (access(path, F_OK) == 0 && nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS) != 0) {
        fprintf(stderr, "cannot remove %s\n", path);
    }
}

static void start(job_t *job, uint64_t seed)
{
    int ends[2];
    if (pipe(ends) != 0) {
        perror("pipe");
        exit(2);
    }
    fflush(stdout);
    const pid_t pid = fork();
    if (pid < 0) {
        perror("fork");
        exit(2);
    }
    if (pid == 0) {
        (void)__real_close(ends[0]);
        alarm(RUN_SECONDS_MAX);
        sim_run(seed, false);
        sim_counts_write(ends[1]);
        exit(0); /* not _exit: coverage is written then */
    }
    (void)__real_close(ends[1]);
    *job = (job_t){pid, seed, ends[0]};
}

/* True when the run passed. */
static bool finish(job_t *job)
{
    int status = 0;
    read_report(job->fd);
    (void)__real_close(job->fd);
    (void)waitpid(job->pid, &status, 0);
    const bool is_clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!is_clean) {
        remove_home(job->pid, job->seed);
        if (WIFSIGNALED(status)) {
            fprintf(stderr, "seed %" PRIu64 ": %s\n", job->seed,
                WTERMSIG(status) == SIGALRM ? "takes too long" : strsignal(WTERMSIG(status)));
        }
        fprintf(stderr, "  again: make sim SEED=%" PRIu64 "%s\n", job->seed,
            sim_keys_choice_text());
    }
    job->pid = 0;
    return is_clean;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const tally_t *)a)->name, ((const tally_t *)b)->name);
}

static void print_histogram(uint64_t runs)
{
    qsort(tallies, (size_t)tally_count, sizeof tallies[0], by_name);
    printf("%-40s %12s %8s\n", "what was exercised", "times", "runs");
    for (int i = 0; i < tally_count; i++) {
        printf("%-40s %12" PRId64 " %7.1f%%\n", tallies[i].name, tallies[i].amount,
            100.0 * (double)tallies[i].runs / (double)runs);
    }
}

static double cpu_seconds(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Reaps a finished run and starts the next one in its slot. Returns the failures. */
static int turn(job_t *jobs, int job_count, const sim_runner_params_t *params, bool may_start,
    uint64_t *started, uint64_t *finished)
{
    struct pollfd ends[JOBS_MAX];
    int failures = 0;
    for (int i = 0; i < job_count; i++) {
        ends[i] = (struct pollfd){jobs[i].pid != 0 ? jobs[i].fd : -1, POLLIN, 0};
    }
    if (*finished < *started && __real_poll(ends, (nfds_t)job_count, -1) < 0) {
        perror("poll");
        exit(2);
    }
    for (int i = 0; i < job_count; i++) {
        if (jobs[i].pid != 0 && ends[i].revents != 0) {
            failures += !finish(&jobs[i]);
            (*finished)++;
        }
        if (jobs[i].pid == 0 && may_start && *started < params->count) {
            start(&jobs[i], params->from + (*started)++);
        }
    }
    return failures;
}

int sim_run_many(const sim_runner_params_t *params)
{
    job_t jobs[JOBS_MAX] = {{0}};
    const int job_count = params->jobs < 1 ? 1 : params->jobs < JOBS_MAX ? params->jobs : JOBS_MAX;
    uint64_t started = 0, finished = 0;
    int failures = 0;
    bool may_start = true;
    while (finished < started || (may_start && started < params->count)) {
        failures += turn(jobs, job_count, params, may_start, &started, &finished);
        may_start = failures < params->failures_max;
    }
    print_histogram(finished);
    printf("%" PRIu64 " seeds from %" PRIu64 ": %d failed; %.1f ms of CPU per seed\n", finished,
        params->from, failures, finished == 0 ? 0 : 1000 * cpu_seconds() / (double)finished);
    return failures == 0 ? 0 : 1;
}
