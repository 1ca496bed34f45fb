/* Ends the process by exit() while another thread is inside Run.
 *
 *   exit_in_run LIBONNXRUNTIME MINOR PLUGIN MODEL WIDTH DELAY_MS
 *
 * The model has one input x0 and one output `last`, square of WIDTH, float. Exits 0 if all is well; 3 and a line on
 * stderr when the set-up failed; 4 when no Run was in flight.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void *(*GetApi)(uint32_t version);
typedef struct {
    GetApi get_api;
    const char *(*version)(void);
} Base;

/* The API is a table of functions; the numbers are its slots. */
static void **api;
#define CALL(slot, type) ((type)api[slot])

typedef const char *(*Message)(const void *);
typedef void *(*CreateEnv)(int, const char *, void **);
typedef void *(*CreateSession)(const void *, const char *, const void *, void **);
typedef void *(*Run)(void *, const void *, const char *const *, const void *const *, size_t, const char *const *, size_t,
                     void **);
typedef void *(*Create)(void **);
typedef void *(*CreateTensor)(const void *, void *, size_t, const int64_t *, size_t, int, void **);
typedef void *(*CreateMemoryInfo)(int, int, void **);
typedef void *(*AddEntry)(void *, const char *, const char *);
typedef void (*ReleaseValue)(void *);
typedef void *(*Register)(void *, const char *, const char *);
typedef void *(*GetDevices)(const void *, void *const **, size_t *);
typedef void *(*Append)(void *, void *, void *const *, size_t, const char *const *, const char *const *, size_t);
typedef const char *(*EpName)(const void *);

static void check(void *status, const char *what) {
    if (status) {
        fprintf(stderr, "%s: %s\n", what, CALL(2, Message)(status));
        _exit(3);
    }
}

static void *session, *input;
static const char *in = "x0", *out = "last";
static atomic_int runs;
static atomic_int inside;

static void *run_for_ever(void *unused) {
    (void)unused;
    for (;;) {
        void *result = NULL;
        atomic_store(&inside, 1);
        void *status = CALL(9, Run)(session, NULL, &in, (const void *const *)&input, 1, &out, 1, &result);
        atomic_store(&inside, 0);
        if (status)
            return NULL;
        CALL(96, ReleaseValue)(result);
        atomic_fetch_add(&runs, 1);
    }
}

int main(int argc, char **argv) {
    if (argc != 7)
        return 3;
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    const Base *(*base)(void) = (const Base *(*)(void))dlsym(library, "OrtGetApiBase");
    api = base()->get_api((uint32_t)atoi(argv[2]));
    void *env, *options, *memory;
    check(CALL(3, CreateEnv)(3, "exit", &env), "CreateEnv");
    check(CALL(301, Register)(env, "mlx", argv[3]), "RegisterExecutionProviderLibrary");
    void *const *devices;
    size_t count;
    check(CALL(303, GetDevices)(env, &devices, &count), "GetEpDevices");
    void *device = NULL;
    for (size_t i = 0; i < count; i++)
        if (!strcmp(CALL(312, EpName)(devices[i]), "MLXExecutionProvider"))
            device = devices[i];
    if (!device)
        return 3;
    check(CALL(10, Create)(&options), "CreateSessionOptions");
    check(CALL(304, Append)(options, env, &device, 1, NULL, NULL, 0), "AppendExecutionProvider_V2");
    check(CALL(130, AddEntry)(options, "session.disable_cpu_ep_fallback", "1"), "AddSessionConfigEntry");
    check(CALL(7, CreateSession)(env, argv[4], options, &session), "CreateSession");

    size_t width = (size_t)atoi(argv[5]);
    float *data = calloc(width * width, sizeof *data);
    int64_t dims[2] = {(int64_t)width, (int64_t)width};
    check(CALL(69, CreateMemoryInfo)(0, 0, &memory), "CreateCpuMemoryInfo");
    check(CALL(49, CreateTensor)(memory, data, width * width * sizeof *data, dims, 2, 1, &input),
          "CreateTensorWithDataAsOrtValue");
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_for_ever, NULL))
        return 3;
    while (!atomic_load(&runs))
        usleep(1000);
    usleep((useconds_t)atoi(argv[6]) * 1000);
    for (int patience = 0; !atomic_load(&inside); patience++) {
        if (patience > 1000)
            _exit(4);
        usleep(10);
    }
    exit(0);
}
