/* Runs a program separated from the machine, as root: in new mount and host namespaces, in which the accounts and the host name
 * are the recorded ones, the directories for temporary files are empty, and the directory FROM is mounted at TO.
 *
 *   apart TOP HOST UMASK FROM TO PROGRAM [WORD...]
 *
 * It is one program because unshare, sh, mount and hostname would be ten processes for each of 1,500 cases. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static void must(int failed, const char *what)
{
    if (!failed) return;
    fprintf(stderr, "apart: %s: %s\n", what, strerror(errno));
    exit(125);
}

static void bind(const char *from, const char *to)
{
    must(mount(from, to, NULL, MS_BIND, NULL), to);
}

static void fresh(const char *path, const char *options)
{
    must(mount("none", path, "tmpfs", 0, options), path);
}

int main(int count, char **words)
{
    char path[4608], *here;

    must((errno = EINVAL, count < 7), "words");
    must(unshare(CLONE_NEWNS | CLONE_NEWUTS), "unshare");
    must(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), "/");
    snprintf(path, sizeof path, "%s/passwd", words[1]);
    bind(path, "/etc/passwd");
    snprintf(path, sizeof path, "%s/group", words[1]);
    bind(path, "/etc/group");
    must(sethostname(words[2], strlen(words[2])), words[2]);
    bind(words[4], words[5]);
    fresh("/tmp", NULL);
    fresh("/var/tmp", NULL);
    fresh("/dev/shm", "mode=1777");
    umask(strtol(words[3], NULL, 8));
    /* PWD has the value that a shell would set. */
    if ((here = getcwd(NULL, 0))) setenv("PWD", here, 1);
    execv(words[6], words + 6);
    must(1, words[6]);
}
