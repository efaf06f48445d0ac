// The least that a tracer over CUPTI's activity records can be: what jetlag's tracing costs is set beside it, and what jetlag reads of
// a record beside what NVIDIA's header says is in it. Loaded into any program by the driver:
//
//   g++ -O2 -shared -fPIC -I/usr/local/cuda/include -o liblogger.so cupti_logger.cpp -L… -lcupti -lpthread
//   CUDA_INJECTION64_PATH=$PWD/liblogger.so LOGGER=kernels,copies,runtime ./program
//
// LOGGER   what is traced: kernels, copies, runtime, driver, graphs (one record a launch in place of its nodes'), sync, external
// LOGGER_OUT   a file for counts at the end; with LOGGER_DUMP=1 also FILE.raw (the buffers as they came, each with its length) and
//              FILE.text (each record's fields by name, through cupti.h; FILE.names has the texts by address), which `cargo run -p cupti-dyn --example reread` compares
#include <cupti.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <set>
#include <string>

namespace {

// What the record of a kernel is called depends on the release: this is that of 13.0.
#ifndef KERNEL
#define KERNEL CUpti_ActivityKernel10
#endif

constexpr size_t BUFFER = 4 << 20;
std::mutex lock;
FILE *raw_file, *text_file, *names_file;
std::set<const char *> names;
unsigned long long kernels, copies, calls, others, dropped;
unsigned long long busy_ns;

uint64_t now() {
  timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return uint64_t(at.tv_sec) * 1000000000u + uint64_t(at.tv_nsec);
}

void requested(uint8_t **buffer, size_t *size, size_t *most) {
  *buffer = static_cast<uint8_t *>(aligned_alloc(64, BUFFER));
  *size = BUFFER;
  *most = 0;
}

#define FIELD(name) fprintf(text_file, " %s=%lld", #name, static_cast<long long>(r->name))
#define UNSIGNED(name) fprintf(text_file, " %s=%llu", #name, static_cast<unsigned long long>(r->name))

void text(const CUpti_Activity *record) {
  switch (record->kind) {
  case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
    auto *r = reinterpret_cast<const KERNEL *>(record);
    fprintf(text_file, "kernel");
    UNSIGNED(registersPerThread); UNSIGNED(start); UNSIGNED(end); UNSIGNED(deviceId); UNSIGNED(contextId); UNSIGNED(streamId);
    FIELD(gridX); FIELD(gridY); FIELD(gridZ); FIELD(blockX); FIELD(blockY); FIELD(blockZ);
    FIELD(staticSharedMemory); FIELD(dynamicSharedMemory); UNSIGNED(localMemoryPerThread); UNSIGNED(correlationId);
    UNSIGNED(graphNodeId); UNSIGNED(graphId); UNSIGNED(clusterX); UNSIGNED(clusterY); UNSIGNED(clusterZ);
    fprintf(text_file, " name=%s\n", r->name ? r->name : "");
    if (r->name && names.insert(r->name).second)
      fprintf(names_file, "%llu %s\n", static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(r->name)), r->name);
    break;
  }
  case CUPTI_ACTIVITY_KIND_MEMCPY: {
    auto *r = reinterpret_cast<const CUpti_ActivityMemcpy6 *>(record);
    fprintf(text_file, "copy");
    UNSIGNED(copyKind); UNSIGNED(srcKind); UNSIGNED(dstKind); UNSIGNED(bytes); UNSIGNED(start); UNSIGNED(end); UNSIGNED(deviceId);
    UNSIGNED(contextId); UNSIGNED(streamId); UNSIGNED(correlationId); UNSIGNED(graphNodeId); UNSIGNED(graphId);
    fprintf(text_file, "\n");
    break;
  }
  case CUPTI_ACTIVITY_KIND_MEMSET: {
    auto *r = reinterpret_cast<const CUpti_ActivityMemset4 *>(record);
    fprintf(text_file, "fill");
    UNSIGNED(bytes); UNSIGNED(start); UNSIGNED(end); UNSIGNED(deviceId); UNSIGNED(contextId); UNSIGNED(streamId);
    UNSIGNED(correlationId); UNSIGNED(memoryKind); UNSIGNED(graphNodeId); UNSIGNED(graphId);
    fprintf(text_file, "\n");
    break;
  }
  case CUPTI_ACTIVITY_KIND_RUNTIME:
  case CUPTI_ACTIVITY_KIND_DRIVER: {
    auto *r = reinterpret_cast<const CUpti_ActivityAPI *>(record);
    fprintf(text_file, record->kind == CUPTI_ACTIVITY_KIND_RUNTIME ? "runtime" : "driver");
    UNSIGNED(cbid); UNSIGNED(start); UNSIGNED(end); UNSIGNED(processId); UNSIGNED(threadId); UNSIGNED(correlationId);
    UNSIGNED(returnValue);
    fprintf(text_file, "\n");
    break;
  }
  case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: {
    auto *r = reinterpret_cast<const CUpti_ActivitySynchronization2 *>(record);
    fprintf(text_file, "sync");
    UNSIGNED(type); UNSIGNED(start); UNSIGNED(end); UNSIGNED(correlationId); UNSIGNED(contextId); UNSIGNED(streamId);
    UNSIGNED(cudaEventId);
    fprintf(text_file, "\n");
    break;
  }
  case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: {
    auto *r = reinterpret_cast<const CUpti_ActivityGraphTrace2 *>(record);
    fprintf(text_file, "graph");
    UNSIGNED(correlationId); UNSIGNED(start); UNSIGNED(end); UNSIGNED(deviceId); UNSIGNED(graphId); UNSIGNED(contextId);
    UNSIGNED(streamId);
    fprintf(text_file, "\n");
    break;
  }
  default: fprintf(text_file, "kind %d\n", record->kind);
  }
}

