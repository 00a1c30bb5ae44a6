/* Replaces a hook or a job: records how it was called, then behaves as scripts/NAME does.
 *
 * It is written in C because it must not change what it records: a shell unblocks signals, and Rust's start-up ignores
 * SIGPIPE and opens /dev/null for closed descriptors. It is located in TOP/local/..., and records into TOP/records. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char directory[4096];

/* Descriptors 0 to 2 may be closed: ours must never land there, or facts would be wrong and output lost. */
static int high(int fd)
{
    int moved = fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 20);
    if (fd >= 0) close(fd);
    return moved;
}

static int create(const char *name)
{
    char path[4608];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return high(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
}

static void copy(int from, int to)
{
    char buffer[65536];
    ssize_t count;
    while ((count = read(from, buffer, sizeof buffer)) > 0)
        if (write(to, buffer, count) < 0) break;
}

static void copy_file(const char *from, const char *name)
{
    int in = from ? high(open(from, O_RDONLY)) : -1;
    if (in < 0) return;
    int out = create(name);
    copy(in, out);
    close(in);
    close(out);
}

static void facts(void)
{
    char line[8192], path[64], target[4096];
    int out = create("facts");
    mode_t mask = umask(0);
    umask(mask);
    dprintf(out, "%04o\n", mask);
    snprintf(line, sizeof line, "%d () x %d %d %d", getpid(), getppid(), getpgrp(), getsid(0));
    dprintf(out, "%s\n", line);
    dprintf(out, "%s\n", getcwd(target, sizeof target) ? target : "?");
    for (int fd = 0; fd <= 2; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length < 0) { dprintf(out, "closed\n"); continue; }
        target[length] = 0;
        dprintf(out, "%s flags:%o\n", target, fcntl(fd, F_GETFL));
    }
    close(out);
}

/* Reads the available bytes from a pipe of the behaviour, records them and passes them on. */
static int forward(int from, int record, int to)
{
    char buffer[65536];
    ssize_t count = read(from, buffer, sizeof buffer);
    if (count <= 0) return 0;
    if (write(record, buffer, count) < 0) return 0;
    for (ssize_t done = 0; done < count;) {
        ssize_t written = write(to, buffer + done, count - done);
        if (written < 0 && errno == EAGAIN) { struct pollfd ready = { to, POLLOUT, 0 }; poll(&ready, 1, -1); continue; }
        if (written < 0) return 0; /* the caller reads no more: neither do we, so that the behaviour gets EPIPE */
        done += written;
    }
    return 1;
}

/* Gets the job of an ad, as CLUSTER.PROC. */
static int job_of(const char *file, char *job, size_t size)
{
    char path[4608], line[65536];
    int cluster = -1, proc = 0, number;
    snprintf(path, sizeof path, "%s/%s", directory, file);
    FILE *ad = fopen(path, "re");
    if (!ad) return 0;
    while (fgets(line, sizeof line, ad)) {
        if (sscanf(line, " ClusterId = %d", &number) == 1) cluster = number;
        if (sscanf(line, " ProcId = %d", &number) == 1) proc = number;
    }
    fclose(ad);
    snprintf(job, size, "%d.%d", cluster, proc);
    return cluster >= 0;
}

/* Waits until the recorded call would have ended: whole seconds decide what a slot does next, and our calls are faster.
 * The file `pace` contains the ends of the recorded calls by our clock: NAME CLUSTER.PROC SECONDS. */
static void keep_pace(const char *top, const char *name)
{
    char path[4608], line[512], job[64], of[256], about[64];
    struct timespec now;
    double wait = 0, end;
    snprintf(path, sizeof path, "%s/records/pace", top);
    FILE *pace = fopen(path, "re");
    if (!pace) return;
    if (job_of("stdout", job, sizeof job) || job_of("stdin", job, sizeof job)) {
        clock_gettime(CLOCK_REALTIME, &now);
        while (fgets(line, sizeof line, pace)) {
            if (sscanf(line, "%255s %63s %lf", of, about, &end) != 3 || strcmp(of, name) || strcmp(about, job)) continue;
            end -= now.tv_sec + now.tv_nsec / 1e9;
            if (end > 0 && end < 0.6 && (wait == 0 || end < wait)) wait = end;
        }
    }
    fclose(pace);
    if (wait > 0) usleep((useconds_t)(wait * 1e6));
}

