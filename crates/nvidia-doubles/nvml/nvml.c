/* A stand-in for NVIDIA's management library, as far as jetlag asks it anything.
 *
 * What it answers is read from the file STATE at every call: lines "key value", such as "power 250000"; a key that is
 * not there is "Not Supported", and a value "error N" is that error; "refuses_lock N" refuses to set that. What is set is written to STATE.set, one line a
 * call; each question for the loads adds a line to STATE.loads, and each for a temperature one to STATE.temperatures. The layouts of structs are those of nvml.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int nvmlReturn_t;
typedef void *nvmlDevice_t;
enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4 };

/* The value of a key; "Not Supported" where it is missing. */
static nvmlReturn_t get(const char *key, double *value) {
    char line[256], name[128], text[128];
    int error;
    nvmlReturn_t found = NOT_SUPPORTED;
    FILE *file = fopen(STATE, "r");
    if (!file) return 999;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%127s %127s %d", name, text, &error) < 2 || strcmp(name, key)) continue;
        if (!strcmp(text, "error")) { found = error; break; }
        *value = atof(text);
        found = SUCCESS;
        break;
    }
    fclose(file);
    return found;
}

/* The device's number is the handle, so that devices can differ: "power" is of all, "1/power" of the second. */
static nvmlReturn_t of(nvmlDevice_t device, const char *key, double *value) {
    char own[128];
    snprintf(own, sizeof own, "%ld/%s", (long)device - 1, key);
    nvmlReturn_t found = get(own, value);
    return found == NOT_SUPPORTED ? get(key, value) : found;
}

static nvmlReturn_t set(const char *what, nvmlDevice_t device, unsigned a, unsigned b) {
    double root = 1;
    get("root", &root);
    if (root == 0) return NO_PERMISSION;
    char key[64];
    double refused = 0;
    snprintf(key, sizeof key, "refuses_%s", what);
    if (get(key, &refused) == SUCCESS && refused) return (nvmlReturn_t)refused;
    FILE *file = fopen(STATE ".set", "a");
    if (!file) return 999;
    fprintf(file, "%s %ld %u %u\n", what, (long)device - 1, a, b);
    fclose(file);
    return SUCCESS;
}

nvmlReturn_t nvmlInit_v2(void) { double e; return get("init", &e) == SUCCESS ? (nvmlReturn_t)e : SUCCESS; }
nvmlReturn_t nvmlInitWithFlags(unsigned flags) { (void)flags; return nvmlInit_v2(); }
nvmlReturn_t nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(nvmlReturn_t e) { (void)e; return "an error"; }

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned length) {
    snprintf(version, length, "570.86.15");
    return SUCCESS;
}
nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned length) {
    snprintf(version, length, "12.570.86.15");
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count) {
    double value = 1;
    get("count", &value);
    *count = (unsigned)value;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device) {
    unsigned count;
    double lost;
    nvmlDeviceGetCount_v2(&count);
    if (index >= count) return INVALID_ARGUMENT;
    *device = (nvmlDevice_t)(long)(index + 1);
    return of(*device, "lost", &lost) == SUCCESS ? 15 : SUCCESS;
}
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length) {
    (void)device;
    snprintf(name, length, "NVIDIA H100 PCIe");
    return SUCCESS;
}

#define QUESTION(function, type, key)                            \
    nvmlReturn_t function(nvmlDevice_t device, type *answer) {   \
        double value;                                            \
        nvmlReturn_t found = of(device, key, &value);            \
        if (found == SUCCESS) *answer = (type)value;             \
        return found;                                            \
    }
QUESTION(nvmlDeviceGetPowerUsage, unsigned, "power")
QUESTION(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, "energy")
QUESTION(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, "throttle")
QUESTION(nvmlDeviceGetEnforcedPowerLimit, unsigned, "limit")
QUESTION(nvmlDeviceGetPersistenceMode, unsigned, "persistence")

typedef struct { unsigned gpu, memory; } utilization_t;
/* Adds a line for this device to a file. */
static void asked(const char *path, nvmlDevice_t device) {
    FILE *file = fopen(path, "a");
    if (!file) return;
    fprintf(file, "%ld\n", (long)device - 1);
    fclose(file);
}
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, utilization_t *answer) {
    double value;
    nvmlReturn_t found = of(device, "load", &value);
    asked(STATE ".loads", device);
    if (found == SUCCESS) answer->gpu = answer->memory = (unsigned)value;
    return found;
}
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, unsigned type, unsigned *mhz) {
    double value;
    nvmlReturn_t found = of(device, type == 2 ? "memory_clock" : "clock", &value);
    if (found == SUCCESS) *mhz = (unsigned)value;
    return found;
}
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, unsigned type, unsigned *mhz) {
    double value;
    nvmlReturn_t found = of(device, type == 2 ? "memory_clock_max" : "clock_max", &value);
    if (found == SUCCESS) *mhz = (unsigned)value;
    return found;
}
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned sensor, unsigned *c) {
    double value;
    nvmlReturn_t found = of(device, "temperature", &value);
    (void)sensor;
    asked(STATE ".temperatures", device);
    if (found == SUCCESS) *c = (unsigned)value;
    return found;
}

typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_t;
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, memory_t *answer) {
    double value;
    nvmlReturn_t found = of(device, "memory_used", &value);
    if (found == SUCCESS) answer->used = (unsigned long long)value;
    return found;
}

typedef struct {
    unsigned fieldId, scopeId;
    long long timestamp, latencyUsec;
    int valueType;
    nvmlReturn_t nvmlReturn;
    union { double dVal; int siVal; unsigned uiVal; unsigned long ulVal; unsigned long long ullVal; } value;
} field_t;
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, field_t *fields) {
    for (int i = 0; i < count; i++) {
        double value;
        const char *key = fields[i].fieldId == 186 ? "instant" : fields[i].fieldId == 185 ? "average" : "none";
        fields[i].nvmlReturn = of(device, key, &value);
        fields[i].valueType = 1;
        fields[i].value.ullVal = 0;
        if (fields[i].nvmlReturn == SUCCESS) fields[i].value.uiVal = (unsigned)value;
    }
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceSetPersistenceMode(nvmlDevice_t device, unsigned on) {
    return set("persistence", device, on, 0);
}
nvmlReturn_t nvmlDeviceSetGpuLockedClocks(nvmlDevice_t device, unsigned low, unsigned high) {
    return set("lock", device, low, high);
}
nvmlReturn_t nvmlDeviceResetGpuLockedClocks(nvmlDevice_t device) { return set("unlock", device, 0, 0); }