void completed(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid) {
  std::lock_guard<std::mutex> held(lock);
  if (raw_file) {
    uint64_t length = valid;
    fwrite(&length, sizeof length, 1, raw_file);
    fwrite(buffer, 1, valid, raw_file);
  }
  CUpti_Activity *record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (text_file) text(record);
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      auto *r = reinterpret_cast<const KERNEL *>(record);
      busy_ns += r->end - r->start;
      ++kernels;
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY:
    case CUPTI_ACTIVITY_KIND_MEMSET: ++copies; break;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: ++calls; break;
    default: ++others;
    }
  }
  size_t lost = 0;
  cuptiActivityGetNumDroppedRecords(nullptr, 0, &lost);
  dropped += lost;
  free(buffer);
}

void ended() {
  cuptiActivityFlushAll(1);
  std::lock_guard<std::mutex> held(lock);
  const char *path = getenv("LOGGER_OUT");
  FILE *out = path ? fopen(path, "w") : stderr;
  fprintf(out, "{\"kernels\": %llu, \"copies\": %llu, \"calls\": %llu, \"others\": %llu, \"dropped\": %llu, \"busy_ns\": %llu}\n", kernels,
          copies, calls, others, dropped, busy_ns);
  if (path) fclose(out);
  if (raw_file) fclose(raw_file);
  if (text_file) fclose(text_file);
  if (names_file) fclose(names_file);
  raw_file = text_file = names_file = nullptr;
}

void enable(CUpti_ActivityKind kind) {
  CUptiResult result = cuptiActivityEnable(kind);
  if (result != CUPTI_SUCCESS) fprintf(stderr, "logger: kind %d: %d\n", kind, result);
}

} // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char *what = getenv("LOGGER") ? getenv("LOGGER") : "";
  auto wants = [what](const char *word) { return strstr(what, word) != nullptr; };
  if (!*what) return 1; // injected, and nothing switched on
  const char *path = getenv("LOGGER_OUT");
  if (path && getenv("LOGGER_DUMP")) {
    raw_file = fopen((std::string(path) + ".raw").c_str(), "wb");
    text_file = fopen((std::string(path) + ".text").c_str(), "w");
    names_file = fopen((std::string(path) + ".names").c_str(), "w");
    uint64_t lengths[] = {sizeof(KERNEL), sizeof(CUpti_ActivityMemcpy6), sizeof(CUpti_ActivityMemset4),
                          sizeof(CUpti_ActivityAPI), sizeof(CUpti_ActivitySynchronization2), sizeof(CUpti_ActivityGraphTrace2)};
    fwrite(lengths, sizeof lengths, 1, raw_file);
  }
  cuptiActivityRegisterTimestampCallback(now);
  cuptiActivityRegisterCallbacks(requested, completed);
  if (wants("graphs")) enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  if (wants("kernels")) enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  if (wants("copies")) {
    enable(CUPTI_ACTIVITY_KIND_MEMCPY);
    enable(CUPTI_ACTIVITY_KIND_MEMSET);
  }
  if (wants("runtime")) enable(CUPTI_ACTIVITY_KIND_RUNTIME);
  if (wants("driver")) enable(CUPTI_ACTIVITY_KIND_DRIVER);
  if (wants("sync")) enable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  if (wants("external")) enable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  atexit(ended);
  return 1;
}