int main(int argc, char **argv, char **environment)
{
    struct timespec now;
    char program[4608], modes[4608], line[512];
    /* PreCmd and PostCmd have a different argv[0]. */
    static char own[4608];
    ssize_t own_length = readlink("/proc/self/exe", own, sizeof own - 1);
    const char *called = own_length > 0 ? own : argv[0];
    static char top[4096];
    for (const char *at = called; (at = strstr(at, "/local/")) != NULL; at++)
        snprintf(top, sizeof top, "%.*s", (int)(at - called), called);
    const char *name = strrchr(called, '/') ? strrchr(called, '/') + 1 : called;
    int is_job = strstr(called, "/job.d/") != NULL, deaf = 0, direct = 0;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(directory, sizeof directory, "%s/records/%ld.%09ld-%s-%d", top, now.tv_sec, now.tv_nsec, name, getpid());
    mkdir(directory, 0755);
    snprintf(program, sizeof program, "%s/local/scripts/%s", top, name);
    facts();
    copy_file("/proc/self/status", "status");
    copy_file("/proc/self/limits", "limits");
    int out = create("environ");
    for (char **entry = environment; *entry; entry++) { dprintf(out, "%s", *entry); (void)!write(out, "", 1); }
    close(out);
    out = create("argv");
    for (int index = 0; index < argc; index++) { dprintf(out, "%s", argv[index]); (void)!write(out, "", 1); }
    close(out);
    copy_file(getenv("_CONDOR_JOB_AD"), "job.ad");
    copy_file(getenv("_CONDOR_MACHINE_AD"), "machine.ad");
    snprintf(modes, sizeof modes, "%s/local/scripts/MODES", top);
    FILE *list = fopen(modes, "re");
    while (list && fgets(line, sizeof line, list)) {
        size_t length = strlen(name);
        if (strncmp(line, name, length) == 0 && line[length] == '.') {
            deaf |= strncmp(line + length, ".nostdin", 8) == 0;
            direct |= strncmp(line + length, ".direct", 7) == 0;
        }
    }
    if (list) fclose(list);
    if (is_job || direct) {
        close(create("ready"));
        execv(program, argv);
        _exit(127);
    }
    int in = -1;
    if (!deaf) {
        int file = create("stdin");
        copy(0, file);
        close(file);
        snprintf(line, sizeof line, "%s/stdin", directory);
        in = high(open(line, O_RDONLY));
    }
    int pipes[2][2] = { { -1, -1 }, { -1, -1 } }, record[2] = { create("stdout"), create("stderr") };
    for (int index = 0; index < 2; index++) {
        if (pipe(pipes[index]) == 0) { pipes[index][0] = high(pipes[index][0]); pipes[index][1] = high(pipes[index][1]); }
    }
    close(create("ready"));
    pid_t child = fork();
    if (child == 0) {
        if (in >= 0) dup2(in, 0);
        dup2(pipes[0][1], 1);
        dup2(pipes[1][1], 2);
        execv(program, argv);
        _exit(127);
    }
    close(pipes[0][1]);
    close(pipes[1][1]);
    int open_pipes[2] = { 1, 1 }, status = 0, ended = 0;
    while (!ended || open_pipes[0] || open_pipes[1]) {
        struct pollfd ready[2] = { { open_pipes[0] ? pipes[0][0] : -1, POLLIN, 0 }, { open_pipes[1] ? pipes[1][0] : -1, POLLIN, 0 } };
        int count = poll(ready, 2, 5);
        for (int index = 0; index < 2; index++)
            if (ready[index].revents && !(open_pipes[index] = forward(pipes[index][0], record[index], index + 1)))
                close(pipes[index][0]);
        if (!ended && waitpid(child, &status, WNOHANG) == child) ended = 1;
        else if (ended && count == 0) break; /* what grandchildren still hold is not waited for */
    }
    keep_pace(top, name);
    out = create("exit");
    if (WIFSIGNALED(status)) {
        dprintf(out, "signalled %d\n", WTERMSIG(status));
        signal(WTERMSIG(status), SIG_DFL);
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, WTERMSIG(status));
        sigprocmask(SIG_UNBLOCK, &one, NULL);
        raise(WTERMSIG(status));
    }
    dprintf(out, "exited %d\n", WEXITSTATUS(status));
    _exit(WEXITSTATUS(status));
}
